"""`elmo index`: a corpus to an index of words in context."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from elmokit.cli.options import (
    DeviceOption,
    Json,
    ModelOption,
    OptionsFile,
    VocabularyFile,
    print_json,
)


def command(
    corpus: Annotated[
        list[str],
        typer.Argument(
            metavar="CORPUS...",
            help="Text, a sentence a line, plain or packed; folders; demo: the package's text.",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")],
    model: ModelOption = None,
    layer: Annotated[
        str,
        typer.Option(
            "--layer", help="top, average, a number, or weights of all layers as 0.2,0.3,0.5."
        ),
    ] = "top",
    limit_tokens: Annotated[
        int | None, typer.Option("--limit-tokens", help="Stop after so many occurrences.")
    ] = None,
    skip: Annotated[
        str,
        typer.Option("--skip", help="Leave out nothing, punctuation, or function-words (English)."),
    ] = "nothing",
    tokenised: Annotated[
        bool, typer.Option("--tokenised", help="Tokens are separated by white space already.")
    ] = False,
    field: Annotated[
        str | None, typer.Option("--field", help="Field of JSON records that holds the text.")
    ] = None,
    faiss: Annotated[
        bool, typer.Option("--faiss", help="Add an approximate index (extra: ann).")
    ] = False,
    device: DeviceOption = "auto",
    dtype: Annotated[
        str, typer.Option("--dtype", help="float32, bfloat16, int8 (CPU), tf32 (GPU) or float64.")
    ] = "float32",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an index that is there.")
    ] = False,
    options: OptionsFile = None,
    vocabulary: VocabularyFile = None,
    as_json: Json = False,
) -> None:
    """Embed a corpus and keep every word with its sentence, for elmo neighbours and senses."""
    from elmokit.analysis.context_index_build import build_index
    from elmokit.embed.load import load

    elmo = load(model, options=options, vocabulary=vocabulary, device=device, dtype=dtype)
    summary = build_index(
        corpus,
        output,
        elmo=elmo,
        source=model,
        layers=layer_value(layer),
        field=field,
        tokenised=tokenised,
        skip=skip,
        limit_tokens=limit_tokens,
        faiss=faiss,
        overwrite=overwrite,
        progress=not as_json,
    )
    if as_json:
        print_json(asdict(summary))
        return
    for problem in summary.problems.values():
        print(f"{problem['count']} {problem['meaning']}, such as {problem['examples'][0]}")
    print(
        f"{summary.output}: {summary.occurrences} occurrences in {summary.sentences} sentences, "
        f"{summary.dim} numbers a vector, {summary.seconds:.1f} s"
    )


def layer_value(text: str) -> str | int | list[float]:
    """Read the value of --layer; what is no number is left for the library to judge."""
    try:
        return [float(weight) for weight in text.split(",")] if "," in text else int(text)
    except ValueError:
        return text
