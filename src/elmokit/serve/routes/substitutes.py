"""POST /v1/substitutes: the words that fit a place in a sentence, judged from both sides."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from starlette.requests import Request

from elmokit.errors import InputError
from elmokit.lm.gap import Gap, find_gap
from elmokit.lm.substitutes import DEFAULT_COUNT, SHORTLIST, Substitute, ranked
from elmokit.serve.answer import Answer, json_answer
from elmokit.serve.fields import (
    check_characters,
    check_lengths,
    check_names,
    check_tokens,
    position_in,
    whole_number,
)
from elmokit.serve.language import Shortlist
from elmokit.serve.limits import MARKS
from elmokit.serve.problems import RequestError, problem_of_input, wrong_field
from elmokit.serve.request_body import json_object
from elmokit.serve.routes.score import check_language_model
from elmokit.serve.served_model import ServedModel, shortened
from elmokit.serve.service import CHARACTERS_AT_ONCE, Service
from elmokit.serve.work import Work

FIELDS = ("input", "model", "position", "count", "candidates", "rescore")
MOST_WORDS = 100
MOST_CHARACTERS = 1000


async def substitutes(request: Request, service: Service) -> Answer:
    """Give the words that fit a place in a sentence, judged from both sides."""
    values = await json_object(request)
    check_names(values, FIELDS)
    model = service.model(values)
    check_language_model(model)
    # Of words that somebody names all are given.
    default = DEFAULT_COUNT if values.get("candidates") is None else MOST_WORDS
    count = whole_number(values, "count", default=default, most=MOST_WORDS)
    text = values["input"]
    if isinstance(text, list) and text:
        check_lengths([text], service.limits)
        check_tokens(text, "input")
    elif not isinstance(text, str):
        raise wrong_field("input", "a string or a list of tokens")
    check_characters([text] if isinstance(text, str) else text, service.limits)
    small = len(text) < CHARACTERS_AT_ONCE
    gap = await service.apart(lambda: _gap(text, values, model), small=small)
    check_lengths([[*gap.left, *gap.right]], service.limits)
    candidates = _candidates(values.get("candidates"), model)
    rescore = _rescore(values.get("rescore"))
    around = len(gap.left) + len(gap.right) + MARKS
    _check_work(around, candidates, rescore, service)
    found: list[Substitute] = []
    if candidates is None:
        asked = Shortlist(gap, max(count, SHORTLIST) if rescore else count)
        work = Work(model.shortlisting, [asked], [around])
        ((found,),) = await service.computed(request, work)
        candidates = [[one.word] for one in found] if rescore else []
    if candidates:
        # Sentence by sentence, so that others have their turns in between.
        sentences = [gap.filled(candidate) for candidate in candidates]
        costs = [len(sentence) + MARKS for sentence in sentences]
        work = Work(model.scoring["both"], sentences, costs)
        parts = await service.computed(request, work)
        found = ranked(gap, candidates, [scored for part in parts for scored in part])
    return json_answer(
        {
            "object": "list",
            "model": model.name,
            "word": gap.word,
            "data": [asdict(one) for one in found[:count]],
        }
    )


def _gap(text: str | list[str], values: Mapping[str, Any], model: ServedModel) -> Gap:
    try:
        if values.get("position") is None:
            gap = find_gap(text, tokenise=model.tokens)
        else:
            words = model.words(text) if isinstance(text, str) else text
            gap = find_gap((words, position_in(values, words)), tokenise=model.tokens)
    except InputError as error:
        raise problem_of_input(error) from None
    left, right = shortened(gap.left), shortened(gap.right)
    return Gap(tuple(left), tuple(right), gap.word)


def _candidates(value: Any, model: ServedModel) -> list[list[str]] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not 0 < len(value) <= MOST_WORDS:
        raise wrong_field("candidates", f"a list of 1 to {MOST_WORDS} strings")
    check_tokens(value, "candidates")
    if max(map(len, value)) > MOST_CHARACTERS:
        raise wrong_field("candidates", f"words of at most {MOST_CHARACTERS} characters")
    candidates = [model.words(one) for one in value]
    if not all(candidates):
        raise wrong_field("candidates", "strings that hold a word each")
    return [list(one) for one in dict.fromkeys(map(tuple, candidates))]


def _rescore(value: Any) -> bool:
    if not isinstance(value, bool | None):
        raise wrong_field("rescore", "true or false")
    return value is not False


def _check_work(
    around: int, candidates: list[list[str]] | None, rescore: bool, service: Service
) -> None:
    if candidates is not None:
        tokens = sum(around + len(candidate) for candidate in candidates)
    else:
        tokens = SHORTLIST * (around + 1) if rescore else around
    if tokens > service.limits.request_tokens:
        raise RequestError(
            422,
            f"input: {tokens} tokens would be scored, of at most "
            f"{service.limits.request_tokens} in a request; send a shorter sentence",
            param="input",
            code="too_many_tokens",
        )
