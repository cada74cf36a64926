"""`elmo convert`: a model from one format to another."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from elmokit.cli.options import (
    Json,
    OptionsFile,
    TokenEmbeddingFile,
    VocabularyFile,
    print_json,
)


def command(
    source: Annotated[str, typer.Argument(metavar="SRC", help="A model of any format.")],
    destination: Annotated[Path, typer.Argument(metavar="DST", help="Folder or .hdf5 file.")],
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="native, bilm-hdf5, many-langs or tf-checkpoint; "
            "default: bilm-hdf5 for *.hdf5, else native.",
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    options: OptionsFile = None,
    vocabulary: VocabularyFile = None,
    token_embedding: TokenEmbeddingFile = None,
    as_json: Json = False,
) -> None:
    """Convert a model; every tensor keeps its exact values."""
    from elmokit.embed.convert import convert

    done = convert(
        source,
        destination,
        form=form,
        overwrite=overwrite,
        options=options,
        vocabulary=vocabulary,
        token_embedding=token_embedding,
    )
    if as_json:
        print_json(asdict(done))
    else:
        print(f"{done.source} ({done.source_format}) -> {done.destination} ({done.format})")
