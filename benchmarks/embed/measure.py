"""One size: weights, our vectors in float32 to compare with, and group after group."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from embed.contenders import Size, groups
from embed.group import Group, say
from embed.plan import Plan
from embed.process import WorkerError, WorkerProcess
from embed.protocol import Settings
from embed.weights import Weights, make_weights


def measure_size(size: Size, plan: Plan) -> dict[str, Any]:
    """Measure everybody at one size and give what JSON can hold."""
    say(f"{size}: making weights")
    weights = make_weights(size, plan.work, plan.text)
    absent: dict[str, str] = {}
    references = _reference_files(size, plan, weights, absent)
    packed = groups(plan.contenders, size=size, gigabytes=plan.gigabytes)
    records = []
    products: dict[str, list[float]] = {}
    for number, contenders in enumerate(packed):
        names = ", ".join(one.name for one in contenders)
        say(f"{size}: group {number + 1} of {len(packed)}: {names}")
        with Group(
            contenders,
            size=size,
            plan=plan,
            weights=weights,
            references=references,
            absent=absent,
            is_first=number == 0,
        ) as group:
            group.measure()
        records.append({name: asdict(record) for name, record in group.records.items()})
        products |= group.products
    return {"absent": absent, "groups": records, "products": products}


def _reference_files(
    size: Size, plan: Plan, weights: Weights, absent: dict[str, str]
) -> dict[str, Path]:
    """Let float32 embed the compared sentences, from the start state of each side.

    Ours is compared at its default start; the first call of a peer starts from zeros.
    """
    ours: dict[str, Any] = {"dtype": "float32"}
    wanted = {"ours": (weights.bilm, ours)}
    for one in plan.contenders:
        if one.is_elmo and not one.is_ours and size in one.gigabytes:
            model = getattr(weights, one.weights)
            wanted[one.weights] = (model, ours | {"start": "zeros"})
    files = {}
    for name, (model, options) in wanted.items():
        settings = Settings(
            text=str(plan.text_file),
            model=model,
            device=plan.device,
            threads=plan.threads,
            options=options,
        )
        file = plan.work / f"{size}-reference-{name}.npz"
        log = plan.work / f"{size}-reference.log"
        try:
            worker = WorkerProcess(Path(sys.executable), "worker_elmokit", settings, log=log)
            try:
                worker.ask("vectors", indices=plan.compared, file=str(file))
            finally:
                worker.close()
        except WorkerError as error:
            absent[f"reference for {name}"] = str(error)
            continue
        files[name] = file
    return files
