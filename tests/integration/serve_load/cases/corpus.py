"""The whole corpus, as one table."""

import json

from integration.serve_load.cases.broken_json import BROKEN
from integration.serve_load.cases.case import Case, post, raw
from integration.serve_load.cases.framing import FRAMING
from integration.serve_load.cases.headers import HEADERS, TYPED
from integration.serve_load.cases.paths import PATHS
from integration.serve_load.cases.unusual_text import UNUSUAL
from integration.serve_load.cases.wrong_fields import (
    EMBEDDINGS,
    FIELDS,
    NEIGHBOURS,
    NO_OBJECTS,
    POSTS,
    SCORE,
    SUBSTITUTES,
    TASK,
    TOKENS,
    WRONG_INPUTS,
    WRONG_OF_LISTS,
    body_of,
)

# Nothing but length is unusual about them; one route shows it.
LONG = ("a thousand words", "a thousand stops", "a thousand quotes")


def corpus() -> list[Case]:
    """Give every case once."""
    cases = (
        [raw(f"broken: {name}", post(body), right=400) for name, body in BROKEN.items()]
        + [
            raw(f"no object: {name}", post(body_of(value)), right=422)
            for name, value in NO_OBJECTS.items()
        ]
        + [
            raw(f"input: {name}", post(body_of({"input": value})), right=422)
            for name, value in WRONG_INPUTS.items()
        ]
        + [
            raw(f"field: {name}", post(body_of(value), path=path), right=status)
            for name, (path, value, status) in FIELDS.items()
        ]
        + [
            raw(f"text: {name}", post(body_of({"input": text}), path=TOKENS), right=200)
            for name, text in UNUSUAL.items()
        ]
    )
    return [*cases, *TYPED, *HEADERS, *PATHS, *FRAMING]


def corpus_of_other_routes() -> list[Case]:
    """Give the bodies of the corpus again, for the routes that it does not send them to."""
    cases = []
    for path in POSTS:
        if path == EMBEDDINGS:
            continue
        for name, body in BROKEN.items():
            cases.append(raw(f"{path} broken: {name}", post(body, path=path), right=400))
        for name, value in NO_OBJECTS.items():
            cases.append(
                raw(f"{path} no object: {name}", post(body_of(value), path=path), right=422)
            )
        for name, value in WRONG_INPUTS.items():
            # Tasks take lists of many shapes, and say in their own words which.
            if path != TASK or name not in WRONG_OF_LISTS:
                body = post(body_of({"input": value}), path=path)
                cases.append(raw(f"{path} input: {name}", body, right=422))
    for name, text in UNUSUAL.items():
        if name in LONG:
            continue
        for path, written in (
            (EMBEDDINGS, text),
            (SCORE, text),
            (SUBSTITUTES, f"{text} ___"),
            (NEIGHBOURS, f"{text} *word*"),
            (TASK, text),
        ):
            # Some texts are too long for a task, or have asterisks of their own.
            right = (200,) if path in (EMBEDDINGS, SCORE) else (200, 422)
            body = post(json.dumps({"input": written}), path=path)  # escaped, unlike the corpus
            cases.append(raw(f"{path} text: {name}", body, right=right))
    return cases
