from pathlib import Path

import pytest

from elmokit.tasks.inputs.layer_store import LayerStore
from elmokit.tasks.inputs.lexicon import Lexicon
from elmokit.tasks.inputs.text_batch import ABSENT, text_batch
from task_runs import CPU, tiny_elmo

TEXTS = [["a", "b"], ["c"], ["b", "a", "d"]]


def test_tokens_stand_first_and_padding_after_them() -> None:
    lexicon = Lexicon([])
    batch = text_batch(TEXTS, lexicon, None)
    assert batch.forms.tolist() == [[0, 1, ABSENT], [2, ABSENT, ABSENT], [1, 0, 3]]
    assert batch.layers.tolist() == [[0, 0, 0]] * 3
    assert batch.tokens is TEXTS
    assert batch.to(CPU).tokens is TEXTS


def test_layers_are_numbered_by_their_place_in_the_store() -> None:
    store = LayerStore(tiny_elmo(), device=CPU)
    store.add([TEXTS[2], TEXTS[0]])
    store.add([TEXTS[1]])
    batch = text_batch(TEXTS, Lexicon([]), store)
    assert batch.layers.tolist() == [[3, 4, 0], [5, 0, 0], [0, 1, 2]]


@pytest.mark.parametrize(
    ("longest", "padded"),
    [(1, 8), (8, 8), (9, 16), (64, 64), (65, 80), (128, 128), (129, 160), (256, 256), (257, 320)],
)
def test_rounded_lengths_are_few(tmp_path: Path, longest: int, padded: int) -> None:
    texts = [["a"] * longest, ["a"]]
    exact = text_batch(texts, Lexicon([]), None)
    rounded = text_batch(texts, Lexicon([]), None, rounded=True)
    assert exact.forms.shape == (2, longest)
    assert rounded.forms.shape == rounded.layers.shape == (2, padded)
    assert rounded.forms[:, :longest].equal(exact.forms)
    assert (rounded.forms[:, longest:] == ABSENT).all()
