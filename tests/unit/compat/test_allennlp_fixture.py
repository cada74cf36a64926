"""The outputs that bilm-tf published, asked for by AllenNLP's names.

The files stay outside the repository; without them this test is skipped.
"""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest

from elmokit.compat.allennlp import Elmo, ElmoEmbedder, batch_to_ids

FIXTURE = Path(__file__).parents[4] / "shared" / "fixtures" / "bilm-tf" / "model"

pytestmark = pytest.mark.skipif(
    not (FIXTURE / "lm_weights.hdf5").is_file(), reason=f"no reference data in {FIXTURE}"
)

TOLERANCE = 2e-6  # see test_bilm_tf_fixture


def test_published_outputs() -> None:
    files = (FIXTURE / "options.json", FIXTURE / "lm_weights.hdf5")
    text = (FIXTURE / "lm_embeddings_sentences.json").read_text(encoding="utf-8")
    rows = [[line.split() for line in row] for row in json.loads(text)]
    embedder = ElmoEmbedder(*files, start="carry")
    # Weights that leave the top layer alone.
    elmo = Elmo(*files, 1, dropout=0.0, scalar_mix_parameters=[-1e4, -1e4, 0.0], start="carry")
    for number in range(10):
        batch = [row[number] for row in rows]
        embedded = embedder.embed_batch(batch)
        mixed = elmo(batch_to_ids(batch))["elmo_representations"][0].detach().numpy()
        for row, sentence in enumerate(batch):
            with h5py.File(FIXTURE / f"lm_embeddings_{row}.hdf5", "r") as file:
                expected = np.concatenate(file[str(number)][()], axis=1)
            assert np.abs(embedded[row][-1] - expected).max() <= TOLERANCE
            assert np.abs(mixed[row, : len(sentence)] - expected).max() <= TOLERANCE
