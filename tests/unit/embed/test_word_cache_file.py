"""Words that were computed once are there when a model is loaded again."""

from pathlib import Path

import numpy as np
import pytest
import torch

import elmokit
from elmokit.embed.elmo import Elmo
from elmokit.embed.word_cache_file import FILE_NAME
from elmokit.engine.word_vectors import BYTES_PER_WORD
from elmokit.errors import FormatError
from elmokit.pretrained.untrained import untrained_checkpoint

SENTENCES = [["the", "cat", "\ud800", "고양이"], ["a", "", "mat", "\n"]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    elmo = Elmo(untrained_checkpoint(), device="cpu")
    elmo.embed(SENTENCES)
    elmo.save(tmp_path / "model", word_cache=True)
    return tmp_path / "model"


def test_loaded_words_are_not_computed_again(folder: Path) -> None:
    elmo = elmokit.load(folder, device="cpu")
    expected = Elmo(untrained_checkpoint(), device="cpu").embed(SENTENCES, layers="all")
    found = elmo.embed(SENTENCES, layers="all")
    assert elmo.embedder.word_vectors.misses == 0
    assert elmo.embedder.word_vectors.hits > 0
    for left, right in zip(found, expected, strict=True):
        np.testing.assert_array_equal(left, right)


def test_without_asking_nothing_is_written(tmp_path: Path) -> None:
    Elmo(untrained_checkpoint(), device="cpu").save(tmp_path / "model")
    assert not (tmp_path / "model" / FILE_NAME).exists()


def test_words_of_another_model_are_not_used(folder: Path, tmp_path: Path) -> None:
    checkpoint = untrained_checkpoint()
    name = "token_encoder.projection.bias"
    checkpoint.tensors[name] = checkpoint.tensors[name] + 1
    Elmo(checkpoint, device="cpu").save(tmp_path / "other")
    (folder / FILE_NAME).rename(tmp_path / "other" / FILE_NAME)
    with pytest.warns(UserWarning, match="words of another model"):
        elmo = elmokit.load(tmp_path / "other", device="cpu")
    assert len(elmo.embedder.word_vectors) == 0


@pytest.mark.parametrize("content", [b"", b"nonsense", None])
def test_damaged_files(folder: Path, content: bytes | None) -> None:
    file = folder / FILE_NAME
    file.write_bytes(file.read_bytes()[:-5] if content is None else content)
    with pytest.raises(FormatError, match="delete it: it only saves time"):
        elmokit.load(folder, device="cpu")


def test_an_empty_cache_is_written_and_read(tmp_path: Path) -> None:
    Elmo(untrained_checkpoint(), device="cpu", start="zeros").save(
        tmp_path / "model", word_cache=True
    )
    assert len(elmokit.load(tmp_path / "model").embedder.word_vectors) == 0


def test_more_words_than_there_is_room_for() -> None:
    vectors = Elmo(untrained_checkpoint(), device="cpu").embedder.word_vectors
    vectors._capacity_bytes = 3 * (32 * 4 + BYTES_PER_WORD)
    vectors.learn(list("abcde"), torch.arange(5.0)[:, None].expand(5, 32))
    assert vectors.known()[0] == ["c", "d", "e"]
    assert vectors(["e"])[0, 0] == 4
