"""Every shape of a bilm-tf model against the float64 numpy forward pass.

The tolerance: a float32 product sums up to 16 terms of order 1, each rounded to 6e-8 of its
value, and the recurrence carries that on through 14 steps and 3 layers: 7e-7 at most on these
models (the original's own float32 results are 0.7e-6 to 1.9e-6 from this reference). A wrong
formula is off by 1e-3 or more. In float64 only the order of the sums differs.
"""

import itertools
import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt
import pytest
import torch

import elmokit
from reference import Array, Largest, State, bilm_layers

FLOAT32_TOLERANCE = 2e-6
FLOAT64_TOLERANCE = 1e-10

SENTENCES = [
    ["The", "bank", "of", "the", "river", "."],
    ["bank"],
    # Past the limit of 18 bytes; the cut falls inside a character of the second.
    ["http://www.example.org/a/long/address", "aСамсебяиздатсамиздат", "x" * 18, "y" * 19],
    ["한국어", "문장", "漢字かな", "اللغة", "😀", "naïve", "the", "the", "the", "bank", ".", "."],
    ["<UNK>", "</S>", "unlisted", "<S>", "the", ""],
]
VOCABULARY = ["</S>", "<S>", "<UNK>", "the", ".", "bank", "river", "한국어", "😀", "The", "x" * 18]

Float32 = npt.NDArray[np.float32]


def make_options(
    *,
    words: bool = False,
    layers: int = 2,
    skip: bool = True,
    dim: int = 12,
    projection_dim: int = 8,
    cell_clip: float | None = 3,
    proj_clip: float | None = 3,
    filters: tuple[tuple[int, int], ...] = ((1, 3), (2, 5), (3, 6)),
    activation: str = "relu",
    highway: int = 1,
) -> dict[str, Any]:
    options: dict[str, Any] = {
        "lstm": {
            "dim": dim,
            "projection_dim": projection_dim,
            "n_layers": layers,
            "cell_clip": cell_clip,
            "proj_clip": proj_clip,
            "use_skip_connections": skip,
        }
    }
    if not words:
        options["char_cnn"] = {
            "embedding": {"dim": 4},
            "filters": [list(pair) for pair in filters],
            "n_highway": highway,
            "n_characters": 262,
            "max_characters_per_token": 20,
            "activation": activation,
        }
    return options


def make_arrays(
    options: dict[str, Any], *, seed: int = 1, lstm_scale: float = 1.0
) -> dict[str, Float32]:
    """Random weights of a size that keeps every layer's values around 1."""
    rng = np.random.default_rng(seed)

    def normal(deviation: float, *shape: int) -> Float32:
        return (rng.standard_normal(shape) * deviation).astype(np.float32)

    arrays: dict[str, Float32] = {}
    lstm = options["lstm"]
    p, dim = lstm["projection_dim"], lstm["dim"]
    if "char_cnn" in options:
        settings = options["char_cnn"]
        size = settings["embedding"]["dim"]
        arrays["char_embed"] = normal(1.0, 261, size)
        for index, (width, number) in enumerate(settings["filters"]):
            arrays[f"CNN/W_cnn_{index}"] = normal((width * size) ** -0.5, 1, width, size, number)
            arrays[f"CNN/b_cnn_{index}"] = normal(0.3, number)
        features = sum(number for _, number in settings["filters"])
        for index in range(settings["n_highway"]):
            for part in ("carry", "transform"):
                arrays[f"CNN_high_{index}/W_{part}"] = normal(features**-0.5, features, features)
                arrays[f"CNN_high_{index}/b_{part}"] = normal(0.5, features)
        if features != p:
            arrays["CNN_proj/W_proj"] = normal(features**-0.5, features, p)
            arrays["CNN_proj/b_proj"] = normal(0.2, p)
    else:
        arrays["embedding"] = normal(1.0, len(VOCABULARY), p)
    for direction, layer in itertools.product(range(2), range(lstm["n_layers"])):
        prefix = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
        arrays[f"{prefix}/W_0"] = normal(lstm_scale * (2 * p) ** -0.5, 2 * p, 4 * dim)
        arrays[f"{prefix}/B"] = normal(0.4, 4 * dim)
        if dim != p:
            arrays[f"{prefix}/W_P_0"] = normal(2.0 * dim**-0.5, dim, p)
    return arrays


def write_model(folder: Path, options: dict[str, Any], arrays: dict[str, Float32]) -> Path:
    (folder / "options.json").write_text(json.dumps(options), encoding="utf-8")
    with h5py.File(folder / "lm_weights.hdf5", "w") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array)
    if "embedding" in arrays:
        text = "".join(f"{word}\n" for word in VOCABULARY)
        (folder / "vocab.txt").write_text(text, encoding="utf-8")
    return folder


def expected_layers(
    arrays: dict[str, Float32],
    options: dict[str, Any],
    sentences: list[list[str]] = SENTENCES,
    *,
    states: list[State] | None = None,
    largest: Largest | None = None,
) -> list[Array]:
    return bilm_layers(
        arrays,
        options,
        sentences,
        vocabulary=VOCABULARY if "embedding" in arrays else None,
        states=states,
        largest=largest,
    )


def assert_close(found: list[Float32], expected: list[Array]) -> None:
    assert len(found) == len(expected)
    for vectors, reference in zip(found, expected, strict=True):
        assert vectors.dtype == np.float32
        assert vectors.shape == reference.shape
        assert np.abs(vectors - reference).max() <= FLOAT32_TOLERANCE


def compare(folder: Path, options: dict[str, Any], arrays: dict[str, Float32]) -> list[Float32]:
    """Load the model, compare all layers of all sentences, and give them."""
    elmo = elmokit.load(write_model(folder, options, arrays), start="zeros", device="cpu")
    found = elmo.embed(SENTENCES, layers="all")
    assert_close(found, expected_layers(arrays, options))
    return found


def spread(expected: list[Array]) -> Array:
    """Give the standard deviation of each layer over all tokens."""
    return np.asarray(np.concatenate(expected, axis=1).std(axis=(1, 2)))


@pytest.mark.parametrize("clip", [False, True], ids=["unclipped", "clipped"])
@pytest.mark.parametrize("projection", [False, True], ids=["unprojected", "projected"])
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("skip", [False, True], ids=["plain", "skip"])
@pytest.mark.parametrize("words", [False, True], ids=["characters", "words"])
def test_grid(
    tmp_path: Path, words: bool, skip: bool, layers: int, projection: bool, clip: bool
) -> None:
    cell_clip, proj_clip = (0.5, 0.4) if clip else (50.0, 50.0)
    options = make_options(
        words=words,
        skip=skip,
        layers=layers,
        dim=12 if projection else 8,
        projection_dim=8,
        cell_clip=cell_clip,
        proj_clip=proj_clip,
    )
    arrays = make_arrays(options, seed=layers)
    elmo = elmokit.load(write_model(tmp_path, options, arrays), start="zeros", device="cpu")
    found = elmo.embed(SENTENCES, layers="all")

    largest = Largest()
    expected = expected_layers(arrays, options, largest=largest)
    assert_close(found, expected)
    assert (spread(expected) > 0.1).all(), "layers close to zero would agree whatever they hold"

    first_layer = np.concatenate([vectors[1] for vectors in found])  # no skip connection yet
    state = elmo.runner.run(SENTENCES, elmo.runner.zero_state(len(SENTENCES))).state
    cells = torch.stack([state.forward.cell, state.backward.cell]).abs()
    if clip:
        assert largest.cell > 1.5 * cell_clip
        assert cells.max() == cell_clip
    else:
        assert largest.cell < cell_clip
    if not projection:
        # What is not projected is not clipped either.
        assert largest.hidden == 0
        assert np.abs(first_layer).max() < 1
        assert not clip or (np.abs(first_layer) == np.float32(proj_clip)).sum() == 0
    elif clip:
        assert largest.hidden > 1.5 * proj_clip
        assert np.abs(first_layer).max() == np.float32(proj_clip)
    else:
        assert largest.hidden < proj_clip


def test_output_without_projection_passes_the_projection_clip(tmp_path: Path) -> None:
    """TensorFlow's cell clips its projection only, so the option has no effect without one."""
    options = make_options(dim=8, projection_dim=8, proj_clip=0.05)
    found = compare(tmp_path, options, make_arrays(options))
    assert np.abs(found[0][1]).max() > 0.05


@pytest.mark.parametrize(
    ("cell_clip", "proj_clip"), [(None, None), (0.5, None), (None, 0.4)], ids=str
)
def test_absent_clips(tmp_path: Path, cell_clip: float | None, proj_clip: float | None) -> None:
    options = make_options(cell_clip=cell_clip, proj_clip=proj_clip)
    arrays = make_arrays(options)
    found = compare(tmp_path, options, arrays)
    largest = Largest()
    expected_layers(arrays, options, largest=largest)
    assert largest.cell > 1
    assert largest.hidden > 0.8
    reached = np.abs(np.concatenate([vectors[1] for vectors in found])).max()
    assert reached > 0.8 if proj_clip is None else reached == np.float32(proj_clip)


@pytest.mark.parametrize("highway", [0, 1, 2])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_character_input(tmp_path: Path, activation: str, highway: int) -> None:
    options = make_options(activation=activation, highway=highway)
    compare(tmp_path, options, make_arrays(options, seed=highway))


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("highway", [0, 2])
def test_filters_as_wide_as_the_projection(tmp_path: Path, activation: str, highway: int) -> None:
    """Where both sizes are equal bilm-tf has no CNN_proj."""
    options = make_options(
        filters=((1, 2), (3, 6)), projection_dim=8, activation=activation, highway=highway
    )
    arrays = make_arrays(options)
    assert "CNN_proj/W_proj" not in arrays
    found = compare(tmp_path, options, arrays)
    if activation == "relu" and not highway:
        assert min(vectors[0].min() for vectors in found) == 0, "layer 0 is the relu itself"


def test_neither_projection(tmp_path: Path) -> None:
    options = make_options(filters=((1, 2), (3, 6)), dim=8, projection_dim=8, layers=3)
    compare(tmp_path, options, make_arrays(options))


def test_layer_0_repeats_the_token_vector(tmp_path: Path) -> None:
    options = make_options()
    found = compare(tmp_path, options, make_arrays(options))
    for vectors in found:
        ahead, behind = np.split(vectors[0], 2, axis=1)
        assert (ahead == behind).all()


@pytest.mark.parametrize(
    "options",
    [
        make_options(),
        make_options(layers=3, activation="tanh", highway=2, cell_clip=0.5, proj_clip=0.4),
        make_options(words=True, skip=False, dim=8, projection_dim=8, cell_clip=0.5),
    ],
    ids=["relu", "tanh-clipped", "words-unprojected"],
)
def test_float64(tmp_path: Path, options: dict[str, Any]) -> None:
    arrays = make_arrays(options, seed=7)
    folder = write_model(tmp_path, options, arrays)
    elmo = elmokit.load(folder, start="zeros", device="cpu", dtype="float64")
    expected = expected_layers(arrays, options)

    output = elmo.runner.run(SENTENCES, elmo.runner.zero_state(len(SENTENCES)))
    stacked = torch.stack(output.layers, dim=1)
    assert stacked.dtype == torch.float64
    for row, reference in enumerate(expected):
        found = stacked[row, :, 1 : reference.shape[1] + 1].numpy()
        assert np.abs(found - reference).max() <= FLOAT64_TOLERANCE

    # What people get is float32: the float64 result, rounded once.
    for vectors, reference in zip(elmo.embed(SENTENCES, layers="all"), expected, strict=True):
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(vectors, reference, rtol=6.0e-8, atol=FLOAT64_TOLERANCE)


@pytest.mark.parametrize("words", [False, True], ids=["characters", "words"])
def test_carried_state(tmp_path: Path, words: bool) -> None:
    """Rows go on where they ended; those that a smaller batch leaves out keep their state."""
    options = make_options(words=words)
    arrays = make_arrays(options)
    elmo = elmokit.load(write_model(tmp_path, options, arrays), start="carry", device="cpu")
    states: list[State] = [{}, {}, {}]
    carried_differs_from_fresh = 0
    for batch in (SENTENCES[:2], SENTENCES[2:3], SENTENCES[2:], SENTENCES[:1], SENTENCES[:3]):
        expected = expected_layers(arrays, options, batch, states=states)
        assert_close(elmo.embed(batch, layers="all"), expected)
        fresh = expected_layers(arrays, options, batch)
        gap = max(np.abs(a - b).max() for a, b in zip(expected, fresh, strict=True))
        carried_differs_from_fresh += bool(gap > 0.01)
    assert carried_differs_from_fresh == 4, "all but the first batch depend on the state"

    forward, backward = elmo.state.take(elmo.bilm, 3)
    for row, state in enumerate(states):
        for layer in range(2):
            for direction, part in enumerate((forward, backward)):
                cell, hidden = state[direction, layer]
                assert np.abs(part.cell[layer, row].numpy() - cell).max() <= FLOAT32_TOLERANCE
                assert np.abs(part.hidden[layer, row].numpy() - hidden).max() <= FLOAT32_TOLERANCE


def test_sentences_alone_and_together(tmp_path: Path) -> None:
    """However sentences are cut into batches, each agrees with the reference."""
    options = make_options(layers=3)
    arrays = make_arrays(options)
    elmo = elmokit.load(write_model(tmp_path, options, arrays), start="zeros", device="cpu")
    expected = expected_layers(arrays, options)
    for batch_tokens in (1, 10, 30):
        assert_close(elmo.embed(SENTENCES, layers="all", batch_tokens=batch_tokens), expected)
    # The longest of the batch comes last, first, and more than once.
    order = [3, 1, 3, 0, 4, 2, 1]
    found = elmo.embed([SENTENCES[index] for index in order], layers="all")
    assert_close(found, [expected[index] for index in order])
