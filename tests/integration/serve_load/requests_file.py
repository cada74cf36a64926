"""Requests with the vectors that their answers must hold, in a file for a load generator."""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from integration.serve_load.exchange import request_bytes

if TYPE_CHECKING:
    from elmokit.embed.elmo import Elmo

EMBEDDINGS, TOKENS = "/v1/embeddings", "/v1/tokens"
# Of so many requests one asks for the vectors of its tokens, which is a large answer.
TOKENS_EVERY = 4
WORDS = [f"{a}{b}{c}" for a in "bdfgklmn" for b in "aeiou" for c in "lnrst"]
"""A closed vocabulary, of which no word is any language's."""


class Request(NamedTuple):
    """A request ready to be sent, and what comes back."""

    data: bytes
    vector: npt.NDArray[np.float32] | None
    """The mean of its tokens' vectors."""
    tokens: int


def made_sentences(count: int, *, words: Sequence[str], seed: int = 0) -> list[str]:
    """Make sentences of 4 to 40 words by chance, each different from all others."""
    chance = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        length = round(min(40, max(4, chance.gauss(20, 9))))
        found[" ".join(chance.choices(words, k=length)) + " ."] = None
    return list(found)


def write_requests(
    file: Path, sentences: Sequence[str], elmo: "Elmo | None", *, tokens_every: int = TOKENS_EVERY
) -> Path:
    """Write a request for each sentence, with what the library answers where it is given."""
    rows = []
    for number, sentence in enumerate(sentences):
        words = len(sentence.split())
        if tokens_every and number % tokens_every == tokens_every - 1:
            rows.append([TOKENS, json.dumps({"input": sentence}), words])
        else:
            body = json.dumps({"input": sentence, "encoding_format": "base64"})
            rows.append([EMBEDDINGS, body, words])
    file.write_text(json.dumps(rows), encoding="utf-8")
    if elmo is not None:
        np.save(file.with_suffix(".npy"), elmo.encode(list(sentences)))
    return file


def read_requests(file: Path, *, key: str | None = None) -> list[Request]:
    """Read what `write_requests` wrote."""
    rows = json.loads(file.read_text(encoding="utf-8"))
    reference = file.with_suffix(".npy")
    vectors = np.load(reference) if reference.exists() else [None] * len(rows)
    requests = []
    for (path, body, tokens), vector in zip(rows, vectors, strict=True):
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        if path == TOKENS:
            headers["Accept"] = "application/octet-stream"
        data = request_bytes("POST", path, body.encode(), headers=headers)
        requests.append(Request(data, vector, tokens))
    return requests
