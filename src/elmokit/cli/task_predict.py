"""`elmo task predict`: what a task model answers."""

import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from elmokit.cli.options import DeviceOption, Json
from elmokit.cli.task_evaluate import MovedElmo, TaskModelArgument

# So many inputs are answered together.
INPUTS_AT_ONCE = 256


def command(
    model: TaskModelArgument,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT", help="What to ask about; default: standard input."),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--input", "-i", help="Read inputs from this file, one a line.")
    ] = None,
    elmo: MovedElmo = None,
    device: DeviceOption = "auto",
    as_json: Json = False,
) -> None:
    """Answer one input a line: raw text, or a JSON object or list as the task takes it.

    snli takes premise and hypothesis with a tab between; squad an object with context and
    question; srl may have its predicate *marked*; coref takes a document a line. With --json the
    answers are JSON lines.
    """
    from elmokit.errors import InputError
    from elmokit.tasks import load

    if inputs and file is not None:
        raise InputError(f"give inputs either as arguments or in a file, found {file} and text")
    predictor = load(model, elmo=elmo, device=device)
    asked = iter(inputs) if inputs else _lines(file)
    while batch := list(islice(asked, INPUTS_AT_ONCE)):
        for answer in predictor.predict([_parsed(text) for text in batch]):
            if as_json:
                print(json.dumps(answer, ensure_ascii=False))
            else:
                print(predictor.shown(answer))


def _lines(file: Path | None) -> Iterator[str]:
    """Give lines that are not empty."""
    if file is None:
        yield from (line.rstrip("\r\n") for line in sys.stdin if line.strip())
        return
    from elmokit.text.records import read_lines

    yield from (line for _, line in read_lines(file) if line.strip())


def _parsed(text: str) -> Any:
    """Read what looks like JSON as JSON."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
