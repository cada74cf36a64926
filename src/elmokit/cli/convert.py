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
    storage: Annotated[
        str | None,
        typer.Option(
            "--storage",
            help="Of a native folder: float32, float16 (half the size) or int8 (a quarter); "
            "the smaller two round the values; default: float32.",
        ),
    ] = None,
    options: OptionsFile = None,
    vocabulary: VocabularyFile = None,
    token_embedding: TokenEmbeddingFile = None,
    as_json: Json = False,
) -> None:
    """Convert a model; every tensor keeps its exact values unless --storage rounds them."""
    from elmokit.embed.convert import convert

    done = convert(
        source,
        destination,
        form=form,
        overwrite=overwrite,
        storage=storage,
        options=options,
        vocabulary=vocabulary,
        token_embedding=token_embedding,
    )
    if as_json:
        print_json(asdict(done))
    else:
        print(f"{done.source} ({done.source_format}) -> {done.destination} ({done.format})")
