"""`as_dict=True`: TensorFlow Hub's names and shapes, with the numbers of the numpy reference.

The tolerance is that of test_numpy_reference: float32 against float64.
"""

from pathlib import Path

import numpy as np
import pytest

import elmokit
from elmokit.config import ModelConfig
from elmokit.embed.elmo import Elmo
from elmokit.pretrained.untrained import untrained_checkpoint
from parity.test_numpy_reference import (
    SENTENCES,
    expected_layers,
    make_arrays,
    make_options,
    write_model,
)
from unit.embed.conftest import SMALL_CONFIG

TOLERANCE = 2e-6


def test_names_shapes_and_numbers(tmp_path: Path) -> None:
    options = make_options()
    arrays = make_arrays(options)
    elmo = elmokit.load(write_model(tmp_path, options, arrays), start="zeros", device="cpu")
    found = elmo.embed(SENTENCES, as_dict=True)
    rows, longest = len(SENTENCES), max(map(len, SENTENCES))
    assert {name: (one.shape, one.dtype.name) for name, one in found.items()} == {
        "word_emb": ((rows, longest, 8), "float32"),
        "lstm_outputs1": ((rows, longest, 16), "float32"),
        "lstm_outputs2": ((rows, longest, 16), "float32"),
        "elmo": ((rows, longest, 16), "float32"),
        "default": ((rows, 16), "float32"),
        "sequence_len": ((rows,), "int32"),
    }
    assert found["sequence_len"].tolist() == [len(sentence) for sentence in SENTENCES]
    for row, layers in enumerate(expected_layers(arrays, options)):
        count = layers.shape[1]
        expected = {
            "word_emb": layers[0, :, :8],
            "lstm_outputs1": layers[1],
            "lstm_outputs2": layers[2],
            "elmo": layers.mean(axis=0),
        }
        for name, vectors in expected.items():
            assert np.abs(found[name][row, :count] - vectors).max() <= TOLERANCE, name
            assert not found[name][row, count:].any(), name
        default = layers.mean(axis=(0, 1))
        assert np.abs(found["default"][row] - default).max() <= TOLERANCE


def test_sentences_without_tokens(elmo: Elmo) -> None:
    found = elmo.embed([[], ["a", "b"]], as_dict=True)
    assert found["sequence_len"].tolist() == [0, 2]
    assert not found["default"][0].any()
    assert found["default"][1].any()
    assert elmo.embed([[]], as_dict=True)["elmo"].shape == (1, 0, elmo.dim)
    nothing = elmo.embed([], as_dict=True)
    assert nothing["word_emb"].shape == (0, 0, elmo.dim // 2)
    assert nothing["default"].shape == (0, elmo.dim)


def test_as_many_lstm_outputs_as_layers() -> None:
    config = ModelConfig.from_dict({**SMALL_CONFIG.to_dict(), "layers": 3})
    found = Elmo(untrained_checkpoint(config), device="cpu").embed(["a b"], as_dict=True)
    assert [name for name in found if name.startswith("lstm")] == [
        "lstm_outputs1",
        "lstm_outputs2",
        "lstm_outputs3",
    ]


def test_it_goes_with_the_other_arguments(elmo: Elmo) -> None:
    sentences = ["a b c", ["d"], "e f"]
    found = elmo.embed(sentences, as_dict=True, batch_tokens=3)
    for row, vectors in enumerate(elmo.embed(sentences)):
        np.testing.assert_allclose(found["elmo"][row, : len(vectors)], vectors, atol=1e-6)
    np.testing.assert_allclose(found["default"], elmo.encode(sentences), atol=1e-6)
    with pytest.raises(elmokit.InputError, match="as_dict=True gives all of them, found 'top'"):
        elmo.embed(sentences, as_dict=True, layers="top")  # type: ignore[call-overload]
