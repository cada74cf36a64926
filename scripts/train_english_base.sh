#!/usr/bin/env bash
# Trains the bundled model english-base: about 35 minutes on one H200.
#
#   scripts/train_english_base.sh DATA OUT
#
# DATA holds the English corpora (en_wiki, en_books, en_law, en_misc; one sentence a line, a
# blank line after each document). Stopped at any moment, the same command goes on from there.
# en_news is left out: its licence is for research only.
set -euo pipefail
data=${1:?usage: $0 DATA OUT}
out=${2:?usage: $0 DATA OUT}
mkdir -p "$out"

if [ ! -d "$out/corpus" ]; then
    elmo prepare "$data"/en_wiki.train.*.txt.xz "$data"/en_books.train.txt.xz \
        "$data"/en_law.train.txt.xz "$data"/en_misc.train.txt.xz \
        --valid "$data"/en_wiki.valid.txt.xz --vocabulary-size 65536 -o "$out/corpus"
fi

# Two rounds, because the first did not use all that the text had to teach: the second begins
# with the first one's weights as they were stored, at a high rate again.
elmo train "$out/corpus" -o "$out/first" --preset base --set steps=16500 --name english-base
if [ ! -d "$out/first-int8" ]; then
    elmo convert "$out/first/model" "$out/first-int8" --storage int8
fi
elmo finetune "$out/first-int8" "$out/corpus" -o "$out/second" --keep-vocabulary \
    --set rows=1024 --set steps=18000 --set learning_rate=0.003 --set warm_up=300 \
    --set beta2=0.98 --set seed=1 --name english-base
if [ ! -d "$out/english-base" ]; then
    elmo convert "$out/second/model" "$out/english-base" --storage int8
fi

for corpus in en_wiki en_books en_law en_misc; do
    for state in document sentence; do
        elmo evaluate "$out/english-base" "$data/$corpus.valid.txt.xz" --state "$state" \
            --json > "$out/$corpus.$state.json"
    done
done
