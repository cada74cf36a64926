"""Options that several commands take, and how they print."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

ModelOption = Annotated[
    str | None,
    typer.Option("--model", "-m", help="Folder, hdf5 file or bundled name; default: bundled."),
]
ModelArgument = Annotated[
    str | None, typer.Argument(metavar="MODEL", help="Folder, hdf5 file or bundled name.")
]
OptionsFile = Annotated[
    Path | None, typer.Option("--options", help="options.json, where it lies elsewhere.")
]
VocabularyFile = Annotated[
    Path | None, typer.Option("--vocabulary", help="Vocabulary of a word model or softmax.")
]
TokenEmbeddingFile = Annotated[
    Path | None,
    typer.Option("--token-embedding", help="Use embeddings dumped for a vocabulary as input."),
]
RunFolder = Annotated[
    Path, typer.Option("--output", "-o", help="The run's folder; a stopped run goes on.")
]
DeviceOption = Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")]
Minutes = Annotated[
    float | None,
    typer.Option("--minutes", help="Save and stop after so long; the next call goes on."),
]
SaveEvery = Annotated[int, typer.Option("--save-every", help="Steps between two checkpoints.")]
Keep = Annotated[int, typer.Option("--keep", help="Checkpoints that are kept.")]
LogEvery = Annotated[int, typer.Option("--log-every", help="Steps between two lines of log.jsonl.")]
TensorBoard = Annotated[bool, typer.Option("--tensorboard", help="Write TensorBoard files too.")]
Plain = Annotated[
    bool, typer.Option("--plain", help="Compute the slow, plain way, for comparison.")
]
ModelName = Annotated[
    str, typer.Option("--name", help="The model's name; default: that of the folder.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def print_json(facts: dict[str, Any]) -> None:
    """Print one object for scripts."""
    print(json.dumps(facts, ensure_ascii=False))


def layers_named(text: str) -> str | int | list[float]:
    """Read the value of --layers; what is no number is left for the library to judge."""
    try:
        return [float(weight) for weight in text.split(",")] if "," in text else int(text)
    except ValueError:
        return text
