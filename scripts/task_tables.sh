#!/usr/bin/env bash
# Makes the tables about tasks on one GPU: the six tasks with and without ELMo, where and which
# layers help, how few examples are enough, and what a biLM gains that has read the task's text.
#
#   scripts/task_tables.sh DATA OUT [MINUTES [STUDY [TASK...]]]
#
# DATA holds the folders ner, sst5, nli, squad, srl, coref and vectors. With MINUTES each study
# stops after so long; the same command goes on from there. STUDY (main, layers, samples or tuned)
# and its TASKs do a part of the work, for machines that are lent by the hour. What is done is in
# OUT/runs.jsonl, which is all that another machine needs to go on after the last finished run.
# SEEDS and JOBS in the environment say how many runs each variant has and how many go side by side.
set -euo pipefail
usage="usage: $0 DATA OUT [MINUTES [STUDY [TASK...]]]"
data=${1:?$usage}
out=${2:?$usage}
minutes=${3:-}
only=${4:-}
tasks=("${@:5}")
export OMP_NUM_THREADS=1

# Small models of several processes share a GPU well only with this service.
if command -v nvidia-cuda-mps-control > /dev/null; then
    nvidia-cuda-mps-control -d 2> /dev/null || true
fi

study() {
    local name=$1 task
    if [ -n "$only" ] && [ "$only" != "$name" ]; then return; fi
    if [ ${#tasks[@]} -gt 0 ]; then set -- "$name" "${tasks[@]}"; fi
    local options=(--jobs "${JOBS:-12}")
    if [ -n "${SEEDS:-}" ]; then options+=(--seeds "$SEEDS"); fi
    if [ -n "$minutes" ]; then options+=(--minutes "$minutes"); fi
    for task in "${@:2}"; do options+=(--task "$task"); done
    elmo task table --data "$data" -o "$out" --study "$name" "${options[@]}"
}

study main all
study layers ner srl snli
study samples ner srl
study tuned squad coref sst
