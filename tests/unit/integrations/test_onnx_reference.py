"""An exported file against the float64 numpy forward pass, which shares no code with elmokit."""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import elmokit
from elmokit.integrations.onnx import export_onnx
from elmokit.integrations.onnx_check import onnx_inputs
from parity.test_numpy_reference import (
    SENTENCES,
    expected_layers,
    make_arrays,
    make_options,
    write_model,
)

# As in test_numpy_reference, and what another order of sums adds.
TOLERANCE = 4e-6


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("clip", [3.0, 0.3])
def test_layers_of_a_bilm_tf_model(tmp_path: Path, words: bool, clip: float) -> None:
    options = make_options(words=words, layers=3, cell_clip=clip, proj_clip=clip)
    arrays = make_arrays(options, lstm_scale=1.5)
    elmo = elmokit.load(write_model(tmp_path, options, arrays), start="zeros", device="cpu")
    export_onnx(elmo, tmp_path / "model.onnx", layers="all")
    session = onnxruntime.InferenceSession(
        str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"]
    )
    (found,) = session.run(None, onnx_inputs(elmo, SENTENCES))
    for row, expected in enumerate(expected_layers(arrays, options)):
        assert np.abs(found[row][:, : len(SENTENCES[row])] - expected).max() <= TOLERANCE
