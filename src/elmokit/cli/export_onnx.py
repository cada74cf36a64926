"""`elmo export onnx`: a model as an ONNX file."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from elmokit.cli.options import (
    Json,
    ModelArgument,
    OptionsFile,
    TokenEmbeddingFile,
    VocabularyFile,
    layers_named,
    print_json,
)


def command(
    output: Annotated[Path, typer.Option("--output", "-o", help="The .onnx file to write.")],
    model: ModelArgument = None,
    layers: Annotated[
        str,
        typer.Option(
            "--layers",
            help="all, top, average, a number, or weights as 0.2,0.3,0.5.",
        ),
    ] = "average",
    start: Annotated[str, typer.Option("--start", help="warm or zeros.")] = "warm",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    check: Annotated[
        bool,
        typer.Option(help="Compare a few sentences in onnxruntime, where it is installed."),
    ] = True,
    options: OptionsFile = None,
    vocabulary: VocabularyFile = None,
    token_embedding: TokenEmbeddingFile = None,
    as_json: Json = False,
) -> None:
    """Write a model as ONNX: ids and lengths in, vectors out, for any number of any length."""
    from elmokit.embed.load import load
    from elmokit.embed.start_state import checked_start
    from elmokit.errors import MissingExtraError
    from elmokit.integrations.onnx import export_onnx
    from elmokit.integrations.onnx_check import check_export

    elmo = load(
        model,
        options=options,
        vocabulary=vocabulary,
        token_embedding=token_embedding,
        device="cpu",
        start=checked_start(start),
    )
    chosen = layers_named(layers)
    summary = export_onnx(elmo, output, layers=chosen, overwrite=overwrite)
    difference = None
    if check:
        try:
            difference = check_export(elmo, output, layers=chosen)
        except MissingExtraError:
            difference = None
    if as_json:
        print_json({**asdict(summary), "difference": difference})
        return
    beside = f" with its weights in {summary.data}" if summary.data else ""
    print(
        f"{summary.output}{beside}: {summary.bytes / 1e6:.1f} MB, opset {summary.opset}, "
        f"{', '.join(summary.inputs)} -> {', '.join(summary.outputs)}"
    )
    if difference is not None:
        print(f"onnxruntime agrees with elmokit to {difference:.1e}")
    elif check:
        print("not checked: onnxruntime is not installed")
