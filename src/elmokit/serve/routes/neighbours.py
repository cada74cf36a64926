"""POST /v1/neighbours: where a word of a sentence is used alike, in the index that is loaded."""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request

from elmokit.analysis.marked_word import MarkedWord
from elmokit.errors import InputError
from elmokit.serve.answer import Answer, json_answer
from elmokit.serve.fields import (
    check_characters,
    check_lengths,
    check_names,
    check_tokens,
    position_in,
    whole_number,
)
from elmokit.serve.limits import MARKS
from elmokit.serve.problems import RequestError, problem_of_input, wrong_field
from elmokit.serve.request_body import json_object
from elmokit.serve.searching import Search, Searching
from elmokit.serve.service import CHARACTERS_AT_ONCE, Service
from elmokit.serve.work import Work

FIELDS = ("input", "model", "position", "count")
DEFAULT_COUNT, MOST_NEIGHBOURS = 10, 100


async def neighbours(request: Request, service: Service) -> Answer:
    """Find where a word of a sentence is used alike, in the index that is loaded."""
    searching = service.searching
    if searching is None:
        raise RequestError(
            404, "no index is loaded; start the server with --index", code="no_index"
        )
    values = await json_object(request)
    check_names(values, FIELDS)
    if values.get("model") not in (None, searching.model):
        raise RequestError(
            404,
            f"model: the index was made with {searching.model}",
            param="model",
            code="model_not_found",
        )
    count = whole_number(values, "count", default=DEFAULT_COUNT, most=MOST_NEIGHBOURS)
    text = values["input"]
    if isinstance(text, list) and text:
        check_lengths([text], service.limits)
        check_tokens(text, "input")
    elif not isinstance(text, str):
        raise wrong_field("input", "a sentence, or a list of its tokens")
    check_characters([text] if isinstance(text, str) else text, service.limits)
    word = await service.apart(
        lambda: _word(text, values, searching), small=len(text) < CHARACTERS_AT_ONCE
    )
    check_lengths([word.tokens], service.limits)
    work = Work(searching, [Search(word, count)], [len(word.tokens) + MARKS])
    ((found,),) = await service.computed(request, work)
    return json_answer(
        {"object": "list", "model": searching.model, "word": word.word, "data": found}
    )


def _word(text: str | list[str], values: Mapping[str, Any], searching: Searching) -> MarkedWord:
    if values.get("position") is not None:
        tokens = searching.tokens(text) if isinstance(text, str) else text
        sentence = text if isinstance(text, str) else " ".join(text)
        return MarkedWord(sentence, tokens, position_in(values, tokens))
    if not isinstance(text, str):
        raise wrong_field("position", "the place of the word, as tokens are given")
    try:
        return searching.marked_word(text)
    except InputError as error:
        raise problem_of_input(error) from None
