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
    vectors: npt.NDArray[np.float32] | None
    """For each of its sentences, the mean of its tokens' vectors."""
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
    file: Path,
    sentences: Sequence[str],
    elmo: "Elmo | None",
    *,
    tokens_every: int = TOKENS_EVERY,
    together: int = 1,
) -> Path:
    """Write requests for ``together`` sentences each, with what the library answers.

    One of ``tokens_every`` asks for the vectors of tokens; 0: none.
    """
    rows = []
    for first in range(0, len(sentences), together):
        part = list(sentences[first : first + together])
        number = first // together
        if tokens_every and number % tokens_every == tokens_every - 1:
            path, more = TOKENS, {}
        else:
            path, more = EMBEDDINGS, {"encoding_format": "base64"}
        words = sum(len(sentence.split()) for sentence in part)
        rows.append([path, json.dumps({"input": part, **more}), len(part), words])
    file.write_text(json.dumps(rows), encoding="utf-8")
    if elmo is not None:
        np.save(file.with_suffix(".npy"), elmo.encode(list(sentences)))
    return file


def read_requests(file: Path, *, key: str | None = None) -> list[Request]:
    """Read what `write_requests` wrote."""
    reference = file.with_suffix(".npy")
    vectors = np.load(reference) if reference.exists() else None
    requests = []
    end = 0
    for path, body, count, tokens in json.loads(file.read_text(encoding="utf-8")):
        first, end = end, end + count
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        if path == TOKENS:
            headers["Accept"] = "application/octet-stream"
        data = request_bytes("POST", path, body.encode(), headers=headers)
        expected = None if vectors is None else vectors[first:end]
        requests.append(Request(data, expected, tokens))
    return requests
