"""`elmo task evaluate`: the figures of a task model on data."""

from pathlib import Path
from typing import Annotated

import typer

from elmokit.cli.options import DeviceOption, Json, print_json

TaskModelArgument = Annotated[
    str,
    typer.Argument(
        metavar="MODEL", help="Folder that elmo task train wrote, or ner: the model in the box."
    ),
]
MovedElmo = Annotated[
    str | None, typer.Option("--elmo", help="Where the model's biLM is, if it has moved.")
]


def command(
    model: TaskModelArgument,
    data: Annotated[
        list[Path],
        typer.Argument(metavar="DATA", help="Files of the task's format; FILE#SPLIT too."),
    ],
    elmo: MovedElmo = None,
    device: DeviceOption = "auto",
    as_json: Json = False,
) -> None:
    """Score a task model on files with gold answers."""
    from elmokit.tasks import load

    predictor = load(model, elmo=elmo, device=device)
    found = {str(file): predictor.evaluate(file) for file in data}
    if as_json:
        print_json({"task": predictor.task.name, "figures": found})
        return
    for name, figures in found.items():
        print(name)
        for key, value in figures.items():
            print(f"  {key:<24}{value:8.2f}")
