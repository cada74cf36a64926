import json
from pathlib import Path

import h5py
import numpy as np
import pytest

from elmokit.config import CharacterConfig, ModelConfig
from elmokit.embed.elmo import Elmo
from elmokit.formats import bilm_hdf5
from elmokit.formats.checkpoint import Checkpoint
from elmokit.lm.language_model import LanguageModel
from elmokit.pretrained.untrained import untrained_checkpoint
from elmokit.text.vocabulary import Vocabulary
from unit.lm.numpy_language_model import NumpyLanguageModel

WORDS = ("<S>", "</S>", "<UNK>", "the", ".", "cat", "dog", "sat", "on", "mat", "größe", "字")


@pytest.fixture(scope="session")
def checkpoint() -> Checkpoint:
    """A small character model with a softmax; its weights are large, so words differ much."""
    config = ModelConfig(
        characters=CharacterConfig(
            filters=((1, 4), (2, 8)), embedding_dim=4, highway_layers=1, max_characters=12
        ),
        lstm_dim=16,
        projection_dim=8,
        softmax_size=len(WORDS),
    )
    return untrained_checkpoint(config, scale=2.0, vocabulary=Vocabulary(WORDS))


@pytest.fixture(scope="session")
def elmo(checkpoint: Checkpoint) -> Elmo:
    return Elmo(checkpoint, device="cpu")


@pytest.fixture(scope="session")
def language_model(elmo: Elmo) -> LanguageModel:
    return elmo.language_model


@pytest.fixture(scope="session")
def by_hand(checkpoint: Checkpoint, tmp_path_factory: pytest.TempPathFactory) -> NumpyLanguageModel:
    """The same model in float64 numpy, from its bilm-tf files."""
    folder: Path = tmp_path_factory.mktemp("numpy") / "model"
    bilm_hdf5.write(checkpoint, folder)
    arrays: dict[str, np.ndarray] = {}
    with h5py.File(folder / bilm_hdf5.WEIGHTS_FILE) as file:
        file.visititems(
            lambda name, item: arrays.update({name: item[()]} if hasattr(item, "shape") else {})
        )
    options = json.loads((folder / bilm_hdf5.OPTIONS_FILE).read_text(encoding="utf-8"))
    return NumpyLanguageModel(arrays, options, WORDS)
