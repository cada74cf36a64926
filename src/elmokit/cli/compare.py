"""`elmo compare`: static vectors, ELMo's layers and a transformer on the same probes."""

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
    name_of_test,
    needed,
    print_table,
    row_name,
    static_words,
)


def command(
    pos_train: Annotated[
        Path | None, typer.Option("--pos-train", help="As --train of elmo probe pos.")
    ] = None,
    pos_test: Annotated[
        Path | None, typer.Option("--pos-test", help="As --test of elmo probe pos.")
    ] = None,
    field: Annotated[str, typer.Option("--field", help="Tags to learn: upos or xpos.")] = "upos",
    wsd_train: Annotated[
        Path | None, typer.Option("--wsd-train", help="As --train of elmo probe wsd.")
    ] = None,
    wsd_tests: Annotated[
        list[Path] | None,
        typer.Option("--wsd-test", help="As --test of elmo probe wsd; repeatable."),
    ] = None,
    first_senses: Annotated[
        Path | None, typer.Option("--first-senses", help="As in elmo probe wsd.")
    ] = None,
    wic_train: Annotated[
        Path | None, typer.Option("--wic-train", help="As --train of elmo probe wic.")
    ] = None,
    wic_dev: Annotated[
        Path | None, typer.Option("--wic-dev", help="As --dev of elmo probe wic.")
    ] = None,
    model: ModelOption = None,
    layers: LayerOption = None,
    vectors: VectorsOption = None,
    transformer: Annotated[
        str | None,
        typer.Option(
            "--transformer",
            help="Name or folder of a sentence-transformers model, or LABEL=FOLDER.",
        ),
    ] = None,
    device: DeviceOption = "auto",
    dtype: DtypeOption = "float32",
    output: PictureOption = None,
    as_json: Json = False,
) -> None:
    """Put static vectors, ELMo's layers and a transformer on the same probes, in one table.

    The probes are those whose data are given. Files are those of elmo probe pos, wsd and wic.
    """
    from elmokit.analysis.compare import PairData, SenseData, TagData, compare
    from elmokit.analysis.probes.first_senses import read_first_senses
    from elmokit.analysis.probes.sense_text import read_senses
    from elmokit.analysis.probes.tagged_text import checked_tag_field, read_tagged
    from elmokit.analysis.probes.transformer_words import load_transformer
    from elmokit.analysis.probes.vector_source import ElmoLayers, VectorSource
    from elmokit.analysis.probes.word_pairs import read_pairs
    from elmokit.embed.load import load
    from elmokit.pretrained import DEFAULT_NAME

    check_picture(output)
    tags, numbers = checked_tag_field(field), layer_numbers(layers)
    pos = wsd = wic = None
    if pos_train or pos_test:
        trained = needed(pos_train, "--pos-train", "CoNLL-U or JSON lines with tags")
        tested = needed(pos_test, "--pos-test", "CoNLL-U or JSON lines with tags")
        pos = TagData(read_tagged(trained, field=tags), read_tagged(tested, field=tags))
    if wsd_train or wsd_tests:
        trained = needed(wsd_train, "--wsd-train", "JSON lines with senses")
        files = wsd_tests or [needed(None, "--wsd-test", "JSON lines with senses")]
        wsd = SenseData(
            read_senses(trained),
            {name_of_test(file): read_senses(file) for file in files},
            None if first_senses is None else read_first_senses(first_senses),
        )
    if wic_train or wic_dev:
        trained = needed(wic_train, "--wic-train", "JSON lines with pairs of sentences")
        tested = needed(wic_dev, "--wic-dev", "JSON lines with pairs of sentences")
        wic = PairData(read_pairs(trained), read_pairs(tested))
    if pos is None and wsd is None and wic is None:
        needed(None, "--pos-train, --wsd-train, --wic-train", "data of at least one probe")
    sources: list[VectorSource] = [*static_words(vectors)]
    elmo = load(model, device=device, dtype=dtype)
    sources.append(ElmoLayers(elmo, layers=numbers, progress=True))
    if transformer is not None:
        name, mark, source = transformer.partition("=")
        if not mark:
            name, source = "", transformer
        sources.append(load_transformer(source, name=name or None, device=str(elmo.device)))
    rows = compare(sources, pos=pos, wsd=wsd, wic=wic, device=elmo.device)
    titles = {
        "pos": f"{tags} accuracy",
        "wsd": "senses F1",
        "wsd_neighbour": "F1, no prior",
        "wic": "WiC accuracy",
    }
    probed = [key for key in titles if any(key in row.figures for row in rows)]
    names = [_name(row.name, row.layer) for row in rows]
    layers_of = dict(zip(names, (row.layer for row in rows), strict=True))
    draw_scores(
        output, layers_of, {titles[key]: [row.figures.get(key) for row in rows] for key in probed}
    )
    if as_json:
        print_json({"model": model or DEFAULT_NAME, "rows": [row.facts() for row in rows]})
        return
    print("percent right; '-': not a baseline of that probe")
    print_table(
        ["", *(titles[key] for key in probed)],
        [
            [name, *(row.figures.get(key) for key in probed)]
            for name, row in zip(names, rows, strict=True)
        ],
    )


def _name(name: str, layer: int | None) -> str:
    return name if layer is None else f"{name}, {row_name(name, layer)}"
