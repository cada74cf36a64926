"""`elmo embed`: a text file to a file of vectors."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from elmokit.cli.options import (
    Json,
    ModelOption,
    OptionsFile,
    TokenEmbeddingFile,
    VocabularyFile,
    print_json,
)


def command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="One sentence a line; - for stdin.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="A .h5, .hdf5, .npz or .parquet file.")
    ],
    model: ModelOption = None,
    layers: Annotated[
        str,
        typer.Option("--layers", help="all, top, average, a number, or weights as 0.2,0.3,0.5."),
    ] = "average",
    tokenised: Annotated[
        bool, typer.Option("--tokenised", help="Tokens are separated by white space already.")
    ] = False,
    float16: Annotated[bool, typer.Option("--float16", help="Write half-size numbers.")] = False,
    start: Annotated[str, typer.Option("--start", help="warm, zeros or carry.")] = "warm",
    rows: Annotated[
        int, typer.Option("--rows", help="With --start carry: sentences in a batch.")
    ] = 64,
    device: Annotated[
        str,
        typer.Option("--device", help="auto, cpu or cuda, or several to share: cuda:0,cuda:1."),
    ] = "auto",
    workers: Annotated[
        int | None, typer.Option("--workers", help="Processes that share the work.")
    ] = None,
    dtype: Annotated[
        str, typer.Option("--dtype", help="float32, bfloat16, int8 (CPU), tf32 (GPU) or float64.")
    ] = "float32",
    batch_tokens: Annotated[
        int | None,
        typer.Option("--batch-tokens", help="Tokens computed at once: 4096, on a GPU 16384."),
    ] = None,
    options: OptionsFile = None,
    vocabulary: VocabularyFile = None,
    token_embedding: TokenEmbeddingFile = None,
    as_json: Json = False,
) -> None:
    """Embed a text file; empty lines keep their place."""
    from elmokit.embed.batching import check_batch_tokens
    from elmokit.embed.embed_file import check_source, embed_file
    from elmokit.embed.load import load
    from elmokit.embed.start_state import CarriedState, checked_start
    from elmokit.embed.writers import check_output

    check_source(file)
    check_output(output)
    check_batch_tokens(batch_tokens)
    state = CarriedState(rows)
    devices = device.split(",")
    elmo = load(
        model,
        options=options,
        vocabulary=vocabulary,
        token_embedding=token_embedding,
        device=devices[0],
        dtype=dtype,
        start=checked_start(start),
    )
    elmo.state = state
    summary = embed_file(
        elmo,
        file,
        output,
        layers=_layers(layers),
        tokenised=tokenised,
        float16=float16,
        batch_tokens=batch_tokens,
        progress=not as_json,
        workers=workers,
        devices=devices if len(devices) > 1 else None,
    )
    if as_json:
        print_json(asdict(summary))
    else:
        print(
            f"{summary.output}: {summary.sentences} sentences, {summary.tokens} tokens, "
            f"{summary.dim} numbers a vector, {summary.seconds:.1f} s"
        )


def _layers(text: str) -> str | int | list[float]:
    """Read the value of --layers; what is no number is left for the library to judge."""
    try:
        return [float(weight) for weight in text.split(",")] if "," in text else int(text)
    except ValueError:
        return text
