"""A tiny model in bilm-tf's files, always the same, written without elmokit.

AllenNLP's own Python reads it as well: see `record_allennlp.py`.
"""

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np

FILTERS = [[1, 2], [2, 3]]
FEATURES = 5
CELL, SIZE = 5, 3
OPTIONS: dict[str, Any] = {
    "lstm": {
        "dim": CELL,
        "projection_dim": SIZE,
        "n_layers": 2,
        "cell_clip": 0.5,
        "proj_clip": 0.4,
        "use_skip_connections": True,
    },
    "char_cnn": {
        "activation": "relu",
        "filters": FILTERS,
        "embedding": {"dim": 4},
        "max_characters_per_token": 50,
        "n_characters": 262,
        "n_highway": 2,
    },
}


def write_model(folder: Path) -> tuple[str, str]:
    """Write options and weights and give the names of the two files."""
    # The old generator of numpy gives the same numbers in every version.
    chance = np.random.RandomState(0)

    def normal(*shape: int) -> Any:
        return (chance.standard_normal(shape) * 0.6).astype(np.float32)

    options, weights = folder / "options.json", folder / "weights.hdf5"
    options.write_text(json.dumps(OPTIONS), encoding="utf-8")
    with h5py.File(weights, "w") as file:
        file["char_embed"] = normal(261, 4)
        for index, (width, number) in enumerate(FILTERS):
            file[f"CNN/W_cnn_{index}"] = normal(1, width, 4, number)
            file[f"CNN/b_cnn_{index}"] = normal(number)
        for index in range(2):
            for part in ("carry", "transform"):
                file[f"CNN_high_{index}/W_{part}"] = normal(FEATURES, FEATURES)
                file[f"CNN_high_{index}/b_{part}"] = normal(FEATURES)
        file["CNN_proj/W_proj"] = normal(FEATURES, SIZE)
        file["CNN_proj/b_proj"] = normal(SIZE)
        for direction in range(2):
            for layer in range(2):
                place = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
                file[f"{place}/W_0"] = normal(2 * SIZE, 4 * CELL)
                file[f"{place}/B"] = normal(4 * CELL)
                file[f"{place}/W_P_0"] = normal(CELL, SIZE)
    return str(options), str(weights)
