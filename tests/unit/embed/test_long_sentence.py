"""A sentence of any length runs, gives the right numbers, and needs memory for its outputs alone.

Two models of one layer show where memory could go; the figures are for 20,000 tokens.
A wide cell (1024) with a narrow output (8): the gates are the bulk, 20,000 x 4 x 1024 x 4 bytes =
328 MB of them in one direction, beside 2.6 MB of layers. A bound of 150 MB leaves room for an
allocator that keeps freed blocks (some 30 MB seen) and none for the gates of a whole sentence.
A narrow cell (64) with a wide output (128): the layers are the bulk, 2 x 20,000 x 256 x 4 bytes =
41 MB. Steps, directions, reordering and the answer each have a copy: 112 MB seen, 250 MB allowed,
which leaves no room for rows that only fill a batch up.
"""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import torch

from elmokit.config import CharacterConfig, ModelConfig
from elmokit.embed.elmo import Elmo
from elmokit.pretrained.untrained import untrained_checkpoint

WIDE_CELL, WIDE_OUTPUT = (1024, 8), (64, 128)
MEGABYTE = 2**20

needs_resource = pytest.mark.skipif(sys.platform == "win32", reason="there is no resource module")

MEASURE = """
import json, resource, sys
from elmokit.config import CharacterConfig, ModelConfig
from elmokit.embed.elmo import Elmo
from elmokit.pretrained.untrained import untrained_checkpoint

config = ModelConfig(
    characters=CharacterConfig(filters=((1, 8),), highway_layers=0),
    lstm_dim=int(sys.argv[2]), projection_dim=int(sys.argv[3]), layers=1,
)
elmo = Elmo(untrained_checkpoint(config), device="cpu")
elmo.embed([["a"] * 2000])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
tokens = int(sys.argv[1])
(vectors,) = elmo.embed([[f"w{i % 50}" for i in range(tokens)]])
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
unit = 1 if sys.platform == "darwin" else 1024
print(json.dumps({"shape": vectors.shape, "bytes": (after - before) * unit}))
"""


def peak(tokens: int, sizes: tuple[int, int]) -> float:
    """Give the megabytes that a sentence takes beyond what one of 2,000 tokens has taken."""
    found = subprocess.run(
        [sys.executable, "-c", MEASURE, *map(str, (tokens, *sizes))],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        check=True,
    )
    facts = json.loads(found.stdout)
    assert facts["shape"] == [tokens, 2 * sizes[1]]
    return float(facts["bytes"]) / MEGABYTE


@needs_resource
@pytest.mark.parametrize(("sizes", "most"), [(WIDE_CELL, 150), (WIDE_OUTPUT, 250)])
def test_20_000_tokens_need_memory_for_their_outputs(sizes: tuple[int, int], most: int) -> None:
    assert peak(20_000, sizes) <= most


@pytest.mark.slow
@needs_resource
@pytest.mark.parametrize(("sizes", "most"), [(WIDE_CELL, 300), (WIDE_OUTPUT, 1250)])
def test_100_000_tokens(sizes: tuple[int, int], most: int) -> None:
    """Five times the tokens: 1.6 GB of gates, 205 MB of layers."""
    assert peak(100_000, sizes) <= most


def test_20_000_tokens_have_the_numbers_of_a_run_in_pieces() -> None:
    """Both stacks are fed 777 tokens at a time, from the state that the piece before has left."""
    config = ModelConfig(
        characters=CharacterConfig(filters=((1, 4), (2, 4)), embedding_dim=4, highway_layers=0),
        lstm_dim=16,
        projection_dim=8,
        layers=1,
    )
    elmo = Elmo(untrained_checkpoint(config), device="cpu", start="zeros")
    sentence = [f"w{i * i % 97}" for i in range(20_000)]
    (found,) = elmo.embed([sentence], layers="all")
    assert found.shape == (2, 20_000, 16)

    words = ["<S>", *sentence, "</S>"]
    distinct = sorted(set(words))
    with torch.no_grad():
        table = elmo.runner.word_vectors.compute(distinct)
        vectors = table[torch.tensor([distinct.index(word) for word in words])][None]
        expected = []
        for stack, reverse in ((elmo.bilm.forward_lstm, False), (elmo.bilm.backward_lstm, True)):
            inputs = vectors.flip(1) if reverse else vectors
            state = stack.zero_state(1)
            pieces = []
            for first in range(0, inputs.shape[1], 777):
                piece = inputs[:, first : first + 777]
                outputs, state = stack(piece, [1] * piece.shape[1], state)
                pieces.append(torch.cat(outputs))  # (L, piece, P)
            outputs = torch.cat(pieces, dim=1)
            expected.append(outputs.flip(1) if reverse else outputs)
    layers = torch.cat(expected, dim=2).numpy()[:, 1:-1]  # (L, n, D)
    np.testing.assert_allclose(found[1:], layers, atol=1e-6)


def test_a_long_sentence_does_not_disturb_short_ones(elmo: Elmo) -> None:
    short = ["a", "b", "c"]
    among = elmo.embed([short, ["long"] * 3000, short])
    alone = elmo.embed([short])[0]
    assert [vectors.shape for vectors in among] == [(3, 16), (3000, 16), (3, 16)]
    for vectors in (among[0], among[2]):
        np.testing.assert_allclose(vectors, alone, atol=1e-6)
