"""A model under the name that clients call it by."""

import time
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

from elmokit.embed.elmo import Elmo
from elmokit.embed.layer_choice import LayerChoice, Layers
from elmokit.embed.load import load
from elmokit.errors import InputError
from elmokit.files import exists
from elmokit.lm.score import Direction
from elmokit.pretrained import DEFAULT_NAME, bundled_name
from elmokit.serve.embedding import Embedding
from elmokit.serve.language import Scoring, Substitution
from elmokit.text.tokenise import Token

# What lies behind so many characters of a word changes nothing, and is not kept in memory.
CHARACTERS_OF_WORD = 256


class ServedModel:
    """What the routes need of a model, and what the device's thread does with it."""

    def __init__(self, name: str, elmo: Elmo) -> None:
        if elmo.start == "carry":
            raise InputError(
                f"model: {name!r} carries its state from sentence to sentence, so that one client "
                "would see traces of another; load it with start='warm' or 'zeros'"
            )
        self.name = name
        self.elmo = elmo
        self.created = int(time.time())
        self.embedding = Embedding(elmo)
        self.substitution = Substitution(elmo)
        self.scoring = {direction: Scoring(elmo, direction) for direction in get_args(Direction)}
        known = elmo.config.characters
        self._longest = max(CHARACTERS_OF_WORD, 0 if known is None else known.max_characters)

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

    def layer_choice(self, layers: Layers) -> LayerChoice:
        """Give a choice of layers, checked."""
        return LayerChoice(layers, count=self.elmo.layer_count, dim=self.elmo.dim)

    def words(self, text: str) -> list[str]:
        """Cut a raw sentence into tokens for the model."""
        return self.shortened(self.elmo.tokeniser.words(text))

    def tokens(self, text: str) -> list[Token]:
        """Cut a raw sentence into tokens with their places."""
        return self.elmo.tokeniser(text)

    def shortened(self, words: Iterable[str]) -> list[str]:
        """Cut what the model does not read off words that are very long."""
        longest = self._longest
        return [word if len(word) <= longest else word[:longest] for word in words]


def loaded_model(choice: str | None, *, device: str, dtype: str) -> ServedModel:
    """Load a model by ``--model``: a bundled name, a folder, or NAME=FOLDER."""
    choice = choice or DEFAULT_NAME
    name, equals, source = choice.partition("=")
    if not equals or exists(Path(choice)):
        source = choice
        name = bundled_name(source) or Path(source).resolve().name
    elif not name or not source:
        raise InputError(f"model: expected a name, a folder or NAME=FOLDER, found {choice!r}")
    return ServedModel(name, load(source, device=device, dtype=dtype))
