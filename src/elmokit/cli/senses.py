"""`elmo senses`: what a word means in a text, as its occurrences cluster."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from elmokit.cli.options import DeviceOption, Json, ModelOption, print_json

if TYPE_CHECKING:
    from elmokit.analysis.context_index import Occurrence
    from elmokit.analysis.senses import Senses


def command(
    word: Annotated[str, typer.Argument(metavar="WORD", help="The word to look at.")],
    corpus: Annotated[
        list[str],
        typer.Argument(
            metavar="CORPUS...",
            help="Text as for elmo index, or an index; demo: the package's text.",
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Draw a map: .png, .svg or .html.")
    ] = None,
    clusters: Annotated[
        str, typer.Option("--clusters", help="How many; auto takes those that are best apart.")
    ] = "auto",
    exact_case: Annotated[
        bool, typer.Option("--exact-case", help="Tell Bank from bank; default: both.")
    ] = False,
    limit: Annotated[int, typer.Option("--limit", help="Occurrences to look at, at most.")] = 1000,
    model: ModelOption = None,
    layer: Annotated[
        str | None,
        typer.Option("--layer", help="Of text: top, average, a number, or weights. Default: top."),
    ] = None,
    field: Annotated[
        str | None, typer.Option("--field", help="Field of JSON records that holds the text.")
    ] = None,
    device: DeviceOption = "auto",
    as_json: Json = False,
) -> None:
    """Gather the occurrences of a word, cluster them, and show what is typical of each."""
    from elmokit.analysis.senses import find_senses, gather_occurrences, save_senses
    from elmokit.cli.index import layer_value
    from elmokit.errors import InputError
    from elmokit.plots import check_suffix

    if clusters != "auto" and not clusters.isdecimal():
        raise InputError(f"clusters: expected auto or a number, found {clusters!r}")
    if output is not None:
        check_suffix(output)
    occurrences = gather_occurrences(
        corpus,
        word,
        model=model,
        layers=None if layer is None else layer_value(layer),
        any_case=not exact_case,
        limit=limit,
        field=field,
        device=device,
    )
    senses = find_senses(occurrences, clusters=None if clusters == "auto" else int(clusters))
    if output is not None:
        save_senses(senses, output)
    if as_json:
        print_json(_facts(senses, output))
    else:
        _show(senses, output)


def _facts(senses: "Senses", output: Path | None) -> dict[str, Any]:
    return {
        "word": senses.word,
        "occurrences": len(senses.occurrences),
        "silhouette": senses.silhouette,
        "output": None if output is None else str(output),
        "clusters": [
            {
                "cluster": sense.number,
                "size": len(sense.members),
                "typical": [_facts_of(one) for one in sense.typical],
                "sentences": [_facts_of(one) for one in sense.members],
            }
            for sense in senses.senses
        ],
        "points": [
            {"x": x, "y": y, "cluster": group, "sentence": one.marked}
            for (x, y), group, one in zip(
                senses.points.tolist(), senses.groups, senses.occurrences, strict=True
            )
        ],
    }


def _facts_of(one: "Occurrence") -> dict[str, Any]:
    return {"word": one.word, "sentence": one.sentence, "start": one.start, "end": one.end}


def _show(senses: "Senses", output: Path | None) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    apart = "" if senses.silhouette is None else f", silhouette {senses.silhouette:.2f}"
    table = Table(
        title=f"{senses.word}: {len(senses.occurrences)} occurrences{apart}", title_justify="left"
    )
    table.add_column("cluster", justify="right")
    table.add_column("size", justify="right")
    table.add_column("typical sentences", overflow="fold")
    for sense in senses.senses:
        lines = []
        for one in sense.typical:
            line = Text(one.marked)
            line.stylize("bold", one.start, one.end + 2)
            lines.append(line)
        table.add_row(str(sense.number), str(len(sense.members)), Text("\n").join(lines))
    console.print(table)
    if output is not None:
        console.print(str(output), markup=False)
