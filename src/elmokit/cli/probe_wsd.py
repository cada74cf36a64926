"""`elmo probe wsd`: word senses by the nearest neighbour on each layer."""

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
    train: Annotated[
        Path | None, typer.Option("--train", help="JSON lines with senses, such as SemCor.")
    ] = None,
    tests: Annotated[
        list[Path] | None,
        typer.Option("--test", help="JSON lines with senses to find; repeatable."),
    ] = None,
    model: ModelOption = None,
    layers: LayerOption = None,
    first_senses: Annotated[
        Path | None,
        typer.Option(
            "--first-senses", help="WordNet's index.sense, for words that training lacks."
        ),
    ] = None,
    prior: Annotated[
        float | None,
        typer.Option("--prior", help="Weight of how frequent a sense is; 0: as in the paper."),
    ] = None,
    vectors: VectorsOption = None,
    device: DeviceOption = "auto",
    dtype: DtypeOption = "float32",
    output: PictureOption = None,
    as_json: Json = False,
) -> None:
    """Give words the sense whose training occurrences are nearest, by each layer.

    Words without an occurrence in training get their first sense in WordNet with --first-senses;
    else they count as wrong, for the baseline too. The mean vectors of all senses are kept: about
    0.3 GB for SemCor and the bundled model.
    """
    from elmokit.analysis.probes.first_senses import read_first_senses
    from elmokit.analysis.probes.sense_text import read_senses
    from elmokit.analysis.probes.vector_source import ElmoLayers
    from elmokit.analysis.probes.wsd import PRIOR, probe_wsd
    from elmokit.embed.load import load
    from elmokit.pretrained import DEFAULT_NAME

    check_picture(output)
    numbers = layer_numbers(layers)
    training = read_senses(needed(train, "--train", "JSON lines with senses, such as SemCor"))
    files = tests or [needed(None, "--test", "JSON lines with senses to find")]
    texts = {name_of_test(file): read_senses(file) for file in files}
    first = None if first_senses is None else read_first_senses(first_senses)
    static = static_words(vectors)
    elmo = load(model, device=device, dtype=dtype)
    report = probe_wsd(
        [ElmoLayers(elmo, layers=numbers, progress=True), *static],
        train=training,
        tests=texts,
        first_senses=first,
        prior=PRIOR if prior is None else prior,
    )
    names = [row_name(score.name, score.layer) for score in report.scores]
    figures: dict[str, list[float | None]] = {
        "F1": [score.f1 for score in report.scores],
        "F1, no prior": [score.neighbour_f1 for score in report.scores],
    }
    layers_of = dict(zip(names, (score.layer for score in report.scores), strict=True))
    draw_scores(output, layers_of, figures)
    if as_json:
        print_json(
            {
                "probe": "wsd",
                "model": model or DEFAULT_NAME,
                "train": str(train),
                "test": [str(file) for file in files],
                **report.facts(),
            }
        )
        return
    print(
        f"F1 (%) of the nearest mean of {report.senses:,} senses, prior {report.prior:g}; "
        f"{report.instances:,} words, {report.untrained:,} of them not in training "
        f"({report.fallback})"
    )
    usual = report.scores[0]
    head = ["", *usual.tests, *usual.parts_of_speech, "all", "all, no prior"]
    rows = [
        [
            row_name(score.name, score.layer),
            *score.tests.values(),
            *score.parts_of_speech.values(),
            score.f1,
            score.neighbour_f1,
        ]
        for score in report.scores
    ]
    print_table(head, rows)
