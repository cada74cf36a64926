"""How fast do the task models train, with the biLM's layers computed before?

    python benchmarks/task_speed.py --data DATA [--tasks ner srl] [--device cuda] [--output FILE.md]

For each task with ELMo: the time to compute the layers of all its texts once, then the median time
of a step, as CUDA graphs where there is a GPU and as plain calls, in turns, and the epochs a
minute that follow from it. ``--share`` takes a part of the training data for a quick look; epochs
are those of all of it. ``--models elmo --ways graphs`` leaves out the rest, and ``--cache FOLDER``
keeps the layers in files, as the runs of a table do; writing them is then in the time.
"""

import argparse
import shlex
import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from elmokit.tasks.datasets import VECTORS, DataSet, data_sets
from elmokit.tasks.learner import TaskLearner
from elmokit.tasks.names import task_named
from elmokit.tasks.run import loop_settings, prepare
from elmokit.training.conduct import Conduct
from elmokit.training.distributed import World, own_device
from elmokit.training.journal import LiveLine
from elmokit.training.loop import Loop
from embed.machine import machine_facts

MODELS, WAYS = ("base", "elmo"), ("graphs", "plain")
QUIET = Conduct(log_every=10**9, save_every=10**9)


def timed_steps(loop: Loop, steps: int, device: torch.device) -> float:
    """Give the milliseconds of a step."""
    started = time.perf_counter()
    for _ in range(steps):
        loop.advance()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return 1e3 * (time.perf_counter() - started) / steps


def measure(one: DataSet, arguments: argparse.Namespace, device: torch.device) -> dict[str, Any]:
    task = task_named(one.task)
    settings = task.defaults()
    line, world = LiveLine(quiet=True), World(device=device)
    row: dict[str, Any] = {"task": one.task, "data": one.name}
    for name in arguments.models:
        elmo = None if name == "base" else arguments.elmo
        prepared = prepare(
            task, settings, one.files(arguments.data), elmo, arguments.data / VECTORS,
            arguments.share, arguments.cache, device, line,
        )  # fmt: skip
        ways = arguments.ways if device.type == "cuda" else ["plain"]
        # A document's graph is recorded when it comes again, so that the third epoch is the first
        # of graphs alone.
        warm_up = max(arguments.warm_up, 3 * len(prepared.train) if task.one_at_a_time else 0)
        loops = {}
        with TemporaryDirectory() as folder:
            for way in ways:
                learner = TaskLearner(
                    prepared.trained.network, task, prepared.train, prepared.dev,
                    prepared.trained.labels, settings.recipe, world=world, line=line,
                    graphed=way == "graphs",
                )  # fmt: skip
                loops[way] = Loop(
                    learner, loop_settings(settings, QUIET, 10**9, 10**6), Path(folder, way),
                    facts={}, world=world,
                )  # fmt: skip
                timed_steps(loops[way], warm_up, device)
            times: dict[str, list[float]] = {way: [] for way in ways}
            for _ in range(arguments.rounds):
                for way, loop in loops.items():
                    times[way].append(timed_steps(loop, arguments.steps, device))
        steps = -(-len(prepared.train) // settings.recipe.batch_size) / arguments.share
        for way, values in times.items():
            row[f"{name} {way} ms"] = statistics.median(values)
            row[f"{name} {way} epochs/min"] = 60e3 / (statistics.median(values) * steps)
        if elmo:
            row["tokens"] = prepared.embedded_tokens
            row["embedding s"] = prepared.embedding_seconds
    return row


def markdown(rows: list[dict[str, Any]], facts: dict[str, str]) -> str:
    """Write a table and what it was made with."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    lines = ["# Training of task models", ""]
    lines += [f"| {' | '.join(columns)} |", "|" + " --- |" * len(columns)]
    for row in rows:
        cells = [row.get(name, "") for name in columns]
        shown = [f"{cell:,.1f}" if isinstance(cell, float) else str(cell) for cell in cells]
        lines.append(f"| {' | '.join(shown)} |")
    lines += ["", *(f"- {name}: {value}" for name, value in facts.items())]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tasks", nargs="+", default=[])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS, help="of steps on a GPU")
    parser.add_argument("--elmo", default="english-base")
    parser.add_argument("--cache", type=Path, default=None, help="folder for the biLM's layers")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--warm-up", type=int, default=200, help="steps before the first is timed")
    parser.add_argument("--steps", type=int, default=50, help="steps of a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, default=None)
    arguments = parser.parse_args()
    device = own_device(arguments.device)
    facts = machine_facts() | {
        "torch": torch.__version__,
        "command": f"python {shlex.join(Path(word).name for word in sys.argv)}",
    }
    if device.type == "cuda":
        facts["gpu"] = torch.cuda.get_device_name(device)
    rows = []
    for one in data_sets(arguments.tasks):
        rows.append(measure(one, arguments, device))
        print(rows[-1], flush=True)
        if arguments.output is not None:
            arguments.output.write_text(markdown(rows, facts), encoding="utf-8")
    print(markdown(rows, facts))


if __name__ == "__main__":
    main()
