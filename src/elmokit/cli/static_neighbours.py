"""`elmo static neighbours`: the words nearest to a word, whatever stands around it."""

from typing import TYPE_CHECKING, Annotated

import typer

from elmokit.cli.options import Json, print_json

if TYPE_CHECKING:
    from elmokit.baselines.static_vectors import Similar

VectorsArgument = Annotated[
    str,
    typer.Argument(
        metavar="VECTORS", help="Text file of word2vec, GloVe or fastText, packed or not."
    ),
]
LimitOption = Annotated[
    int | None, typer.Option("--limit", help="Read so many of the first words; default: all.")
]
Count = Annotated[int, typer.Option("-k", help="How many words to show.")]


def command(
    vectors: VectorsArgument,
    words: Annotated[list[str], typer.Argument(metavar="WORD...", help="Words to ask about.")],
    k: Count = 10,
    limit: LimitOption = None,
    as_json: Json = False,
) -> None:
    """List the nearest words of each word by the cosine of their vectors."""
    from elmokit.baselines.static_vectors import StaticVectors

    static = StaticVectors.load(vectors, limit=limit, wanted=words)
    found = {word: static.most_similar(word, k=k) for word in words}
    if as_json:
        print_json(
            {
                "vectors": vectors,
                "neighbours": {word: as_objects(similar) for word, similar in found.items()},
            }
        )
        return
    for place, (word, similar) in enumerate(found.items()):
        print(f"{chr(10) if place else ''}{word}")
        print_similar(similar)


def as_objects(similar: "Similar") -> list[dict[str, object]]:
    """Give words and cosines as JSON objects."""
    return [{"word": word, "similarity": round(cosine, 6)} for word, cosine in similar]


def print_similar(similar: "Similar") -> None:
    """Print words with their cosines, a word a line."""
    for word, cosine in similar:
        print(f"{cosine:8.4f}  {word}")
