from collections.abc import Callable

import pytest

from elmokit.config import CharacterConfig, ModelConfig, WordConfig
from elmokit.embed.elmo import Elmo
from elmokit.embed.start_state import Start
from elmokit.pretrained.untrained import untrained_checkpoint
from elmokit.text.vocabulary import Vocabulary

MakeElmo = Callable[..., Elmo]

SMALL_CONFIG = ModelConfig(
    characters=CharacterConfig(
        filters=((1, 4), (2, 8), (3, 12)), embedding_dim=4, highway_layers=1
    ),
    lstm_dim=24,
    projection_dim=8,
)
WORDS = ("<S>", "</S>", "<UNK>", "the", "cat", "sat", "on", "mat", ".")
WORD_CONFIG = ModelConfig(
    characters=None,
    words=WordConfig(vocabulary_size=len(WORDS), embedding_dim=8),
    token_projection=False,
    lstm_dim=24,
    projection_dim=8,
)


@pytest.fixture(scope="session")
def make_elmo() -> MakeElmo:
    """Make a small character model, a fresh one each time and always the same weights."""

    def make(
        config: ModelConfig = SMALL_CONFIG, *, start: Start = "warm", dtype: str = "float32"
    ) -> Elmo:
        return Elmo(untrained_checkpoint(config), device="cpu", dtype=dtype, start=start)

    return make


@pytest.fixture(scope="session")
def elmo(make_elmo: MakeElmo) -> Elmo:
    """A small character model for tests that leave it as it is."""
    return make_elmo()


@pytest.fixture(scope="session")
def word_elmo() -> Elmo:
    """A small model that reads words of a vocabulary."""
    checkpoint = untrained_checkpoint(WORD_CONFIG, vocabulary=Vocabulary(WORDS))
    return Elmo(checkpoint, device="cpu")
