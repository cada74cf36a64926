"""Static vectors as the start of a model that reads words."""

from pathlib import Path

import pytest
import torch

from elmokit.config import CharacterConfig, ModelConfig, WordConfig
from elmokit.errors import FormatError, InputError
from elmokit.lm.assemble import with_vectors
from elmokit.text.vocabulary import Vocabulary

WORDS = Vocabulary(["<S>", "</S>", "<UNK>", "cat", "고양이", "dog"])
CONFIG = ModelConfig(
    characters=None,
    words=WordConfig(vocabulary_size=len(WORDS.words), embedding_dim=4),
    lstm_dim=8,
    projection_dim=3,
)


def test_known_words_by_id_whatever_else_a_file_holds(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text(
        "4 3\nthe 1 1 1\ndog 1 2 3\n고양이 4 5 6\nx 7\n", encoding="utf-8"
    )
    config, known = with_vectors(CONFIG, tmp_path / "v.txt", WORDS)
    assert known.keys() == {5, 4}
    assert torch.equal(known[5], torch.tensor([1.0, 2, 3]))
    assert torch.equal(known[4], torch.tensor([4.0, 5, 6]))
    assert config.words is not None and config.words.embedding_dim == 3
    assert not config.token_projection  # vectors of the projection's size need none


def test_files_that_do_not_help(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("the 1 1 1\n")
    with pytest.raises(FormatError, match=r"v\.txt: holds no word of the corpus; use vectors of"):
        with_vectors(CONFIG, tmp_path / "v.txt", WORDS)
    characters = ModelConfig(characters=CharacterConfig(), lstm_dim=8, projection_dim=3)
    with pytest.raises(InputError, match="vectors: only a model that reads words"):
        with_vectors(characters, tmp_path / "v.txt", WORDS)
