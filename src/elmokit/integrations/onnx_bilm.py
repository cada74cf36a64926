"""A biLM as ONNX nodes: token encoder, marks, projected LSTMs in both directions.

ONNX's own LSTM has neither a projection nor a limit for the cell, so a layer is a `Scan`: its two
directions step side by side, the backward one over sentences that are reversed within their
length. What stands past the end of a sentence is computed and never read.

B sentences, T tokens, S = T + 2 with marks, N tokens of all sentences, U distinct ones, C
characters, E character embedding, P size of a direction, H cell, L LSTM layers
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from elmokit.config import CharacterConfig, ModelConfig
from elmokit.integrations.onnx_graph import Array, Graph, load_onnx

DIRECTIONS = ("forward", "backward")
Tensors = Mapping[str, Array]


def token_vectors(
    graph: Graph,
    config: ModelConfig,
    tensors: Tensors,
    *,
    characters: str | None,
    words: str | None,
    character_padding: int | None,
) -> str:
    """Give the vectors (B, T, P) of ids counted from 1, where 0 is padding.

    ``characters`` (B, T, C) and ``words`` (B, T) are the names of the inputs that the model has;
    ``character_padding`` is the id that fills a word's row.
    """
    if config.characters is None:
        assert words is not None
        return _project(graph, config, tensors, _look_up_words(graph, tensors, words))
    assert characters is not None
    assert character_padding is not None
    # Each distinct token is encoded once. Padding is one of them, so there is always one.
    width = config.characters.max_characters
    keys = graph.add("Reshape", characters, graph.integers(-1, width))  # (N, C)
    if words is not None:
        keys = graph.add(
            "Concat", keys, graph.add("Reshape", words, graph.integers(-1, 1)), axis=1
        )  # (N, C + 1)
    columns = width + (words is not None)
    nothing = graph.constant(np.zeros((1, columns), dtype=np.int64))
    keys = graph.add("Concat", nothing, keys, axis=0)
    distinct, _, numbers = graph.add_many("Unique", [keys], 3, axis=0)  # (U, C), .., (N + 1,)
    features = []
    if words is not None:
        last = graph.add("Gather", distinct, graph.constant(np.int64(width)), axis=1)  # (U,)
        features.append(_look_up_words(graph, tensors, last))
        distinct = _cut(graph, distinct, graph.integers(width), axis=1)
    features.append(
        _character_features(graph, config.characters, tensors, distinct, character_padding)
    )
    joined = features[0] if len(features) == 1 else graph.add("Concat", *features, axis=1)
    vectors = _project(graph, config, tensors, joined)  # (U, P)
    rows = graph.add("Slice", numbers, graph.integers(1), graph.integers(np.iinfo(np.int64).max))
    shape = graph.add(
        "Concat", graph.sizes(characters, 0, 1), graph.integers(config.projection_dim), axis=0
    )
    return graph.add("Reshape", graph.add("Gather", vectors, rows), shape, allowzero=1)


def _look_up_words(graph: Graph, tensors: Tensors, ids: str) -> str:
    table = _with_padding(tensors["token_encoder.words.weight"])
    return graph.add("Gather", graph.constant(table, "word_embedding"), ids)


def _with_padding(table: Array) -> Array:
    """Put a row for padding in front, so that ids are counted from 1."""
    return np.concatenate([np.zeros_like(table[:1]), table])


def _project(graph: Graph, config: ModelConfig, tensors: Tensors, features: str) -> str:
    if not config.token_projection:
        return features
    weight = tensors["token_encoder.projection.weight"].T
    product = graph.add("MatMul", features, graph.constant(weight, "token_projection.weight"))
    bias = tensors["token_encoder.projection.bias"]
    return graph.add("Add", product, graph.constant(bias, "token_projection.bias"))


def _character_features(
    graph: Graph, config: CharacterConfig, tensors: Tensors, ids: str, padding: int
) -> str:
    """From character ids (U, C) to the features of words (U, filters)."""
    prefix = "token_encoder.characters"
    widest = max(width for width, _ in config.filters)
    ids = _cut(graph, ids, _used_characters(graph, ids, config.max_characters, widest, padding), 1)
    table = _with_padding(tensors[f"{prefix}.embedding.weight"])
    embedded = graph.add("Gather", graph.constant(table, "character_embedding"), ids)
    embedded = graph.add("Transpose", embedded, perm=[0, 2, 1])  # (U, E, C)
    pooled = []
    for index in range(len(config.filters)):
        name = f"convolutions.{index}"
        convolved = graph.add(
            "Conv",
            embedded,
            graph.constant(tensors[f"{prefix}.{name}.weight"], f"{name}.weight"),
            graph.constant(tensors[f"{prefix}.{name}.bias"], f"{name}.bias"),
        )  # (U, filters of this width, positions)
        pooled.append(graph.add("ReduceMax", convolved, axes=[2], keepdims=0))
    features = pooled[0] if len(pooled) == 1 else graph.add("Concat", *pooled, axis=1)
    features = graph.add({"relu": "Relu", "tanh": "Tanh"}[config.activation], features)
    for index in range(config.highway_layers):
        features = _highway(graph, tensors, features, f"{prefix}.highway.{index}", index)
    return features


def _used_characters(graph: Graph, ids: str, width: int, widest: int, padding: int) -> str:
    """Say how much of the rows (U, C) matters: the longest spelling and one window of padding.

    All windows in the padding are equal, so one of them stands for all.
    """
    spelled = graph.add(
        "And",
        graph.add("Not", graph.add("Equal", ids, graph.constant(np.int64(padding)))),
        graph.add("Greater", ids, graph.constant(np.int64(0))),
    )
    places = graph.constant(np.arange(1, width + 1, dtype=np.int64))
    reached = graph.add("Mul", graph.add("Cast", spelled, to=_type("INT64")), places)
    longest = graph.add("ReduceMax", reached, keepdims=0)
    wanted = graph.add("Add", longest, graph.constant(np.int64(widest)))
    used = graph.add("Min", wanted, graph.constant(np.int64(width)))
    return graph.add("Reshape", used, graph.integers(1))


def _highway(graph: Graph, tensors: Tensors, features: str, source: str, index: int) -> str:
    def linear(part: str) -> str:
        weight = graph.constant(
            tensors[f"{source}.{part}.weight"], f"highway.{index}.{part}.weight"
        )
        bias = graph.constant(tensors[f"{source}.{part}.bias"], f"highway.{index}.{part}.bias")
        return graph.add("Gemm", features, weight, bias, transB=1)

    gate = graph.add("Sigmoid", linear("gate"))
    transformed = graph.add("Relu", linear("transform"))
    # g * t + (1 - g) * x
    moved = graph.add("Mul", gate, graph.add("Sub", transformed, features))
    return graph.add("Add", features, moved)


def marked(
    graph: Graph, vectors: str, lengths: str, *, begin: Array, end: Array
) -> tuple[str, str]:
    """Put the marks' vectors (P,) around sentences (B, T, P) of some lengths (B,).

    Gives (S, B, P), zero past the end, and the lengths with marks (B,).
    """
    rows = graph.add("Concat", graph.sizes(vectors, 0), graph.integers(1, len(begin)), axis=0)
    first = graph.add("Expand", graph.constant(begin[None, None], "begin_mark"), rows)
    room = graph.add("Expand", graph.constant(np.zeros_like(end)[None, None]), rows)
    longer = graph.add("Concat", first, vectors, room, axis=1)  # (B, S, P)
    steps = graph.add("Squeeze", graph.sizes(longer, 1), graph.integers(0))
    zero, one = graph.constant(np.int64(0)), graph.constant(np.int64(1))
    places = graph.add("Range", zero, steps, one)  # (S,)
    last = graph.add("Unsqueeze", graph.add("Add", lengths, one), graph.integers(1))  # (B, 1)
    at_end = graph.add("Unsqueeze", graph.add("Equal", places, last), graph.integers(2))
    past_end = graph.add("Unsqueeze", graph.add("Greater", places, last), graph.integers(2))
    ended = graph.add("Where", at_end, graph.constant(end, "end_mark"), longer)
    clean = graph.add("Where", past_end, graph.constant(np.float32(0)), ended)
    return (
        graph.add("Transpose", clean, perm=[1, 0, 2]),
        graph.add("Add", lengths, graph.constant(np.int64(2))),
    )


def lstm_layers(
    graph: Graph,
    config: ModelConfig,
    tensors: Tensors,
    inputs: str,
    lengths: str,
    *,
    start: Mapping[str, tuple[Array, Array]],
    depth: int,
) -> list[str]:
    """Run ``depth`` layers over (S, B, P) and give each one's outputs (S, B, 2P).

    ``start`` has for each direction the cell (L, H) and the hidden (L, P) of the first step.
    """
    batch = graph.sizes(inputs, 1)
    streams = [inputs, _reversed(graph, inputs, lengths)]
    outputs = []
    for layer in range(depth):
        gates, states = [], []
        for direction, stream in zip(DIRECTIONS, streams, strict=True):
            prefix = f"{direction}_lstm.layers.{layer}"
            bias = tensors[f"{prefix}.bias"].copy()
            bias[config.lstm_dim : 2 * config.lstm_dim] += np.float32(config.forget_bias)
            weight = graph.constant(tensors[f"{prefix}.input_weight"].T, f"{prefix}.input_weight")
            product = graph.add("MatMul", stream, weight)
            gates.append(graph.add("Add", product, graph.constant(bias, f"{prefix}.bias")))
            for part in start[direction]:
                row = part[layer][None]  # (1, H) or (1, P)
                size = graph.add("Concat", batch, graph.integers(row.shape[1]), axis=0)
                states.append(graph.add("Expand", graph.constant(row), size))
        body = _step(graph, config, tensors, layer)
        found = graph.add_many(
            "Scan", [*states, *gates], len(states) + len(gates), body=body, num_scan_inputs=2
        )
        streams = [
            graph.add("Add", output, stream) if layer > 0 and config.skip_connections else output
            for output, stream in zip(found[len(states) :], streams, strict=True)
        ]
        outputs.append(
            graph.add("Concat", streams[0], _reversed(graph, streams[1], lengths), axis=2)
        )
    return outputs


def _step(graph: Graph, config: ModelConfig, tensors: Tensors, layer: int) -> Any:
    """One step of both directions: the body of a layer's loop.

    In: cell (B, H) and hidden (B, P) of each direction, then the input's part of the gates
    (B, 4H) of each. Out: the states in the same order, then each direction's output (B, P).
    """
    onnx = load_onnx()
    body = Graph(graph)
    states_in = [body.new_name(part) for _ in DIRECTIONS for part in ("cell", "hidden")]
    gates_in = [body.new_name("gates") for _ in DIRECTIONS]
    states_out, outputs = [], []
    for number, direction in enumerate(DIRECTIONS):
        prefix = f"{direction}_lstm.layers.{layer}"
        cell, hidden = states_in[2 * number : 2 * number + 2]
        weight = body.constant(
            tensors[f"{prefix}.recurrent_weight"].T, f"{prefix}.recurrent_weight"
        )
        summed = body.add("Gemm", hidden, weight, gates_in[number])  # (B, 4H)
        enter, forget, candidate, leave = body.add_many("Split", [summed], 4, axis=1)
        kept = body.add("Mul", body.add("Sigmoid", forget), cell)
        new = body.add("Mul", body.add("Sigmoid", enter), body.add("Tanh", candidate))
        cell = _clipped(body, body.add("Add", kept, new), config.cell_clip)
        hidden = body.add("Mul", body.add("Sigmoid", leave), body.add("Tanh", cell))
        if config.lstm_projection:
            projection = body.constant(
                tensors[f"{prefix}.projection_weight"].T, f"{prefix}.projection_weight"
            )
            hidden = _clipped(body, body.add("MatMul", hidden, projection), config.projection_clip)
        states_out += [cell, hidden]
        outputs.append(body.add("Identity", hidden))
    sizes = [config.lstm_dim, config.projection_dim] * 2

    def value(name: str, size: int) -> Any:
        return onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [None, size])

    return onnx.helper.make_graph(
        body.nodes,
        f"step_of_layer_{layer + 1}",
        [value(name, size) for name, size in zip(states_in, sizes, strict=True)]
        + [value(name, 4 * config.lstm_dim) for name in gates_in],
        [value(name, size) for name, size in zip(states_out, sizes, strict=True)]
        + [value(name, config.projection_dim) for name in outputs],
    )


def _clipped(graph: Graph, value: str, limit: float | None) -> str:
    if limit is None:
        return value
    low, high = np.float32(-limit), np.float32(limit)
    return graph.add("Clip", value, graph.constant(low), graph.constant(high))


def _reversed(graph: Graph, value: str, lengths: str) -> str:
    """Reverse (S, B, P) in time, each sentence within its length."""
    return graph.add("ReverseSequence", value, lengths, batch_axis=1, time_axis=0)


def _cut(graph: Graph, value: str, end: str, axis: int) -> str:
    """Keep what stands before ``end`` along an axis."""
    return graph.add("Slice", value, graph.integers(0), end, graph.integers(axis))


def _type(name: str) -> int:
    return int(getattr(load_onnx().TensorProto, name))


def weighted(graph: Graph, layers: Sequence[str], weights: Sequence[float]) -> str:
    """Sum layers by weights."""
    parts = [
        graph.add("Mul", layer, graph.constant(np.float32(weight)))
        for layer, weight in zip(layers, weights, strict=True)
    ]
    return parts[0] if len(parts) == 1 else graph.add("Sum", *parts)
