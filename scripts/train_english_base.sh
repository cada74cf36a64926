#!/usr/bin/env bash
# Trains the bundled model english-base: about 17 minutes on one H200.
#
#   scripts/train_english_base.sh DATA OUT
#
# DATA holds the English corpora (en_wiki, en_books, en_law, en_misc; one sentence a line, a
# blank line after each document). Stopped at any moment, the same command goes on from there.
# en_news is left out: its licence is for research only.
set -euo pipefail
data=${1:?usage: $0 DATA OUT}
out=${2:?usage: $0 DATA OUT}

if [ ! -d "$out/corpus" ]; then
    elmo prepare "$data"/en_wiki.train.*.txt.xz "$data"/en_books.train.txt.xz \
        "$data"/en_law.train.txt.xz "$data"/en_misc.train.txt.xz \
        --valid "$data"/en_wiki.valid.txt.xz --vocabulary-size 65536 -o "$out/corpus"
fi
elmo train "$out/corpus" -o "$out/run" --preset base --set steps=16500 --name english-base
elmo convert "$out/run/model" "$out/english-base" --storage int8

for corpus in en_wiki en_books en_law en_misc; do
    for state in document sentence; do
        elmo evaluate "$out/english-base" "$data/$corpus.valid.txt.xz" --state "$state" \
            --json > "$out/$corpus.$state.json"
    done
done
