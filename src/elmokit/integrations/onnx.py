"""A model as one ONNX file, for programs without torch and without elmokit.

    export_onnx(elmokit.load(), "elmo.onnx")

`onnx_bilm` has the graph. Inputs are ids counted from 1 (0: padding) and lengths, without the
sentence marks, which are inside; docs/onnx.md says how to make them, and the file's metadata has
what that takes.

B sentences, T tokens of the longest, C characters, L LSTM layers, D size of a representation
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from elmokit.embed.elmo import Elmo
from elmokit.embed.layer_choice import LayerChoice, Layers
from elmokit.errors import InputError
from elmokit.files import check_parent, exists_error, replacing_file
from elmokit.integrations.onnx_bilm import DIRECTIONS, lstm_layers, marked, token_vectors, weighted
from elmokit.integrations.onnx_graph import Array, Graph, load_onnx
from elmokit.text.chars import PADDING, DictionaryAlphabet
from elmokit.version import __version__

# What onnxruntime 1.12 (2022) and all later ones read.
OPSET = 17
IR_VERSION = 8
# Protocol buffers end at 2 GB; larger models have their weights in a file beside.
MOST_BYTES_INSIDE = 1_900_000_000
SUFFIX = ".onnx"
DATA_ALIGNMENT = 4096


@dataclass(frozen=True)
class OnnxSummary:
    """What was written."""

    output: str
    data: str | None
    """The file with the weights, where they are too large for one file."""
    bytes: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    opset: int


def export_onnx(
    elmo: Elmo, output: str | Path, *, layers: Layers = "average", overwrite: bool = False
) -> OnnxSummary:
    """Write a model as ONNX; it computes what ``elmo.embed(sentences, layers=layers)`` gives.

    The output is ``vectors`` (B, T, D), or ``layers`` (B, L+1, T, D) for ``layers="all"``; padding
    is zero. Every sentence begins from the model's start state, ``"warm"`` or ``"zeros"``.
    """
    onnx = load_onnx()
    output = Path(output)
    data = output.with_name(f"{output.name}.data")
    _check(elmo, output, data, overwrite=overwrite)
    choice = LayerChoice(layers, count=elmo.layer_count, dim=elmo.dim)
    graph, inputs, outputs = _graph(elmo, choice)
    size = sum(array.nbytes for array in graph.constants.values())
    apart = size > MOST_BYTES_INSIDE
    tensors = _tensors_apart(graph, data) if apart else _tensors_inside(graph)
    model = onnx.helper.make_model(
        onnx.helper.make_graph(graph.nodes, "bilm", inputs, outputs, tensors),
        producer_name="elmokit",
        producer_version=__version__,
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )
    onnx.helper.set_model_props(model, metadata(elmo, layers))
    with replacing_file(output) as partial:
        partial.write_bytes(model.SerializeToString())
        # By its path, so that weights beside it are looked at too.
        onnx.checker.check_model(str(partial), full_check=True)
    return OnnxSummary(
        output=str(output),
        data=str(data) if apart else None,
        bytes=size,
        inputs=tuple(value.name for value in inputs),
        outputs=tuple(value.name for value in outputs),
        opset=OPSET,
    )


def metadata(elmo: Elmo, layers: Layers) -> dict[str, str]:
    """Say what it takes to use the file: how tokens become ids, and what comes out."""
    config = elmo.config
    facts: dict[str, Any] = {
        **{f"about_{key}": value for key, value in elmo.metadata.items()},
        "elmokit_version": __version__,
        "layers": layers if isinstance(layers, str | int) else [float(weight) for weight in layers],
        "layer_count": elmo.layer_count,
        "dim": elmo.dim,
        "start": elmo.start,
        "tokeniser": config.tokeniser,
    }
    if config.characters is not None:
        facts["alphabet"] = config.characters.alphabet
        facts["max_characters"] = config.characters.max_characters
        if elmo.characters is not None:
            facts["characters"] = elmo.characters
    if config.words is not None and elmo.vocabulary is not None:
        facts["vocabulary"] = elmo.vocabulary.words
        facts["unknown_word"] = config.marks.unknown
        facts["longest_word"] = config.words.longest_word
    return {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for key, value in facts.items()
    }


def _check(elmo: Elmo, output: Path, data: Path, *, overwrite: bool) -> None:
    if not isinstance(elmo, Elmo):
        raise InputError(f"elmo: expected what elmokit.load gives, found {elmo!r}")
    if elmo.start == "carry":
        raise InputError(
            "elmo: an ONNX file carries no state from call to call; load the model with "
            "start='warm' or 'zeros', found start='carry'"
        )
    if output.suffix != SUFFIX:
        raise InputError(f"output: expected a name that ends in {SUFFIX}, found {output}")
    check_parent(output)
    for file in (output, data):
        if file.exists() and not overwrite:
            raise exists_error(file)


def _graph(elmo: Elmo, choice: LayerChoice) -> tuple[Graph, list[Any], list[Any]]:
    """Give the nodes, the inputs and the outputs."""
    onnx = load_onnx()
    graph, config = Graph(), elmo.config
    tensors = {
        name: tensor.detach().to("cpu", torch.float32).numpy()
        for name, tensor in elmo.bilm.state_dict().items()
    }

    def value(name: str, shape: Sequence[str | int], *, of: int = onnx.TensorProto.INT64) -> Any:
        return onnx.helper.make_tensor_value_info(name, of, list(shape))

    inputs = [value("lengths", ["batch"])]
    if config.words is not None:
        inputs.insert(0, value("word_ids", ["batch", "length"]))
    if config.characters is not None:
        width = config.characters.max_characters
        inputs.insert(0, value("character_ids", ["batch", "length", width]))
    vectors = token_vectors(
        graph,
        config,
        tensors,
        characters=None if config.characters is None else "character_ids",
        words=None if config.words is None else "word_ids",
        character_padding=_character_padding(elmo),
    )
    marks = elmo.runner.word_vectors.compute([config.marks.begin, config.marks.end])
    begin, end = marks.to("cpu", torch.float32).numpy()
    first, lengths = marked(graph, vectors, "lengths", begin=begin, end=end)
    # What the choice makes of one-hot layers are the weights of the layers.
    weights = choice.pick(list(torch.eye(elmo.layer_count, dtype=torch.float64)[:, None])).numpy()
    every = weights.ndim == 3
    depth = elmo.layer_count - 1 if every else int(np.flatnonzero(weights[0])[-1:].sum())
    contextual = lstm_layers(
        graph, config, tensors, first, lengths, start=_start(elmo), depth=depth
    )
    layers = [graph.add("Concat", first, first, axis=2), *contextual]
    if every:
        graph.name(_without_marks(graph, layers, "lengths"), "layers")
        shape: list[str | int] = ["batch", elmo.layer_count, "length", elmo.dim]
        return graph, inputs, [value("layers", shape, of=onnx.TensorProto.FLOAT)]
    used = [place for place in range(depth + 1) if weights[0][place]] or [0]
    mixed = weighted(graph, [layers[place] for place in used], weights[0][used])
    alone = graph.add("Squeeze", _without_marks(graph, [mixed], "lengths"), graph.integers(1))
    graph.name(alone, "vectors")
    shape = ["batch", "length", elmo.dim]
    return graph, inputs, [value("vectors", shape, of=onnx.TensorProto.FLOAT)]


def _without_marks(graph: Graph, layers: Sequence[str], lengths: str) -> str:
    """Join K layers (S, B, D), take the marks and what is past the end away: (B, K, T, D)."""
    apart = [graph.add("Unsqueeze", layer, graph.integers(0)) for layer in layers]
    stacked = apart[0] if len(apart) == 1 else graph.add("Concat", *apart, axis=0)  # (K, S, B, D)
    inner = graph.add("Slice", stacked, graph.integers(1), graph.integers(-1), graph.integers(1))
    batched = graph.add("Transpose", inner, perm=[2, 0, 1, 3])  # (B, K, T, D)
    steps = graph.add("Squeeze", graph.sizes(batched, 2), graph.integers(0))
    zero, one = graph.constant(np.int64(0)), graph.constant(np.int64(1))
    places = graph.add("Range", zero, steps, one)  # (T,)
    ends = graph.add("Unsqueeze", lengths, graph.integers(1))  # (B, 1)
    kept = graph.add("Unsqueeze", graph.add("Less", places, ends), graph.integers(1, 3))
    return graph.add("Where", kept, batched, graph.constant(np.float32(0)))


def _character_padding(elmo: Elmo) -> int | None:
    """Give the id, counted from 1, that fills the row of a word."""
    alphabet = elmo.indexer.alphabet
    if alphabet is None:
        return None
    if isinstance(alphabet, DictionaryAlphabet):
        return alphabet.characters.index("<pad>") + 1
    return PADDING + 1


def _start(elmo: Elmo) -> dict[str, tuple[Array, Array]]:
    """Give for each direction the cell (L, H) and the hidden (L, P) before the first token."""
    return {
        direction: tuple(
            part[:, 0].detach().to("cpu", torch.float32).numpy()
            for part in getattr(elmo.start_state, direction)
        )
        for direction in DIRECTIONS
    }


def _tensors_inside(graph: Graph) -> list[Any]:
    numpy_helper = load_onnx().numpy_helper
    return [numpy_helper.from_array(array, name) for name, array in graph.constants.items()]


def _tensors_apart(graph: Graph, data: Path) -> list[Any]:
    """Write the arrays to a file of their own and give tensors that say where they are."""
    onnx = load_onnx()
    tensors = []
    with replacing_file(data) as partial, partial.open("wb") as stream:
        for name, array in graph.constants.items():
            if array.nbytes < DATA_ALIGNMENT:
                tensors.append(onnx.numpy_helper.from_array(array, name))
                continue
            stream.write(bytes(-stream.tell() % DATA_ALIGNMENT))
            tensor = onnx.TensorProto(
                name=name,
                data_type=onnx.helper.np_dtype_to_tensor_dtype(array.dtype),
                dims=array.shape,
                data_location=onnx.TensorProto.EXTERNAL,
            )
            facts = {"location": data.name, "offset": stream.tell(), "length": array.nbytes}
            for key, fact in facts.items():
                tensor.external_data.add(key=key, value=str(fact))
            array.tofile(stream)
            tensors.append(tensor)
    return tensors
