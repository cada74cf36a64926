"""What the probes' commands and `elmo compare` have in common: options, sources, tables."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from elmokit.analysis.probes.static_words import StaticWords

VectorsOption = Annotated[
    list[str] | None,
    typer.Option("--vectors", help="Static vectors, FILE or NAME=FILE, to set beside; repeatable."),
]
LayerOption = Annotated[
    list[str] | None,
    typer.Option("--layer", help="A layer's number, counted from 0; repeatable; default: all."),
]
PictureOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Draw the scores as bars: a .png, .svg or .html file."),
]
DtypeOption = Annotated[
    str, typer.Option("--dtype", help="float32, bfloat16, int8 (CPU), tf32 (GPU) or float64.")
]


def static_words(given: Sequence[str] | None) -> "list[StaticWords]":
    """Read files of static vectors, each under the name before ``=`` or that of the file."""
    from elmokit.analysis.probes.static_words import StaticWords
    from elmokit.baselines.static_vectors import StaticVectors

    found = []
    for text in given or ():
        name, file = named_file(text)
        found.append(StaticWords(StaticVectors.load(file), name=name))
    return found


def named_file(text: str) -> tuple[str, str]:
    """Cut ``NAME=FILE``; without a name it is that of the file up to the first dot."""
    name, mark, file = text.partition("=")
    if not mark or Path(text).exists():
        return Path(text).name.split(".")[0], text
    return name, file


def layer_numbers(texts: Sequence[str] | None) -> list[int] | None:
    """Read the numbers of layers; None where none were given: all."""
    from elmokit.errors import InputError

    for text in texts or ():
        if not text.isdecimal():
            raise InputError(f"layer: expected a layer's number, counted from 0, found {text!r}")
    return [int(text) for text in texts] if texts else None


def needed(file: Path | None, option: str, holds: str) -> Path:
    """Give a file that the command cannot do without; none come with the package."""
    from elmokit.errors import InputError

    if file is None:
        raise InputError(f"{option}: expected {holds}; no data come with elmokit (docs/probes.md)")
    return file


def name_of_test(file: Path) -> str:
    """Name a test after its file, without the endings and a leading ``eval_``."""
    return file.name.split(".")[0].removeprefix("eval_")


def print_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print names on the left and numbers, with one decimal, to the right of them."""
    from rich.cells import cell_len  # a Korean syllable takes two columns

    texts = [list(head), *([_text(value) for value in row] for row in rows)]
    widths = [max(cell_len(row[column]) for row in texts) for column in range(len(head))]
    for row in texts:
        gaps = [" " * (width - cell_len(text)) for width, text in zip(widths, row, strict=True)]
        cells = [row[0] + gaps[0], *(g + t for g, t in zip(gaps[1:], row[1:], strict=True))]
        print("  ".join(cells).rstrip())


def check_picture(file: Path | None) -> None:
    """Refuse a name that says no format before anything is computed."""
    if file is not None:
        from elmokit.plots import check_suffix

        check_suffix(file)


def draw_scores(
    file: Path | None,
    rows: Mapping[str, int | str | None],
    scores: Mapping[str, Sequence[float | None]],
) -> None:
    """Draw a group of bars for each of ``scores``, with a bar for each row where there is one.

    ``rows`` have names and layers; those without a layer are there to compare with.
    """
    if file is None:
        return
    from elmokit.plots import bars, save

    values = [[float("nan") if one is None else one for one in row] for row in scores.values()]
    grey = [name for name, layer in rows.items() if layer is None]
    save(bars(values, groups=list(scores), names=list(rows), grey=grey, value_title="%"), file)


def row_name(name: str, layer: int | str | None) -> str:
    """Name a row: the layer, or the baseline."""
    if layer is None:
        return name
    return f"layer {layer}" if isinstance(layer, int) else layer


def _text(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.1f}" if isinstance(value, float) else str(value)
