"""Pieces of text as a Ray dataset, and what its actors say of them."""

from collections.abc import Generator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from elmokit.embed.text_pieces import TextPiece
from elmokit.integrations.ray_actor import ActorSettings, ShardActor

# Ray takes a millisecond or so for each.
MOST_TASKS = 4000


@dataclass(frozen=True)
class Shares:
    """How many actors there are and what each gets."""

    actors: int
    num_cpus: float
    num_gpus: float


def dataset_rows(
    pieces: Sequence[TextPiece], model: Any, settings: ActorSettings, shares: Shares
) -> Generator[dict[str, Any], None, None]:
    """Run the actors and give their answers as they come; ``model`` is what they get it by."""
    import ray.data

    # A class stands for actors, which the signature of `map` does not say.
    actor: Any = ShardActor
    context = ray.data.DataContext.get_current()
    bars, context.enable_progress_bars = context.enable_progress_bars, False
    try:
        rows = ray.data.from_items(
            [asdict(piece) for piece in pieces],
            override_num_blocks=min(len(pieces), MOST_TASKS),
        ).map(
            actor,
            fn_constructor_args=(model, settings),
            compute=ray.data.ActorPoolStrategy(size=shares.actors),
            num_cpus=shares.num_cpus,
            num_gpus=shares.num_gpus,
        )
        yield from rows.iter_rows()
    finally:
        context.enable_progress_bars = bars
