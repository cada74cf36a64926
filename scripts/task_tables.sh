#!/usr/bin/env bash
# Makes the tables about tasks on one GPU: the six tasks with and without ELMo, where and which
# layers help, and how few examples are enough.
#
#   scripts/task_tables.sh DATA OUT [MINUTES]
#
# DATA holds the folders ner, sst5, nli, squad, srl, coref and vectors. With MINUTES each of the
# three studies stops after so long; the same command goes on from there. What is done is in
# OUT/runs.jsonl, which is all that another machine needs to go on after the last finished run.
set -euo pipefail
data=${1:?usage: $0 DATA OUT [MINUTES]}
out=${2:?usage: $0 DATA OUT [MINUTES]}
limit=${3:+--minutes $3}
jobs=${JOBS:-12}
export OMP_NUM_THREADS=1

# Small models of several processes share a GPU well only with this service.
if command -v nvidia-cuda-mps-control > /dev/null; then
    nvidia-cuda-mps-control -d 2> /dev/null || true
fi

# shellcheck disable=SC2086 # the limit is two words or none
{
    elmo task table --data "$data" -o "$out" --seeds 3 --jobs "$jobs" $limit --task all
    elmo task table --data "$data" -o "$out" --study layers --seeds 3 --jobs "$jobs" $limit \
        --task ner --task srl --task snli
    elmo task table --data "$data" -o "$out" --study samples --seeds 3 --jobs "$jobs" \
        $limit --task ner --task srl
}
