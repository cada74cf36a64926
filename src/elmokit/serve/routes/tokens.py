"""POST /v1/tokens: a vector for each token, in the layers that are asked for."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
from starlette.requests import Request

from elmokit.embed.layer_choice import LayerChoice
from elmokit.errors import InputError
from elmokit.serve.answer import BYTES, Answer, base64_of, npy_pieces, number_pieces
from elmokit.serve.embedding import Wanted
from elmokit.serve.fields import (
    FORMATS,
    Sentences,
    check_lengths,
    check_names,
    one_of,
    text_inputs,
    tokenised,
)
from elmokit.serve.length_order import SortedSentences
from elmokit.serve.limits import Limits
from elmokit.serve.problems import RequestError, problem_of_input
from elmokit.serve.request_body import json_object
from elmokit.serve.served_model import ServedModel
from elmokit.serve.service import CHARACTERS_AT_ONCE, NUMBERS_AT_ONCE, Service

FIELDS = ("input", "model", "layers", "encoding_format")
# Beyond any use, and far from where vectors become infinite.
LARGEST_WEIGHT = 1e6
# Bytes that a number takes in an answer, about.
BYTES_OF_NUMBER = {"float": 12.0, "base64": 16 / 3, "npy": 4.0}


async def tokens(request: Request, service: Service) -> Answer:
    """Give a vector for each token, in the layers that are asked for; as bytes, a .npy file."""
    values = await json_object(request)
    check_names(values, FIELDS)
    model = service.model(values)
    encoding = one_of(values, "encoding_format", FORMATS)
    if _wants_bytes(request.headers.get("accept", "")):
        encoding = "npy"
    choice = _layer_choice(values.get("layers"), model)
    inputs = text_inputs(values["input"], service.limits, lists=True)
    sentences = await service.apart(
        lambda: tokenised(inputs, model, places=encoding != "npy"),
        small=sum(map(len, inputs)) < CHARACTERS_AT_ONCE,
    )
    check_lengths(sentences.words, service.limits)
    _check_answer(choice, sentences.token_count, encoding, service.limits)
    ordered = SortedSentences(sentences)
    parts = await service.computed(request, ordered.work(model, Wanted(choice)))
    small = sum(part.size for part in parts) < NUMBERS_AT_ONCE
    if encoding == "npy":
        return Answer(
            await service.apart(
                lambda: npy_pieces(np.concatenate(ordered.rows(parts), axis=-2)), small=small
            ),
            media_type=BYTES,
            headers={"X-Token-Counts": ",".join(str(len(words)) for words in sentences.words)},
        )
    return Answer(
        await service.apart(
            lambda: _pieces(ordered.rows(parts), sentences, encoding, model.name), small=small
        )
    )


def _pieces(
    rows: Sequence[npt.NDArray[np.float32]], sentences: Sentences, encoding: str, model: str
) -> list[bytes]:
    pieces = [b'{"object":"list","model":', orjson.dumps(model), b',"data":[']
    for index, part in enumerate(rows):
        facts = {"index": index, "tokens": sentences.described(index), "shape": part.shape}
        pieces += [b"," if index else b"", orjson.dumps(facts)[:-1], b',"vectors":']
        if encoding == "base64":
            pieces += [b'"', base64_of(part), b'"}']
        else:
            pieces += [*number_pieces(part), b"}"]
    usage = {"prompt_tokens": sentences.token_count, "total_tokens": sentences.token_count}
    return [*pieces, b'],"usage":', orjson.dumps(usage), b"}"]


def _layer_choice(value: Any, model: ServedModel) -> LayerChoice:
    if value is None:
        value = "average"
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # which JSON does not tell apart
    if isinstance(value, list):
        plain = len(value) == model.elmo.layer_count and all(map(_is_weight, value))
        value = tuple(value)
    else:
        plain = isinstance(value, str | int) and not isinstance(value, bool)
    if not plain:
        value = ""  # which is no choice: the library says what is
    try:
        return model.layer_choice(value)
    except InputError as error:
        raise problem_of_input(error, param="layers") from None


def _is_weight(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and abs(value) <= LARGEST_WEIGHT


def _wants_bytes(accept: str) -> bool:
    return any(one.partition(";")[0].strip().lower() == BYTES for one in accept.split(","))


def _check_answer(choice: LayerChoice, count: int, encoding: str, limits: Limits) -> None:
    size = int(np.prod(choice.shape(count)) * BYTES_OF_NUMBER[encoding])
    if size > limits.answer_bytes:
        raise RequestError(
            422,
            f"input: the answer would have about {size} bytes, of at most {limits.answer_bytes}; "
            "send fewer sentences, ask for fewer layers, or for bytes (Accept: "
            "application/octet-stream)",
            param="input",
            code="answer_too_large",
        )
