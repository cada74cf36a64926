"""Bodies that are JSON and still not what a route takes: 422, or 404 for names."""

import json
from typing import Any

from integration.serve_load.cases.case import MARKER

M = MARKER
EMBEDDINGS, TOKENS, SCORE = "/v1/embeddings", "/v1/tokens", "/v1/score"
SUBSTITUTES, NEIGHBOURS, TASK = "/v1/substitutes", "/v1/neighbours", "/v1/tasks/ner"
POSTS = (EMBEDDINGS, TOKENS, SCORE, SUBSTITUTES, NEIGHBOURS, TASK)
HUGE = 10**30


def _nested(depth: int) -> Any:
    value: Any = M
    for _ in range(depth):
        value = [value]
    return value


NO_OBJECTS: dict[str, Any] = {
    "null": None,
    "true": True,
    "a number": 1,
    "a huge number": HUGE,
    "a string": M,
    "an empty list": [],
    "a list": [M],
    "a list of objects": [{"input": M}],
    "a list of nothing": [[], {}, None],
}
"""Whole bodies that are no objects, wrong on every route."""

WRONG_INPUTS: dict[str, Any] = {
    "null": None,
    "true": True,
    "zero": 0,
    "a number": 1.5,
    "the largest number": 1.7976931348623157e308,
    "a huge number": HUGE,
    "an empty list": [],
    "a list of null": [None, M],
    "a list of true": [True, M],
    "numbers and strings": [M, 1],
    "token ids": [[464, 1918, 9999999999]],
    "strings and lists": [M, [M]],
    "lists and strings": [[M], M],
    "lists too deep": [[[M]]],
    "lists far too deep": _nested(400),
    "an empty token": [[M, ""]],
    "a token that is null": [[M, None]],
    "a token that is a number": [[M, 1]],
    "an object": {"text": M},
    "objects": [{"text": M}],
    "too many": [M] * 2049,
    "too long": [M + " word" * 3000],
    "too many characters": M + "x" * 70_000,
    "far too many characters": M + "x" * 3_000_000,
}
"""Values of ``input`` that are wrong for /v1/embeddings and, but for its lists, elsewhere."""

WRONG_OF_LISTS = frozenset(
    {"a list of null", "a list of true", "numbers and strings", "token ids", "a token that is null"}
    | {"strings and lists", "lists and strings", "lists too deep", "lists far too deep"}
    | {"an empty token", "a token that is a number", "objects", "too many", "too long"}
)

FIELDS: dict[str, tuple[str, dict[str, Any], int]] = {
    "no field": (EMBEDDINGS, {}, 422),
    "key in capitals": (EMBEDDINGS, {"Input": M}, 422),
    "key with NUL": (EMBEDDINGS, {"input\0": M, "input": "a"}, 422),
    "key that looks alike": (EMBEDDINGS, {"іnput": M}, 422),
    "empty key": (TOKENS, {"": M, "input": "a"}, 422),
    "key of a prototype": (TOKENS, {"__proto__": {"input": M}, "input": "a"}, 422),
    "unknown key": (SCORE, {M: 1, "input": "a"}, 422),
    "long key": (TOKENS, {M * 50_000: 1, "input": "a"}, 422),
    "ten thousand keys": (EMBEDDINGS, {f"{M}{n}": n for n in range(10_000)} | {"input": "a"}, 422),
    "field of another route": (SCORE, {"input": M, "layers": "top"}, 422),
    "model without a name": (EMBEDDINGS, {"input": M, "model": ""}, 404),
    "unknown model": (TOKENS, {"input": "a", "model": M}, 404),
    "model in capitals": (TOKENS, {"input": M, "model": "TINY"}, 404),
    "model that is a path": (SCORE, {"input": "a", "model": f"../../{M}"}, 404),
    "model that is a file": (EMBEDDINGS, {"input": M, "model": "/etc/passwd"}, 404),
    "model with NUL": (EMBEDDINGS, {"input": M, "model": "tiny\0"}, 404),
    "model that is a number": (EMBEDDINGS, {"input": M, "model": 1}, 404),
    "model that is a list": (EMBEDDINGS, {"input": "a", "model": [M]}, 404),
    "model that is an object": (EMBEDDINGS, {"input": "a", "model": {M: M}}, 404),
    "model with a long name": (EMBEDDINGS, {"input": "a", "model": M * 20_000}, 404),
    "format in capitals": (EMBEDDINGS, {"input": M, "encoding_format": "FLOAT"}, 422),
    "format with a space": (TOKENS, {"input": M, "encoding_format": "base64 "}, 422),
    "unknown format": (TOKENS, {"input": "a", "encoding_format": M}, 422),
    "format that is a list": (EMBEDDINGS, {"input": M, "encoding_format": ["float"]}, 422),
    "format that is a number": (EMBEDDINGS, {"input": M, "encoding_format": 0}, 422),
    "no dimensions": (EMBEDDINGS, {"input": M, "dimensions": 0}, 422),
    "negative dimensions": (EMBEDDINGS, {"input": M, "dimensions": -1}, 422),
    "huge dimensions": (EMBEDDINGS, {"input": M, "dimensions": HUGE}, 422),
    "dimensions in words": (EMBEDDINGS, {"input": M, "dimensions": "32"}, 422),
    "dimensions that are a list": (EMBEDDINGS, {"input": M, "dimensions": [32]}, 422),
    "user that is a number": (EMBEDDINGS, {"input": M, "user": 7}, 422),
    "user that is an object": (EMBEDDINGS, {"input": "a", "user": {M: M}}, 422),
    "layers in words": (TOKENS, {"input": "a", "layers": M}, 422),
    "layers that are empty": (TOKENS, {"input": M, "layers": ""}, 422),
    "layer above": (TOKENS, {"input": M, "layers": 3}, 422),
    "layer below": (TOKENS, {"input": M, "layers": -4}, 422),
    "layer between": (TOKENS, {"input": M, "layers": 1.5}, 422),
    "huge layer": (TOKENS, {"input": M, "layers": HUGE}, 422),
    "layer of 64 bits": (TOKENS, {"input": M, "layers": 2**63}, 422),
    "layer that is true": (TOKENS, {"input": M, "layers": True}, 422),
    "layers that are an object": (TOKENS, {"input": M, "layers": {}}, 422),
    "too few weights": (TOKENS, {"input": M, "layers": [1]}, 422),
    "no weights": (TOKENS, {"input": M, "layers": []}, 422),
    "too many weights": (TOKENS, {"input": M, "layers": [1, 2, 3, 4]}, 422),
    "far too many weights": (TOKENS, {"input": M, "layers": [1] * 100_000}, 422),
    "heavy weights": (TOKENS, {"input": M, "layers": [1e300, 1e300, 1e300]}, 422),
    "weights in words": (TOKENS, {"input": "a", "layers": [M, 0, 0]}, 422),
    "weights that are null": (TOKENS, {"input": M, "layers": [None, 0, 0]}, 422),
    "weights that are lists": (TOKENS, {"input": M, "layers": [[1], 0, 0]}, 422),
    "unknown direction": (SCORE, {"input": "a", "direction": M}, 422),
    "direction that is a number": (SCORE, {"input": M, "direction": 1}, 422),
    "direction that is a list": (SCORE, {"input": M, "direction": ["both"]}, 422),
    "no gap": (SUBSTITUTES, {"input": f"{M} sat"}, 422),
    "two gaps": (SUBSTITUTES, {"input": f"{M} ___ ___"}, 422),
    "nothing to fill": (SUBSTITUTES, {"input": "", "user": M}, 422),
    "tokens without a gap": (SUBSTITUTES, {"input": [M, "sat"]}, 422),
    "position below": (SUBSTITUTES, {"input": [M, "sat"], "position": -1}, 422),
    "position above": (SUBSTITUTES, {"input": [M, "sat"], "position": 2}, 422),
    "position between": (SUBSTITUTES, {"input": [M, "sat"], "position": 0.5}, 422),
    "position that is true": (SUBSTITUTES, {"input": [M, "sat"], "position": True}, 422),
    "position in words": (SUBSTITUTES, {"input": [M, "sat"], "position": "0"}, 422),
    "huge position": (SUBSTITUTES, {"input": [M, "sat"], "position": HUGE}, 422),
    "position in nothing": (SUBSTITUTES, {"input": " ", "position": 0, "user": M}, 422),
    "count of none": (SUBSTITUTES, {"input": f"{M} ___", "count": 0}, 422),
    "count below": (SUBSTITUTES, {"input": f"{M} ___", "count": -1}, 422),
    "count above": (SUBSTITUTES, {"input": f"{M} ___", "count": 101}, 422),
    "huge count": (SUBSTITUTES, {"input": f"{M} ___", "count": HUGE}, 422),
    "count between": (SUBSTITUTES, {"input": f"{M} ___", "count": 1.5}, 422),
    "count in words": (SUBSTITUTES, {"input": f"{M} ___", "count": "10"}, 422),
    "count that is true": (SUBSTITUTES, {"input": f"{M} ___", "count": True}, 422),
    "no candidates": (SUBSTITUTES, {"input": f"{M} ___", "candidates": []}, 422),
    "empty candidate": (SUBSTITUTES, {"input": f"{M} ___", "candidates": [""]}, 422),
    "candidate of space": (SUBSTITUTES, {"input": f"{M} ___", "candidates": [" "]}, 422),
    "candidate that is a number": (SUBSTITUTES, {"input": f"{M} ___", "candidates": [1]}, 422),
    "candidates in a string": (SUBSTITUTES, {"input": "a ___", "candidates": M}, 422),
    "too many candidates": (SUBSTITUTES, {"input": "a ___", "candidates": [M] * 101}, 422),
    "long candidate": (SUBSTITUTES, {"input": "a ___", "candidates": [M * 1000]}, 422),
    "rescore in words": (SUBSTITUTES, {"input": f"{M} ___", "rescore": "yes"}, 422),
    "no word marked": (NEIGHBOURS, {"input": f"a {M} in three acts"}, 422),
    "two words marked": (NEIGHBOURS, {"input": f"a *{M}* in *three* acts"}, 422),
    "mark left open": (NEIGHBOURS, {"input": f"a *{M} in three acts"}, 422),
    "marks around nothing": (NEIGHBOURS, {"input": f"a ** {M}"}, 422),
    "marks around space": (NEIGHBOURS, {"input": f"a * * {M}"}, 422),
    "marks alone": (NEIGHBOURS, {"input": "*" * 5000, "user": M}, 422),
    "count of no neighbours": (NEIGHBOURS, {"input": f"a *{M}*", "count": 0}, 422),
    "count of too many neighbours": (NEIGHBOURS, {"input": f"a *{M}*", "count": HUGE}, 422),
    "unknown task": (f"/v1/tasks/{M}", {"input": "a"}, 404),
    "task without a name": ("/v1/tasks/", {"input": M}, 404),
    "task in a folder": ("/v1/tasks/ner/x", {"input": M}, 404),
    "task that is a path": ("/v1/tasks/..%2f..%2fetc", {"input": M}, 404),
    "task with NUL": ("/v1/tasks/ner%00", {"input": M}, 404),
    "task's own field": (TASK, {"input": M, "tokens": [M]}, 422),
    "deep input of a task": (TASK, {"input": _nested(300)}, 422),
    "object for a task": (TASK, {"input": {"tokens": {M: 1}}}, 422),
    "tokens for a task that are numbers": (TASK, {"input": [{"tokens": [M, 1]}]}, 422),
    "long word for a task": (TASK, {"input": M * 1000}, 422),
    "too many inputs for a task": (TASK, {"input": ["a"] * 2049, "user": M}, 422),
}
"""Routes, bodies and statuses, by what is wrong."""


def body_of(value: Any) -> str:
    """Write a body; whole numbers of any size stay whole."""
    return json.dumps(value, ensure_ascii=False)
