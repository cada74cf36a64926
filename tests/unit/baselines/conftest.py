from collections.abc import Callable
from pathlib import Path

import pytest

from elmokit.cli.main import run
from elmokit.config import CharacterConfig, ModelConfig
from elmokit.embed.elmo import Elmo
from elmokit.formats.checkpoint import Checkpoint
from elmokit.pretrained.untrained import untrained_checkpoint
from elmokit.text.vocabulary import Vocabulary
from unit.baselines.synonyms import synonym_text

Shell = Callable[..., tuple[int, str, str]]

# Not in the order that counting a text gives, and with a word that the text lacks.
WORDS = ("the", "blick", "tove", "</S>", "ate", "grass", "never", "<S>", "fresh", "<UNK>", "요괴")


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    """Run a command; gives the exit code and what was printed."""

    def call(*arguments: object) -> tuple[int, str, str]:
        code = run([str(argument) for argument in arguments])
        return (code, *capsys.readouterr())

    return call


@pytest.fixture(scope="session")
def checkpoint() -> Checkpoint:
    """A small model with a softmax over `WORDS`."""
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
def bilm(checkpoint: Checkpoint) -> Elmo:
    return Elmo(checkpoint, device="cpu")


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """A file of sentences with made-up synonyms, in English and Korean."""
    file = tmp_path / "text.txt"
    file.write_text(synonym_text(), encoding="utf-8")
    return file
