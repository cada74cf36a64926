"""Token lists to arrays: each from one fixed state, or from states that are carried."""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from elmokit.embed.embed_window import cut, embed_window, windows
from elmokit.embed.fetch import begin_fetch
from elmokit.embed.layer_choice import LayerChoice, Vectors
from elmokit.embed.start_state import CarriedState

if TYPE_CHECKING:
    from elmokit.embed.elmo import Elmo


def embed_purely(
    elmo: "Elmo",
    sentences: Iterator[list[str]],
    choice: LayerChoice,
    *,
    batch_tokens: int,
    batch_rows: int | None,
) -> Iterator[Vectors]:
    """Read every sentence from the model's start state."""
    for window in windows(sentences, batch_tokens):
        yield from embed_window(
            elmo.embedder,
            window,
            start=elmo.start_state,
            choice=choice,
            batch_tokens=batch_tokens,
            batch_rows=batch_rows,
        )


def embed_carrying(
    elmo: "Elmo", sentences: Iterator[list[str]], choice: LayerChoice, state: CarriedState
) -> Iterator[Vectors]:
    """Read as many sentences at once as ``state`` has rows, each from where its row ended."""
    while batch := list(islice(sentences, state.rows)):
        layers, after = elmo.embedder.carry(batch, state.take(elmo.bilm, len(batch)))
        state.put(after)
        yield from cut(begin_fetch(choice.pick(layers))(), batch)
