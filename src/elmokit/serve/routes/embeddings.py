"""POST /v1/embeddings: a vector for each sentence, as OpenAI's clients ask for it."""

from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
from starlette.requests import Request

from elmokit.serve.answer import Answer, base64_of, number_pieces
from elmokit.serve.embedding import Wanted
from elmokit.serve.fields import (
    FORMATS,
    check_lengths,
    check_names,
    one_of,
    text_inputs,
    tokenised,
)
from elmokit.serve.length_order import SortedSentences
from elmokit.serve.problems import wrong_field
from elmokit.serve.request_body import json_object
from elmokit.serve.service import CHARACTERS_AT_ONCE, NUMBERS_AT_ONCE, Service

FIELDS = ("input", "model", "encoding_format", "dimensions", "user")


async def embeddings(request: Request, service: Service) -> Answer:
    """Give a vector for each sentence, as OpenAI's clients ask for it."""
    values = await json_object(request)
    check_names(values, FIELDS)
    model = service.model(values)
    encoding = one_of(values, "encoding_format", FORMATS)
    if values.get("dimensions") not in (None, model.elmo.dim):
        raise wrong_field("dimensions", f"{model.elmo.dim}, the size of this model's vectors")
    if not isinstance(values.get("user"), str | None):
        raise wrong_field("user", "a string")
    inputs = text_inputs(values["input"], service.limits, lists=False)
    sentences = await service.apart(
        lambda: tokenised(inputs, model, places=False),
        small=sum(map(len, inputs)) < CHARACTERS_AT_ONCE,
    )
    check_lengths(sentences.words, service.limits)
    wanted = Wanted(model.layer_choice("average"), pooled=True)
    ordered = SortedSentences(sentences)
    parts = await service.computed(request, ordered.work(model, wanted))
    vectors = ordered.pooled(parts)
    count = sentences.token_count
    pieces = await service.apart(
        lambda: _pieces(vectors, encoding, model.name, count),
        small=vectors.size < NUMBERS_AT_ONCE,
    )
    return Answer(pieces)


def _pieces(
    vectors: npt.NDArray[np.float32], encoding: str, model: str, tokens: int
) -> list[bytes]:
    pieces = [b'{"object":"list","data":[']
    for index, vector in enumerate(vectors):
        comma = b"," if index else b""
        pieces.append(b'%s{"object":"embedding","index":%d,"embedding":' % (comma, index))
        if encoding == "base64":
            pieces += [b'"', base64_of(vector), b'"}']
        else:
            pieces += [*number_pieces(vector), b"}"]
    rest: dict[str, Any] = {
        "model": model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }
    return [*pieces, b"],", orjson.dumps(rest)[1:]]
