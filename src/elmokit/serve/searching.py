"""Neighbours for many requests at once: their sentences are embedded together."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from elmokit.analysis.context_index import ContextIndex, Neighbour
from elmokit.analysis.marked_word import MarkedWord
from elmokit.serve.served_model import shortened
from elmokit.serve.work import Part
from elmokit.text.tokenise import WhitespaceTokeniser


class Search(NamedTuple):
    """A word in a sentence, and how many neighbours it is to have."""

    word: MarkedWord
    most: int


class Searching:
    """Finds neighbours in an index; a part gets a list of plain JSON values for each item."""

    name = "neighbours"

    def __init__(self, index: ContextIndex) -> None:
        self._index = index
        self.device = str(index.elmo.device)
        self._tokenise = WhitespaceTokeniser() if index.facts.tokenised else index.elmo.tokeniser

    @property
    def model(self) -> str:
        """Name of the model that the index was made with."""
        return self._index.facts.model

    def marked_word(self, text: str) -> MarkedWord:
        """Find the ``*marked*`` word of a sentence."""
        return self._index.marked_word(text)

    def tokens(self, text: str) -> list[str]:
        """Cut a sentence into tokens as the index was."""
        return [token.text for token in self._tokenise(text)]

    def begin(self, parts: Sequence[Part]) -> Callable[[], list[Any]]:
        """See `Computation`."""
        asked: list[Search] = [item for part in parts for item in part.items]
        vectors = self._index.elmo.embed(
            [shortened(one.word.tokens) for one in asked], layers=self._index.facts.layers
        )
        found = iter(
            [
                self._index.similar_by_vector(
                    vector[one.word.position], one.most, leave_out=[one.word.sentence]
                )
                for one, vector in zip(asked, vectors, strict=True)
            ]
        )
        results = [[self._described(next(found)) for _ in part.items] for part in parts]
        return lambda: results

    def _described(self, neighbours: list[Neighbour]) -> list[dict[str, Any]]:
        described = []
        for one in neighbours:
            tokens = self._tokenise(one.sentence)
            position = next(number for number, token in enumerate(tokens) if token.end > one.start)
            facts = asdict(one)
            facts.update(
                text=facts.pop("sentence"),
                sentence=[token.text for token in tokens],
                position=position,
            )
            described.append(facts)
        return described
