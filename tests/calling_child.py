"""A child of `ProcessPool` that calls what it is asked to call."""

from collections.abc import Callable
from typing import Any

from elmokit.processes.answer_questions import answer_questions


def call(question: tuple[Callable[..., object], tuple[Any, ...]]) -> object:
    function, arguments = question
    return function(*arguments)


if __name__ == "__main__":
    answer_questions(call)
