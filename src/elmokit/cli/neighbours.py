"""`elmo neighbours`: the occurrences nearest to a word in a sentence."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from elmokit.cli.options import Json, ModelOption, print_json

if TYPE_CHECKING:
    from elmokit.analysis.context_index import Neighbour
    from elmokit.analysis.static_neighbours import StaticNeighbour


def command(
    index: Annotated[
        str,
        typer.Argument(metavar="INDEX", help="What elmo index wrote; demo: the package's text."),
    ],
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="A sentence with one word between *asterisks*.")
    ],
    count: Annotated[int, typer.Option("-k", "--count", help="How many to give.")] = 10,
    vectors: Annotated[
        Path | None,
        typer.Option("--vectors", help="Static vectors to show beside: word2vec or GloVe text."),
    ] = None,
    faiss: Annotated[
        bool, typer.Option("--faiss", help="Search approximately, in an index made with --faiss.")
    ] = False,
    model: ModelOption = None,
    as_json: Json = False,
) -> None:
    """Find the words in context that are nearest to the *marked* word of a sentence."""
    from elmokit.analysis.opened_index import opened_index
    from elmokit.analysis.static_neighbours import static_neighbours

    opened = opened_index(index, model=model)
    found = opened.most_similar(text, count, approximate=faiss)
    word = opened.marked_word(text).word
    static = None if vectors is None else static_neighbours(vectors, word, count)
    if as_json:
        print_json(
            {
                "text": text,
                "word": word,
                "model": opened.facts.model,
                "layer": opened.facts.layer,
                "weights": opened.facts.weights,
                "exact": not faiss,
                "neighbours": [{**asdict(one), "marked": one.marked} for one in found],
                "static": None if static is None else [one._asdict() for one in static],
            }
        )
    else:
        _show(word, found, static, opened.facts.model)


def _show(
    word: str,
    found: "list[Neighbour]",
    static: "list[StaticNeighbour] | None",
    model: str,
) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    if static is not None:
        listed = ", ".join(f"{one.word} {one.similarity:.2f}" for one in static)
        console.print(f"Static vectors, {word!r} in any sentence: {listed}\n", markup=False)
    table = Table(title=f"Nearest to {word!r} in this sentence ({model})", title_justify="left")
    table.add_column("cosine", justify="right")
    table.add_column("sentence", overflow="fold")
    for one in found:
        sentence = Text(one.marked)
        sentence.stylize("bold", one.start, one.end + 2)
        table.add_row(f"{one.similarity:.3f}", sentence)
    console.print(table)
