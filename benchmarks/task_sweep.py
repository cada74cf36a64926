"""Which changes to a task's recipe help? Many short runs side by side, compared on the dev data.

    python benchmarks/task_sweep.py --data DATA --output OUT --jobs 12 --minutes 8 \\
        --try "ner none" --try "ner none model.dropout=0.3" --try "ner english-base epochs=20"

Each ``--try`` is a task (or task/data set), a biLM or none, and changes to the task's settings.
Runs that OUT holds already are not made again. Prints the best dev score of each and its epoch,
and the mean over seeds; recipes are chosen by that, never by the test data.
"""

import argparse
from pathlib import Path
from statistics import mean

from elmokit.tasks.datasets import VECTORS, data_sets
from elmokit.tasks.run_jobs import run_jobs
from elmokit.tasks.study import Job


def job(written: str, seed: int) -> Job:
    name, elmo, *changes = written.split()
    (data,) = data_sets([name])
    return Job(
        data=data,
        variant=" ".join([elmo, *changes]),
        elmo=None if elmo == "none" else elmo,
        changes=tuple(changes),
        share=1.0,
        seed=seed,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--try", dest="tries", action="append", required=True)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=None)
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args()
    records = run_jobs(
        [job(written, seed) for seed in range(arguments.seeds) for written in arguments.tries],
        arguments.output,
        data=arguments.data,
        vectors=arguments.data / VECTORS,
        device=arguments.device,
        at_once=arguments.jobs,
        minutes=arguments.minutes,
        say=lambda text: print(text, flush=True),
    )
    for record in sorted(records, key=lambda r: (r["task"], -max(r["history"]))):
        print(
            f"{record['task']:6} dev {max(record['history']):6.2f} at epoch "
            f"{record['best_epoch']} of {record['epochs']}, "
            f"{record['training_seconds']:.0f} s: {record['variant']}, seed {record['seed']}"
        )
    scores: dict[str, list[float]] = {}
    for record in records:
        name = f"{record['task']} {record['variant']}"
        scores.setdefault(name, []).append(max(record["history"]))
    for name, found in scores.items():
        print(f"mean of {len(found)} seeds: dev {mean(found):6.2f}: {name}")


if __name__ == "__main__":
    main()
