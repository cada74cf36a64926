"""POST /v1/score: how likely sentences are, and each of their tokens, in both directions."""

from typing import Any, get_args

from starlette.requests import Request

from elmokit.lm.score import Direction, SentenceScore
from elmokit.serve.answer import Answer, json_answer
from elmokit.serve.fields import (
    Sentences,
    check_lengths,
    check_names,
    one_of,
    text_inputs,
    tokenised,
)
from elmokit.serve.problems import RequestError
from elmokit.serve.request_body import json_object
from elmokit.serve.served_model import ServedModel
from elmokit.serve.service import CHARACTERS_AT_ONCE, Service
from elmokit.serve.work import Work

FIELDS = ("input", "model", "direction")


async def score(request: Request, service: Service) -> Answer:
    """Say how likely sentences are, and each of their tokens, in both directions."""
    values = await json_object(request)
    check_names(values, FIELDS)
    model = service.model(values)
    check_language_model(model)
    direction: Any = one_of(values, "direction", get_args(Direction))
    inputs = text_inputs(values["input"], service.limits, lists=True)
    small = sum(map(len, inputs)) < CHARACTERS_AT_ONCE
    sentences = await service.apart(lambda: tokenised(inputs, model, places=True), small=small)
    check_lengths(sentences.words, service.limits)
    work = Work(model.scoring[direction], sentences.words, sentences.costs)
    parts = await service.computed(request, work)
    scores = [scored for part in parts for scored in part]
    return await service.apart(lambda: _answer(scores, sentences, model.name), small=small)


def check_language_model(model: ServedModel) -> None:
    """Refuse a model that gives no probabilities."""
    if not model.has_language_model:
        raise RequestError(
            422,
            "model: this one gives vectors and no probabilities (language_model in /v1/models)",
            param="model",
            code="no_language_model",
        )


def _answer(scores: list[SentenceScore], sentences: Sentences, model: str) -> Answer:
    data = [_facts(index, scored, sentences) for index, scored in enumerate(scores)]
    usage = {"prompt_tokens": sentences.token_count, "total_tokens": sentences.token_count}
    return json_answer({"object": "list", "model": model, "data": data, "usage": usage})


def _facts(index: int, scored: SentenceScore, sentences: Sentences) -> dict[str, Any]:
    described = sentences.described(index)
    for place, token in enumerate(described):
        token["forward"] = None if scored.forward is None else scored.forward[place]
        token["backward"] = None if scored.backward is None else scored.backward[place]
        token["known"] = not scored.unknown[place]
    return {
        "index": index,
        "tokens": described,
        "forward": scored.forward_log_probability,
        "backward": scored.backward_log_probability,
        "end": {
            "forward": None if scored.forward is None else scored.forward[-1],
            "backward": None if scored.backward is None else scored.backward[-1],
        },
        "log_probability": scored.log_probability,
        "comparable_log_probability": scored.comparable_log_probability,
        "perplexity": scored.perplexity,
    }
