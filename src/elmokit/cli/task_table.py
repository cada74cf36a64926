"""`elmo task table`: the paper's table on real data, from one command."""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from elmokit.cli.options import DeviceOption, Json
from elmokit.cli.task_train import VectorsFile

if TYPE_CHECKING:
    from elmokit.tasks.study import Study as StudyName


class Study(StrEnum):
    """What the runs are to show."""

    MAIN = "main"
    LAYERS = "layers"
    SAMPLES = "samples"
    TUNED = "tuned"


def command(
    data: Annotated[Path, typer.Option("--data", help="Folder with the data of all tasks.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for runs and the table.")],
    tasks: Annotated[
        list[str] | None,
        typer.Option("--task", help="A task, or task/data set; repeatable; default: all six."),
    ] = None,
    study: Annotated[
        Study,
        typer.Option("--study", help="main; layers (tables 2, 3); samples (figure 1); tuned."),
    ] = Study.MAIN,
    seeds: Annotated[
        int | None,
        typer.Option("--seeds", help="Runs of each variant; default: 3, in main as the data say."),
    ] = None,
    elmo: Annotated[
        str, typer.Option("--elmo", help="Folder or bundled name of a biLM.")
    ] = "english-base",
    vectors: VectorsFile = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="Change all runs: key=value; repeatable.")
    ] = None,
    at_once: Annotated[int, typer.Option("--jobs", help="Runs side by side.")] = 1,
    minutes: Annotated[
        float | None, typer.Option("--minutes", help="Stop after so long; the next call goes on.")
    ] = None,
    device: DeviceOption = "auto",
    as_json: Json = False,
) -> None:
    """Train with and without ELMo over seeds and set the figures beside the paper's.

    Runs that were done before are not done again, and --minutes 0 begins none. --vectors defaults
    to the GloVe subset in DATA. --study samples also draws samples.png and samples.svg.
    """
    from elmokit.errors import InputError
    from elmokit.files import replacing_file, write_text
    from elmokit.tasks.datasets import VECTORS, data_sets
    from elmokit.tasks.run_jobs import run_jobs
    from elmokit.tasks.study import jobs_of
    from elmokit.tasks.table import study_report

    kind: StudyName = study.value
    for option, value in (("seeds", seeds), ("jobs", at_once)):
        if value is not None and value < 1:
            raise InputError(f"{option}: expected 1 or more, found {value}")
    chosen = data_sets(tasks or [])
    if vectors is None and (data / VECTORS).is_file():
        vectors = data / VECTORS
    jobs = jobs_of(kind, chosen, elmo=elmo, seeds=seeds, changes=tuple(changes or ()))
    records = run_jobs(
        jobs,
        output,
        data=data,
        vectors=vectors,
        device=device,
        at_once=at_once,
        minutes=minutes,
        say=(lambda text: None) if as_json else (lambda text: print(text, flush=True)),
    )
    rows, report = study_report(kind, chosen, records)
    missing = len(jobs) - len(records)
    if missing:
        note = f"{missing} of {len(jobs)} runs are missing; the same command goes on with them."
        report += f"\n{note}\n"
        if as_json:
            print(f"elmo: note: {note}", file=sys.stderr)
    name = "tasks" if kind == "main" else kind
    with replacing_file(output / f"{name}.json") as beside:
        write_text(beside, json.dumps(rows, indent=1) + "\n")
    with replacing_file(output / f"{name}.md") as beside:
        write_text(beside, report)
    print(json.dumps(rows) if as_json else report)
    if kind == "samples":
        _plot(rows, [output / "samples.png", output / "samples.svg"])


def _plot(rows: list[dict[str, Any]], files: list[Path]) -> None:
    """Draw what there is; without altair say so."""
    from elmokit.errors import MissingExtraError
    from elmokit.tasks.plots import plot_samples
    from elmokit.tasks.table import sample_panels

    panels = sample_panels(rows)
    if not panels:
        return
    try:
        plot_samples(panels, files)
    except MissingExtraError as error:
        print(f"elmo: note: no plot: {error}", file=sys.stderr)
