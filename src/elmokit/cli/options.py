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
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def print_json(facts: dict[str, Any]) -> None:
    """Print one object for scripts."""
    print(json.dumps(facts, ensure_ascii=False))
