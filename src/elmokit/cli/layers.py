"""`elmo layers`: how trained tasks weigh the layers of a biLM."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from elmokit.cli.options import Json, print_json

if TYPE_CHECKING:
    from elmokit.analysis.layer_weights import LayerWeights


def command(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN", help="Run, model or table folder, runs.jsonl; repeatable."),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Draw a heat map: .png, .svg or .html."),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Of a table also other variants and shares of the data.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the mix weights that tasks have learnt, averaged over the runs of each task.

    They are normalised by a softmax, so those of a mix add up to 1; the scale multiplies the mix.
    """
    from elmokit.analysis.layer_weights import layer_weights, layer_weights_chart
    from elmokit.plots import check_suffix, save

    if output is not None:
        check_suffix(output)
    rows = layer_weights(runs, every=every)
    if output is not None:
        save(layer_weights_chart(rows), output)
    if as_json:
        file = None if output is None else str(output)
        print_json({"mixes": [asdict(row) for row in rows], "output": file})
        return
    _print_table(rows)
    if output is not None:
        print(f"wrote {output}")


def _print_table(rows: "list[LayerWeights]") -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from elmokit.analysis.layer_weights import columns_of

    columns = columns_of(rows)
    table = Table("task", "at", *columns, "scale", "runs", box=box.SIMPLE, pad_edge=False)
    table.columns[0].overflow = "fold"
    for column in table.columns[1:]:
        column.no_wrap = True
    for column in table.columns[2:]:
        column.justify = "right"
    for row in rows:
        several = row.runs > 1
        cells = {
            layer: _cell(weight, deviation, several)
            for layer, weight, deviation in zip(
                row.layers, row.weights, row.deviations, strict=True
            )
        }
        scale = _cell(row.scale, row.scale_deviation, several)
        found = [cells.get(column, "") for column in columns]
        table.add_row(row.name, row.place, *found, scale, str(row.runs))
    Console(soft_wrap=True).print(table)


def _cell(mean: float, deviation: float, several: bool) -> str:
    return f"{mean:.2f}±{deviation:.2f}" if several else f"{mean:.2f}"
