"""What the routes take and give, as JSON schemas for people, clients and tests to read."""

from typing import Any, get_args

from elmokit.lm.score import Direction
from elmokit.serve.fields import FORMATS
from elmokit.serve.routes.neighbours import MOST_NEIGHBOURS
from elmokit.serve.routes.substitutes import MOST_CHARACTERS, MOST_WORDS
from elmokit.serve.routes.tokens import LARGEST_WEIGHT
from elmokit.serve.service import Service

Schema = dict[str, Any]

STRING: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
NUMBER_OR_NULL: Schema = {"type": ["number", "null"]}
COUNT: Schema = {"type": "integer", "minimum": 0}
BASE64: Schema = {"type": "string", "contentEncoding": "base64"}
LIST: Schema = {"const": "list"}
PLACE: Schema = {"type": ["integer", "null"], "minimum": 0}
ERROR: Schema = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "message": STRING,
                "type": STRING,
                "param": {"type": ["string", "null"]},
                "code": {"type": ["string", "null"]},
            },
            "required": ["message", "type", "param", "code"],
        }
    },
    "required": ["error"],
}


def record(properties: dict[str, Schema], *, optional: tuple[str, ...] = ()) -> Schema:
    """Describe an object that has these fields and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def array(items: Schema, **bounds: int) -> Schema:
    """Describe a list."""
    return {"type": "array", "items": items, **bounds}


def either(*schemas: Schema) -> Schema:
    """Describe a choice."""
    return {"anyOf": list(schemas)}


def choice(*values: Any) -> Schema:
    """Describe one of some values, or null for the first."""
    return {"enum": [*values, None]}


USAGE = record({"prompt_tokens": COUNT, "total_tokens": COUNT})
MODEL = record(
    {
        "id": STRING,
        "object": {"const": "model"},
        "created": COUNT,
        "owned_by": STRING,
        "dim": COUNT,
        "layers": COUNT,
        "language_model": {"type": "boolean"},
    }
)
MODELS = record({"object": LIST, "data": array(MODEL)})
STATUS = record({"status": STRING})
CAPABILITIES = record(
    {
        "model": STRING,
        "neighbours": {"type": "boolean"},
        "tasks": array(STRING),
        "limits": {"type": "object", "additionalProperties": COUNT},
        "version": STRING,
    }
)
EMBEDDINGS = record(
    {
        "object": LIST,
        "data": array(
            record(
                {
                    "object": {"const": "embedding"},
                    "index": COUNT,
                    "embedding": either(array(NUMBER), BASE64),
                }
            )
        ),
        "model": STRING,
        "usage": USAGE,
    }
)
TOKENS = record(
    {
        "object": LIST,
        "model": STRING,
        "data": array(
            record(
                {
                    "index": COUNT,
                    "tokens": array(record({"text": STRING, "start": PLACE, "end": PLACE})),
                    "shape": array(COUNT, minItems=2, maxItems=3),
                    "vectors": either(array(array(either(NUMBER, array(NUMBER)))), BASE64),
                }
            )
        ),
        "usage": USAGE,
    }
)
DIRECTIONS = {"forward": NUMBER_OR_NULL, "backward": NUMBER_OR_NULL}
SCORES = record(
    {
        "object": LIST,
        "model": STRING,
        "data": array(
            record(
                {
                    "index": COUNT,
                    "tokens": array(
                        record(
                            {
                                "text": STRING,
                                "start": PLACE,
                                "end": PLACE,
                                **DIRECTIONS,
                                "known": {"type": "boolean"},
                            }
                        )
                    ),
                    **DIRECTIONS,
                    "end": record(DIRECTIONS),
                    "log_probability": NUMBER,
                    "comparable_log_probability": NUMBER,
                    "perplexity": NUMBER_OR_NULL,
                }
            )
        ),
        "usage": USAGE,
    }
)
SUBSTITUTES = record(
    {
        "object": LIST,
        "model": STRING,
        "word": {"type": ["string", "null"]},
        "data": array(
            record(
                {
                    "word": STRING,
                    "probability": NUMBER,
                    "forward_log_probability": NUMBER,
                    "backward_log_probability": NUMBER,
                    "log_probability": NUMBER_OR_NULL,
                    "unknown": {"type": "boolean"},
                }
            )
        ),
    }
)
NEIGHBOURS = record(
    {
        "object": LIST,
        "model": STRING,
        "word": STRING,
        "data": array(
            record(
                {
                    "word": STRING,
                    "similarity": NUMBER,
                    "sentence": array(STRING),
                    "position": COUNT,
                    "text": STRING,
                    "start": COUNT,
                    "end": COUNT,
                    "row": COUNT,
                }
            )
        ),
    }
)
ANSWERS = record({"object": LIST, "task": STRING, "data": array({})})


class RequestSchemas:
    """The bodies that a server takes; they speak of its models and limits."""

    def __init__(self, service: Service) -> None:
        limits = service.limits
        models = service.models.values()
        depth = max(model.elmo.layer_count for model in models)
        raw: Schema = {"type": "string", "maxLength": limits.sentence_characters}
        token: Schema = {"type": "string", "minLength": 1}
        several = {"minItems": 1, "maxItems": limits.inputs}
        text = either(raw, array(raw, **several))
        tokens = array(token, maxItems=limits.sentence_tokens)
        sentences = either(raw, array(raw, **several), array(tokens, **several))
        model = choice(*service.models)
        weight = {"type": "number", "minimum": -LARGEST_WEIGHT, "maximum": LARGEST_WEIGHT}
        dims = sorted({one.elmo.dim for one in models})
        self.embeddings = record(
            {
                "input": text,
                "model": model,
                "encoding_format": choice(*FORMATS),
                "dimensions": choice(*dims),
                "user": {"type": ["string", "null"]},
            },
            optional=("model", "encoding_format", "dimensions", "user"),
        )
        self.tokens = record(
            {
                "input": sentences,
                "model": model,
                "layers": either(
                    choice("average", "top", "all"),
                    {"type": "integer", "minimum": -depth, "maximum": depth - 1},
                    array(weight, minItems=depth, maxItems=depth),
                ),
                "encoding_format": choice(*FORMATS),
            },
            optional=("model", "layers", "encoding_format"),
        )
        self.score = record(
            {"input": sentences, "model": model, "direction": choice(*get_args(Direction))},
            optional=("model", "direction"),
        )
        word = {**token, "maxLength": MOST_CHARACTERS}
        self.substitutes = record(
            {
                "input": either(raw, array(token, minItems=1, maxItems=limits.sentence_tokens)),
                "model": model,
                "position": PLACE,
                "count": _count(MOST_WORDS),
                "rescore": {"type": ["boolean", "null"]},
                "candidates": {
                    **array(word, minItems=1, maxItems=MOST_WORDS),
                    "type": ["array", "null"],
                },
            },
            optional=("model", "position", "count", "candidates", "rescore"),
        )
        named = () if service.searching is None else (service.searching.model,)
        self.neighbours = record(
            {
                "input": either(raw, array(token, minItems=1, maxItems=limits.sentence_tokens)),
                "model": choice(*named),
                "position": PLACE,
                "count": _count(MOST_NEIGHBOURS),
            },
            optional=("model", "position", "count"),
        )
        one: Schema = {"type": ["string", "object"]}
        self.task = record(
            {"input": either(one, array({"type": ["string", "object", "array"]}, **several))}
        )


def _count(most: int) -> Schema:
    return {"type": ["integer", "null"], "minimum": 1, "maximum": most}
