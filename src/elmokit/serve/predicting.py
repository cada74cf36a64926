"""Answers of a task's model for many requests at once."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from elmokit.errors import InputError
from elmokit.serve.limits import MARKS
from elmokit.serve.problems import wrong_field
from elmokit.serve.work import Part
from elmokit.tasks.predictor import Predictor

MOST_DEPTH = 8
# Task models keep the words that they meet.
MOST_CHARACTERS = 1000


class Predicting:
    """Asks a predictor; a part gets an answer, plain JSON values, for each of its inputs."""

    def __init__(self, predictor: Predictor, *, name: str) -> None:
        self._predictor = predictor
        self.name = f"task {name}"
        self.device = str(predictor.trained.network.device)

    def prepare(self) -> None:
        """Do what the first request would wait for."""
        with suppress(InputError):  # of a task that takes more than a sentence
            self._predictor.predict(["A word ."])

    def begin(self, parts: Sequence[Part]) -> Callable[[], list[Any]]:
        """See `Computation`."""
        answers = iter(self._predictor.predict([item for part in parts for item in part.items]))
        results = [[next(answers) for _ in part.items] for part in parts]
        return lambda: results


def check_depth(value: Any, depth: int = MOST_DEPTH) -> None:
    """Refuse lists within lists that no task takes, and that would exhaust the stack."""
    if isinstance(value, list | dict):
        if depth == 0:
            raise wrong_field("input", f"values that lie at most {MOST_DEPTH} deep")
        for one in value if isinstance(value, list) else value.values():
            check_depth(one, depth - 1)


def words_of(value: Any) -> int:
    """Count the words of an input, whatever its shape, as white space shows them; bounds them."""
    if isinstance(value, str):
        words = value.split()
        if max(map(len, words), default=0) > MOST_CHARACTERS:
            raise wrong_field("input", f"words of at most {MOST_CHARACTERS} characters")
        return len(words) + MARKS
    if isinstance(value, Mapping):
        return sum(map(words_of, value.values()))
    if isinstance(value, list):
        if all(isinstance(one, str) for one in value):
            return sum(words_of(one) - MARKS for one in value) + MARKS
        return sum(map(words_of, value))
    return 0
