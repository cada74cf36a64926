"""`elmo probe wic`: whether a word means the same in two sentences, by each layer."""

from pathlib import Path
from typing import Annotated

import typer

from elmokit.cli.options import DeviceOption, Json, ModelOption, print_json
from elmokit.cli.probe_options import (
    DtypeOption,
    LayerOption,
    PictureOption,
    VectorsOption,
    check_picture,
    draw_scores,
    layer_numbers,
    needed,
    print_table,
    row_name,
    static_words,
)


def command(
    train: Annotated[
        Path | None, typer.Option("--train", help="JSON lines as WiC's, to choose thresholds.")
    ] = None,
    dev: Annotated[Path | None, typer.Option("--dev", help="JSON lines to score.")] = None,
    model: ModelOption = None,
    layers: LayerOption = None,
    vectors: VectorsOption = None,
    device: DeviceOption = "auto",
    dtype: DtypeOption = "float32",
    output: PictureOption = None,
    as_json: Json = False,
) -> None:
    """Tell from the cosine of a word's two vectors whether both mean the same (WiC)."""
    from elmokit.analysis.probes.vector_source import ElmoLayers
    from elmokit.analysis.probes.wic import probe_wic
    from elmokit.analysis.probes.word_pairs import read_pairs
    from elmokit.embed.load import load
    from elmokit.pretrained import DEFAULT_NAME

    check_picture(output)
    numbers = layer_numbers(layers)
    training = read_pairs(needed(train, "--train", "JSON lines with pairs of sentences"))
    judged = read_pairs(needed(dev, "--dev", "JSON lines with pairs of sentences"))
    static = static_words(vectors)
    elmo = load(model, device=device, dtype=dtype)
    report = probe_wic(
        [ElmoLayers(elmo, layers=numbers, progress=True), *static], train=training, dev=judged
    )
    names = [row_name(score.name, score.layer) for score in report.scores]
    layers_of = dict(zip(names, (score.layer for score in report.scores), strict=True))
    draw_scores(output, layers_of, {"accuracy": [score.accuracy for score in report.scores]})
    if as_json:
        named = {"train": str(train), "dev": str(dev)}
        print_json({"probe": "wic", "model": model or DEFAULT_NAME, **named, **report.facts()})
        return
    print(
        f"accuracy (%) of a threshold on the cosine of both uses: {report.train_pairs:,} pairs "
        f"to choose it, {report.pairs:,} tested"
    )
    rows = [
        [
            row_name(score.name, score.layer),
            score.train_accuracy,
            score.accuracy,
            "-" if score.threshold is None else f"{score.threshold:.3f}",
        ]
        for score in report.scores
    ]
    print_table(["", "train", "dev", "threshold"], rows)
