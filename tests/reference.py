"""The biLM in float64 numpy, one token at a time: what the fast code must agree with.

Written from the published conventions (bilm-tf, ELMoForManyLangs) and from nothing of elmokit's:
it shares no code with what it checks. Slow and plain on purpose.

H cell, p size of a direction, n tokens of a sentence, L LSTM layers
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Arrays = Mapping[str, npt.NDArray[np.floating[Any]]]
Options = Mapping[str, Any]

State = dict[tuple[int, int], tuple[Array, Array]]
"""(direction, layer) -> cell (H,) and hidden (p,); empty for a row that has read nothing."""


@dataclass
class Largest:
    """The largest absolute values that a run met, before any clipping."""

    cell: float = 0.0
    hidden: float = 0.0


@dataclass(frozen=True)
class Cell:
    """One LSTM layer of one direction, its four gates apart."""

    kernels: Mapping[str, Array]
    """Names "input", "candidate", "forget", "output" -> (p + p, H), rows [x; h]."""
    biases: Mapping[str, Array]
    """The same names -> (H,), with all that is ever added to the gate."""
    projection: Array | None
    """(H, p)"""


@dataclass(frozen=True)
class Limits:
    """What an LSTM's values are clipped to; None: not at all."""

    cell: float | None
    projection: float | None


def bilm_layers(
    arrays: Arrays,
    options: Options,
    sentences: Sequence[Sequence[str]],
    *,
    vocabulary: Sequence[str] | None = None,
    states: Sequence[State] | None = None,
    largest: Largest | None = None,
) -> list[Array]:
    """Give (L+1, n, 2p) for each sentence of a bilm-tf model, without the sentence marks.

    ``arrays`` has the names of the hdf5 file. A word model needs its ``vocabulary``. With
    ``states``, row k starts from ``states[k]`` and leaves its own state there.
    """
    lstm = options["lstm"]
    stacks = [
        [
            _bilm_cell(arrays, f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell")
            for layer in range(lstm["n_layers"])
        ]
        for direction in range(2)
    ]
    limits = Limits(lstm["cell_clip"], lstm["proj_clip"])
    results = []
    for row, sentence in enumerate(sentences):
        tokens = ["<S>", *sentence, "</S>"]
        if vocabulary is None:
            vectors = [_bilm_characters(arrays, options["char_cnn"], token) for token in tokens]
        else:
            vectors = [_bilm_word(arrays, vocabulary, token) for token in tokens]
        results.append(
            _run(
                np.array(vectors),
                stacks,
                skip=lstm["use_skip_connections"],
                limits=limits,
                state={} if states is None else states[row],
                largest=largest or Largest(),
            )
        )
    return results


def many_langs_layers(
    embedder: Arrays,
    encoder: Arrays,
    sizes: Options,
    sentences: Sequence[Sequence[str]],
    *,
    characters: Mapping[str, int] | None = None,
    words: Mapping[str, int] | None = None,
    states: Sequence[State] | None = None,
    largest: Largest | None = None,
) -> list[Array]:
    """Give (L+1, n, 2p) for each sentence of an ELMoForManyLangs model, without the marks.

    ``embedder`` and ``encoder`` are the two state dicts, ``characters`` and ``words`` the two
    dictionaries, ``sizes`` the file that ``config_path`` names.
    """
    stacks = [
        [
            _many_langs_cell(encoder, f"{direction}_layer_{layer}")
            for layer in range(sizes["encoder"]["n_layers"])
        ]
        for direction in ("forward", "backward")
    ]
    limits = Limits(sizes["encoder"]["cell_clip"], sizes["encoder"]["proj_clip"])
    results = []
    for row, sentence in enumerate(sentences):
        tokens = ["<bos>", *sentence, "<eos>"]
        vectors = [
            _many_langs_token(embedder, sizes["token_embedder"], token, characters, words)
            for token in tokens
        ]
        results.append(
            _run(
                np.array(vectors),
                stacks,
                skip=True,
                limits=limits,
                state={} if states is None else states[row],
                largest=largest or Largest(),
            )
        )
    return results


# The input of bilm-tf.


def bilm_character_row(token: str, length: int) -> list[int]:
    """Spell a token in bytes: 258 begins it, 259 ends it, 260 fills the row."""
    if token == "<S>":
        spelling = [256]
    elif token == "</S>":
        spelling = [257]
    else:
        spelling = list(token.encode("utf-8"))[: length - 2]
    row = [258, *spelling, 259]
    return row + [260] * (length - len(row))


def _bilm_characters(arrays: Arrays, options: Options, token: str) -> Array:
    row = bilm_character_row(token, options["max_characters_per_token"])
    filters = []
    for index in range(len(options["filters"])):
        kernel = _double(arrays[f"CNN/W_cnn_{index}"])[0]  # (width, characters, number)
        filters.append((kernel, _double(arrays[f"CNN/b_cnn_{index}"])))
    table = _double(arrays["char_embed"])
    vector = _convolve(table[row], filters, options["activation"])
    for index in range(options["n_highway"]):
        part = {
            name: _double(arrays[f"CNN_high_{index}/{name}"])
            for name in ("W_carry", "b_carry", "W_transform", "b_transform")
        }
        carry = _sigmoid(vector @ part["W_carry"] + part["b_carry"])
        transformed = np.maximum(vector @ part["W_transform"] + part["b_transform"], 0.0)
        vector = carry * transformed + (1.0 - carry) * vector
    if "CNN_proj/W_proj" in arrays:
        projected: Array = vector @ _double(arrays["CNN_proj/W_proj"])
        vector = projected + _double(arrays["CNN_proj/b_proj"])
    return vector


def _bilm_word(arrays: Arrays, vocabulary: Sequence[str], token: str) -> Array:
    known = token if token in vocabulary else "<UNK>"
    vector: Array = _double(arrays["embedding"])[list(vocabulary).index(known)]
    return vector


def _bilm_cell(arrays: Arrays, prefix: str) -> Cell:
    """Take TensorFlow's cell apart: blocks i, j, f, o, and a forget bias that is not stored."""
    names = ("input", "candidate", "forget", "output")
    kernels = dict(zip(names, np.split(_double(arrays[f"{prefix}/W_0"]), 4, axis=1), strict=True))
    biases = dict(zip(names, np.split(_double(arrays[f"{prefix}/B"]), 4), strict=True))
    biases["forget"] = biases["forget"] + 1.0
    projection = arrays.get(f"{prefix}/W_P_0")
    return Cell(kernels, biases, None if projection is None else _double(projection))


# The input of ELMoForManyLangs.


def many_langs_character_row(token: str, characters: Mapping[str, int], length: int) -> list[int]:
    """Spell a token in code points; its boundary marks stand the wrong way round."""
    if token in ("<bos>", "<eos>"):
        spelling = [characters[token]]
    else:
        unknown = characters["<oov>"]
        spelling = [characters.get(character, unknown) for character in token[: length - 2]]
    row = [characters["<eow>"], *spelling, characters["<bow>"]]
    return row + [characters["<pad>"]] * (length - len(row))


def _many_langs_token(
    embedder: Arrays,
    options: Options,
    token: str,
    characters: Mapping[str, int] | None,
    words: Mapping[str, int] | None,
) -> Array:
    length = options["max_characters_per_token"]
    token = token[: length - 2]
    features = []
    if words is not None:
        number = words.get(token, words["<oov>"])
        features.append(_double(embedder["word_emb_layer.embedding.weight"])[number])
    if characters is not None:
        row = many_langs_character_row(token, characters, length)
        filters = []
        for index in range(len(options["filters"])):
            weight = _double(embedder[f"convolutions.{index}.weight"])  # (number, chars, width)
            bias = _double(embedder[f"convolutions.{index}.bias"])
            filters.append((weight.transpose(2, 1, 0), bias))
        table = _double(embedder["char_emb_layer.embedding.weight"])
        vector = _convolve(table[row], filters, options["activation"])
        for index in range(options["n_highway"]):
            weight = _double(embedder[f"highways._layers.{index}.weight"])
            bias = _double(embedder[f"highways._layers.{index}.bias"])
            transform, gate = np.split(weight @ vector + bias, 2)
            kept = _sigmoid(gate)
            vector = kept * vector + (1.0 - kept) * np.maximum(transform, 0.0)
        features.append(vector)
    joined = np.concatenate(features)
    projected: Array = _double(embedder["projection.weight"]) @ joined
    return projected + _double(embedder["projection.bias"])


def _many_langs_cell(encoder: Arrays, prefix: str) -> Cell:
    """Take AllenNLP's cell apart: blocks i, f, g, o, the forget bias inside."""
    names = ("input", "forget", "candidate", "output")
    joined = np.concatenate(
        [
            _double(encoder[f"{prefix}.input_linearity.weight"]),
            _double(encoder[f"{prefix}.state_linearity.weight"]),
        ],
        axis=1,
    ).T  # (p + p, 4H)
    bias = _double(encoder[f"{prefix}.state_linearity.bias"])
    return Cell(
        dict(zip(names, np.split(joined, 4, axis=1), strict=True)),
        dict(zip(names, np.split(bias, 4), strict=True)),
        _double(encoder[f"{prefix}.state_projection.weight"]).T,
    )


# What both have in common.


def _convolve(characters: Array, filters: Sequence[tuple[Array, Array]], activation: str) -> Array:
    """Slide each kernel (width, characters, number) over a word, keep the largest answers."""
    features = []
    for kernel, bias in filters:
        width = len(kernel)
        answers = []
        for start in range(len(characters) - width + 1):
            window = characters[start : start + width]
            answers.append(np.tensordot(window, kernel, axes=2) + bias)
        features.append(np.max(answers, axis=0))
    joined = np.concatenate(features)
    assert activation in ("relu", "tanh"), activation
    active: Array = np.tanh(joined) if activation == "tanh" else np.maximum(joined, 0.0)
    return active


def _run(
    vectors: Array,
    stacks: Sequence[Sequence[Cell]],
    *,
    skip: bool,
    limits: Limits,
    state: State,
    largest: Largest,
) -> Array:
    """Run both directions over the marked sentence (n + 2, p) and drop the marks."""
    halves: list[list[Array]] = [[], []]
    for direction, cells in enumerate(stacks):
        inputs = vectors if direction == 0 else vectors[::-1]
        for layer, cell in enumerate(cells):
            key = (direction, layer)
            if key not in state:
                state[key] = (np.zeros(len(cell.biases["input"])), np.zeros(vectors.shape[1]))
            outputs, state[key] = _run_cell(inputs, cell, limits, state[key], largest)
            inputs = outputs + inputs if skip and layer > 0 else outputs
            halves[direction].append(inputs if direction == 0 else inputs[::-1])
    layers = [np.concatenate([vectors, vectors], axis=1)]
    for ahead, behind in zip(*halves, strict=True):
        layers.append(np.concatenate([ahead, behind], axis=1))
    return np.stack(layers)[:, 1:-1]


def _run_cell(
    inputs: Array, cell: Cell, limits: Limits, state: tuple[Array, Array], largest: Largest
) -> tuple[Array, tuple[Array, Array]]:
    memory, hidden = state
    outputs = []
    for vector in inputs:
        both = np.concatenate([vector, hidden])
        gates = {name: both @ cell.kernels[name] + cell.biases[name] for name in cell.kernels}
        memory = _sigmoid(gates["forget"]) * memory + _sigmoid(gates["input"]) * np.tanh(
            gates["candidate"]
        )
        largest.cell = max(largest.cell, float(np.abs(memory).max()))
        if limits.cell is not None:
            memory = np.clip(memory, -limits.cell, limits.cell)
        hidden = _sigmoid(gates["output"]) * np.tanh(memory)
        if cell.projection is not None:
            hidden = hidden @ cell.projection
            largest.hidden = max(largest.hidden, float(np.abs(hidden).max()))
            if limits.projection is not None:
                hidden = np.clip(hidden, -limits.projection, limits.projection)
        outputs.append(hidden)
    return np.array(outputs), (memory, hidden)


def _sigmoid(values: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-values))


def _double(array: npt.NDArray[np.floating[Any]]) -> Array:
    return array.astype(np.float64)
