"""`verify`: sound models pass, broken ones are told from them."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from elmokit.config import CharacterConfig, ModelConfig, WordConfig
from elmokit.embed.verify import verify
from elmokit.formats import detect, native
from elmokit.formats.checkpoint import Checkpoint
from elmokit.pretrained import bundled_names
from elmokit.pretrained.untrained import TINY_CONFIG, untrained_checkpoint
from elmokit.text.vocabulary import Vocabulary

NAMES = ["files", "finite output", "batch independence", "directions"]


def word_checkpoint(words: tuple[str, ...]) -> Checkpoint:
    config = ModelConfig(
        characters=None,
        words=WordConfig(vocabulary_size=len(words) + 3, embedding_dim=8),
        token_projection=False,
        lstm_dim=24,
        projection_dim=8,
    )
    return untrained_checkpoint(config, vocabulary=Vocabulary(("<S>", "</S>", "<UNK>", *words)))


@pytest.mark.parametrize(
    "config",
    [
        TINY_CONFIG,
        replace(TINY_CONFIG, skip_connections=False, layers=1),
        replace(TINY_CONFIG, softmax_size=20),
    ],
)
def test_a_sound_model_passes_every_check(tmp_path: Path, config: ModelConfig) -> None:
    native.write(untrained_checkpoint(config), tmp_path / "model")
    checks = verify(tmp_path / "model")
    assert [check.name for check in checks] == NAMES
    assert [check.ok for check in checks] == [True] * 4
    assert "SHA-256" in checks[0].detail


def test_the_bundled_models_and_hdf5(tmp_path: Path) -> None:
    for name in bundled_names():
        assert [check.ok for check in verify(name)] == [True] * 4
    detect.write(untrained_checkpoint(), tmp_path / "model.hdf5")
    checks = verify(tmp_path / "model.hdf5")
    assert [check.ok for check in checks] == [True] * 4
    assert "SHA-256" not in checks[0].detail, "hdf5 has none"


def test_a_word_model_that_knows_the_words(tmp_path: Path) -> None:
    native.write(word_checkpoint(("the", "bank", "of", "Zebra", ".")), tmp_path / "model")
    assert [check.ok for check in verify(tmp_path / "model")] == [True] * 4


def test_a_word_model_of_another_language(tmp_path: Path) -> None:
    native.write(word_checkpoint(("我", "你", "好", "。")), tmp_path / "model")
    assert [check.ok for check in verify(tmp_path / "model")] == [True] * 4


def test_a_damaged_file_stops_at_the_files(tmp_path: Path) -> None:
    native.write(untrained_checkpoint(), tmp_path / "model")
    weights = tmp_path / "model" / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    (check,) = verify(tmp_path / "model")
    assert (check.name, check.ok) == ("files", False)
    assert "model.safetensors" in check.detail


def test_a_model_whose_words_are_all_alike_fails(tmp_path: Path) -> None:
    native.write(untrained_checkpoint(scale=0.0), tmp_path / "model")
    checks = verify(tmp_path / "model")
    assert [(check.name, check.ok) for check in checks] == [
        ("files", True),
        ("finite output", False),
    ]


def test_a_model_whose_output_is_not_finite_fails(tmp_path: Path) -> None:
    config = ModelConfig(
        characters=CharacterConfig(filters=((1, 8),), highway_layers=0),
        lstm_dim=8,
        projection_dim=8,
        layers=1,
        cell_clip=None,
        projection_clip=None,
    )
    checkpoint = untrained_checkpoint(config)
    for direction in ("forward", "backward"):
        name = f"{direction}_lstm.layers.0.projection_weight"
        checkpoint.tensors[name] = torch.full((8, 8), 3e38)
    native.write(checkpoint, tmp_path / "model")
    checks = verify(tmp_path / "model")
    assert (checks[-1].name, checks[-1].ok) == ("finite output", False)


def test_a_missing_model() -> None:
    (check,) = verify("no/such/model")
    assert not check.ok
    assert "no such file or folder" in check.detail
