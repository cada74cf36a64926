"""`elmo static analogy`: king - man + woman."""

from typing import Annotated

import typer

from elmokit.cli.options import Json, print_json
from elmokit.cli.static_neighbours import (
    Count,
    LimitOption,
    VectorsArgument,
    as_objects,
    print_similar,
)


def command(
    vectors: VectorsArgument,
    first: Annotated[str, typer.Argument(metavar="FIRST", help="Where to start: king.")],
    less: Annotated[str, typer.Argument(metavar="LESS", help="What to take off: man.")],
    more: Annotated[str, typer.Argument(metavar="MORE", help="What to add: woman.")],
    k: Count = 5,
    limit: LimitOption = None,
    as_json: Json = False,
) -> None:
    """Give the words nearest to FIRST - LESS + MORE; the three themselves are left out."""
    from elmokit.baselines.static_vectors import StaticVectors

    static = StaticVectors.load(vectors, limit=limit, wanted=(first, less, more))
    found = static.analogy(first, less, more, k)
    if as_json:
        print_json(
            {
                "vectors": vectors,
                "first": first,
                "less": less,
                "more": more,
                "answers": as_objects(found),
            }
        )
        return
    print(f"{first} - {less} + {more}")
    print_similar(found)
