"""`elmo probe pos`: parts of speech by a linear tagger on each layer."""

from pathlib import Path
from typing import Annotated

import typer

from elmokit.cli.options import DeviceOption, Json, ModelOption, print_json
from elmokit.cli.probe_options import (
    DtypeOption,
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
        Path | None, typer.Option("--train", help="CoNLL-U or JSON lines to train on.")
    ] = None,
    dev: Annotated[Path | None, typer.Option("--dev", help="A part to score beside.")] = None,
    test: Annotated[Path | None, typer.Option("--test", help="The part to score.")] = None,
    model: ModelOption = None,
    field: Annotated[str, typer.Option("--field", help="Tags to learn: upos or xpos.")] = "upos",
    layers: Annotated[
        list[str] | None,
        typer.Option("--layer", help="A layer's number, or mix (learnt); default: all layers."),
    ] = None,
    vectors: VectorsOption = None,
    device: DeviceOption = "auto",
    dtype: DtypeOption = "float32",
    output: PictureOption = None,
    as_json: Json = False,
) -> None:
    """Train a linear tagger on each layer and compare their accuracies.

    Files are CoNLL-U, or JSON lines with tokens and tags; they may be compressed. All vectors are
    kept in float16: about 1.1 GB for UD English EWT and the bundled model.
    """
    from elmokit.analysis.probes.pos import MIX, probe_pos
    from elmokit.analysis.probes.tagged_text import checked_tag_field, read_tagged
    from elmokit.analysis.probes.vector_source import ElmoLayers
    from elmokit.embed.load import load
    from elmokit.pretrained import DEFAULT_NAME

    check_picture(output)
    tags = checked_tag_field(field)
    numbers = layer_numbers([layer for layer in layers or [] if layer != MIX])
    mix = MIX in (layers or [])
    train_file = needed(train, "--train", "a CoNLL-U file or JSON lines with tags")
    if test is None:
        needed(dev, "--test", "a CoNLL-U file or JSON lines with tags (or --dev)")
    training = read_tagged(train_file, field=tags)
    others = [None if file is None else read_tagged(file, field=tags) for file in (dev, test)]
    static = static_words(vectors)
    elmo = load(model, device=device, dtype=dtype)
    report = probe_pos(
        [ElmoLayers(elmo, layers=None if mix else numbers, progress=True), *static],
        train=training,
        dev=others[0],
        test=others[1],
        layers=[*(numbers or []), MIX] if mix else None,
        device=elmo.device,
    )
    facts = report.facts()
    names = [row_name(score.name, score.layer) for score in report.scores]
    layers_of = dict(zip(names, (score.layer for score in report.scores), strict=True))
    draw_scores(
        output, layers_of, {f"{tags} accuracy": [score.accuracy for score in report.scores]}
    )
    if as_json:
        files = {"train": train, "dev": dev, "test": test}
        named = {name: str(file) for name, file in files.items() if file is not None}
        print_json(
            {"probe": "pos", "model": model or DEFAULT_NAME, "field": tags, **named, **facts}
        )
        return
    judged = "test" if test is not None else "dev"
    print(
        f"{tags} accuracy (%) of a linear probe: {report.tags} tags, "
        f"{report.train_tokens:,} tokens of training, {report.tokens:,} of {judged}"
    )
    both = dev is not None and test is not None
    head = ["", "dev", "test"] if both else ["", judged]
    rows = [
        [
            row_name(score.name, score.layer),
            *([score.dev_accuracy] if both else []),
            score.accuracy,
        ]
        for score in report.scores
    ]
    print_table(head, rows)
    for score in report.scores:
        if score.mix is not None:
            print("mix: " + ", ".join(f"{weight:.2f}" for weight in score.mix))
