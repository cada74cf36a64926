"""The outputs that allenai/bilm-tf published for its own tests.

The files stay outside the repository; without them these tests are skipped.
"""

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt
import pytest

import elmokit
from elmokit.formats import detect
from elmokit.formats.bilm_hdf5 import read_vocabulary
from reference import State, bilm_layers

FIXTURES = Path(__file__).parents[3] / "shared" / "fixtures" / "bilm-tf"

pytestmark = pytest.mark.skipif(
    not (FIXTURES / "model" / "lm_weights.hdf5").is_file(),
    reason=f"the reference data of bilm-tf are not in {FIXTURES}",
)

# The reference itself is float32 and the original's tests ask for 1e-6; two float32 results of
# the same formula on other machines may lie twice that apart.
TOLERANCE = 2e-6
ROWS, BATCHES = 3, 10

Vectors = npt.NDArray[np.floating[Any]]


@pytest.fixture(scope="module")
def sentences() -> list[list[list[str]]]:
    """Give the tokens by batch row and batch number."""
    text = (FIXTURES / "model" / "lm_embeddings_sentences.json").read_text(encoding="utf-8")
    rows = [[line.split() for line in row] for row in json.loads(text)]
    assert len(rows) == ROWS
    assert all(len(row) == BATCHES for row in rows)
    return rows


@pytest.fixture(scope="module")
def published() -> list[list[Vectors]]:
    """Give the top layer (n, 2p) by batch row and batch number."""
    rows = []
    for row in range(ROWS):
        with h5py.File(FIXTURES / "model" / f"lm_embeddings_{row}.hdf5", "r") as file:
            # Stored as (2, n, p): the two directions apart.
            rows.append([np.concatenate(file[str(number)][()], 1) for number in range(BATCHES)])
    return rows


def batch_errors(
    outputs: list[list[Vectors]], published: list[list[Vectors]], sentences: list[list[list[str]]]
) -> list[float]:
    """Give the largest error of each batch; ``outputs`` by batch number and row."""
    errors = []
    for number, batch in enumerate(outputs):
        gaps = []
        for row, vectors in enumerate(batch):
            expected = published[row][number]
            assert vectors.shape == expected.shape
            assert len(vectors) == len(sentences[row][number])
            gaps.append(float(np.abs(vectors - expected).max()))
        errors.append(max(gaps))
    assert len(errors) == BATCHES
    return errors


def run_batches(elmo: elmokit.Elmo, sentences: list[list[list[str]]]) -> list[list[Vectors]]:
    return [
        list(elmo.embed([row[number] for row in sentences], layers="top"))
        for number in range(BATCHES)
    ]


@pytest.mark.parametrize("form", ["as published", "native", "tf-checkpoint", "bilm-hdf5"])
def test_outputs(
    tmp_path: Path,
    form: str,
    sentences: list[list[list[str]]],
    published: list[list[Vectors]],
) -> None:
    source = FIXTURES / "model"
    if form != "as published":
        converted = tmp_path / "converted"
        assert detect.write(detect.read(source), converted, form=form) == form
        assert detect.detect(converted) == form
        source = converted
    elmo = elmokit.load(source, start="carry", device="cpu")
    assert elmo.source_format == (form if form != "as published" else "bilm-hdf5")
    errors = batch_errors(run_batches(elmo, sentences), published, sentences)
    assert max(errors) <= TOLERANCE


def test_all_sentences_in_one_call(
    sentences: list[list[list[str]]], published: list[list[Vectors]]
) -> None:
    """A carried state of three rows cuts a stream into the same batches by itself."""
    elmo = elmokit.load(FIXTURES / "model", start="carry", device="cpu")
    stream = [row[number] for number in range(BATCHES) for row in sentences]
    state = elmokit.CarriedState(rows=ROWS)
    embedded: list[Vectors] = list(elmo.embed(stream, layers="top", state=state))
    outputs = [embedded[ROWS * number : ROWS * (number + 1)] for number in range(BATCHES)]
    assert max(batch_errors(outputs, published, sentences)) <= TOLERANCE


def test_the_numpy_reference(
    sentences: list[list[list[str]]], published: list[list[Vectors]]
) -> None:
    """The forward pass that other tests compare with agrees with the original too."""
    options = json.loads((FIXTURES / "model" / "options.json").read_text(encoding="utf-8"))
    arrays = {}
    with h5py.File(FIXTURES / "model" / "lm_weights.hdf5", "r") as file:
        names: list[str] = []
        file.visit(names.append)
        for name in names:
            if isinstance(file[name], h5py.Dataset):
                arrays[name] = file[name][()]
    states: list[State] = [{} for _ in range(ROWS)]
    outputs: list[list[Vectors]] = []
    for number in range(BATCHES):
        batch = [row[number] for row in sentences]
        outputs.append([a[-1] for a in bilm_layers(arrays, options, batch, states=states)])
    assert max(batch_errors(outputs, published, sentences)) <= TOLERANCE


@pytest.mark.parametrize("start", ["zeros", "warm"])
def test_outputs_depend_on_the_carried_state(
    start: Any, sentences: list[list[list[str]]], published: list[list[Vectors]]
) -> None:
    elmo = elmokit.load(FIXTURES / "model", start=start, device="cpu")
    first, *later = batch_errors(run_batches(elmo, sentences), published, sentences)
    # The published run began with zeros, so only its first batch can be had without the state.
    assert (first <= TOLERANCE) == (start == "zeros")
    assert min(later) > 1000 * TOLERANCE
    if start == "zeros":
        assert max(later) > 0.5


def test_reset_starts_over(
    sentences: list[list[list[str]]], published: list[list[Vectors]]
) -> None:
    elmo = elmokit.load(FIXTURES / "model", start="carry", device="cpu")
    run_batches(elmo, sentences)
    elmo.state.reset()
    errors = batch_errors(run_batches(elmo, sentences), published, sentences)
    assert max(errors) <= TOLERANCE


def test_vocabulary_ids() -> None:
    """The ids that bilm-tf's own test expects of its vocabulary file."""
    vocabulary = read_vocabulary(FIXTURES / "data" / "vocab_test.txt")
    ids = vocabulary.batch_ids([["The", "first", "."], ["It", "said"]])
    assert ids.tolist() == [[2, 18, 75, 6, 1], [2, 67, 21, 1, 0]]


def test_vocabulary_without_unknown_mark() -> None:
    """The model's own vocabulary was made to dump its words, all of them listed."""
    vocabulary = read_vocabulary(FIXTURES / "model" / "vocab_test.txt")
    listed = vocabulary.words[0]
    assert vocabulary.ids([listed, listed]).tolist() == [0, 0]
    with pytest.raises(elmokit.InputError, match="'unlisted' is not in the vocabulary"):
        vocabulary.ids([listed, "unlisted"])
