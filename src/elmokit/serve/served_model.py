"""A model under the name that clients call it by."""

import time
from collections.abc import Iterable
from functools import cached_property
from typing import Any, get_args

from elmokit.embed.elmo import Elmo
from elmokit.embed.layer_choice import LayerChoice
from elmokit.errors import InputError
from elmokit.lm.score import Direction
from elmokit.serve.embedding import Embedding
from elmokit.serve.language import Scoring, Shortlisting
from elmokit.text.tokenise import Token

# Far more of a word than any known model reads, and little enough to keep words in memory.
CHARACTERS_OF_WORD = 256
# Weights may be any numbers; that many choices are remembered.
MOST_CHOICES = 256


class ServedModel:
    """What the routes need of a model, and what the device's thread does with it."""

    def __init__(self, name: str, elmo: Elmo) -> None:
        if elmo.start == "carry":
            raise InputError(
                f"model: {name!r} carries its state from sentence to sentence, so that one client "
                "would see traces of another; load it with start='warm' or 'zeros'"
            )
        known = elmo.config.characters
        if known is not None and known.max_characters > CHARACTERS_OF_WORD:
            raise InputError(
                f"model: {name!r} reads {known.max_characters} characters of a word, of at most "
                f"{CHARACTERS_OF_WORD} here"
            )
        self.name = name
        self.elmo = elmo
        self.created = int(time.time())
        self.embedding = Embedding(elmo)
        self.shortlisting = Shortlisting(elmo)
        self.scoring = {direction: Scoring(elmo, direction) for direction in get_args(Direction)}
        self._choices: dict[str | int | tuple[float, ...], LayerChoice] = {}

    @cached_property
    def has_language_model(self) -> bool:
        """Whether it gives probabilities."""
        try:
            return self.elmo.language_model is not None
        except InputError:
            return False

    def prepare(self) -> None:
        """Do what the first request would wait for."""
        self.elmo.embed([["a"], ["word", "."]])
        if self.has_language_model:
            self.elmo.score([["a", "word"]])
            self.elmo.substitutes((["a", "word"], 1), rescore=False)

    def facts(self) -> dict[str, Any]:
        """Give what /v1/models tells."""
        return {
            "id": self.name,
            "object": "model",
            "created": self.created,
            "owned_by": "elmokit",
            "dim": self.elmo.dim,
            "layers": self.elmo.layer_count,
            "language_model": self.has_language_model,
        }

    def layer_choice(self, layers: str | int | tuple[float, ...]) -> LayerChoice:
        """Give a choice of layers, checked; the same object where it was asked for lately."""
        known = self._choices.get(layers)
        if known is None:
            known = LayerChoice(layers, count=self.elmo.layer_count, dim=self.elmo.dim)
            if len(self._choices) >= MOST_CHOICES:
                self._choices.clear()
            self._choices[layers] = known
        return known

    def words(self, text: str) -> list[str]:
        """Cut a raw sentence into tokens for the model."""
        return shortened(self.elmo.tokeniser.words(text))

    def tokens(self, text: str) -> list[Token]:
        """Cut a raw sentence into tokens with their places."""
        return self.elmo.tokeniser(text)


def shortened(words: Iterable[str]) -> list[str]:
    """Cut off what models do not read of words that are very long."""
    return [
        word if len(word) <= CHARACTERS_OF_WORD else word[:CHARACTERS_OF_WORD] for word in words
    ]
