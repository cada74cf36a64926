"""Random weights of a published size, in the formats that the peers read."""

import string
from dataclasses import dataclass, replace
from pathlib import Path

from elmokit.config import CharacterConfig, ModelConfig, WordConfig
from elmokit.formats import bilm_hdf5, many_langs
from elmokit.pretrained.untrained import untrained_checkpoint
from elmokit.text.vocabulary import Vocabulary
from embed.contenders import Size
from embed.protocol import Sentences

CONFIGS: dict[Size, ModelConfig] = {
    "original": ModelConfig(),
    "small": ModelConfig(
        characters=CharacterConfig(highway_layers=1), lstm_dim=1024, projection_dim=128
    ),
}
# What every published model of ELMoForManyLangs has beside the sizes of ELMo.
MANY_LANGS_WORD_DIM = 100
MANY_LANGS_CHARACTER_DIM = 50
MANY_LANGS_WORDS = 20_000


@dataclass(frozen=True)
class Weights:
    """Folders with the weights of one size; None where there are none."""

    bilm: str | None = None
    """Options and HDF5 as bilm-tf writes them, or the name of our bundled model."""
    many_langs: str | None = None
    """The format of ELMoForManyLangs."""


def make_weights(size: Size, folder: Path, text: Sentences) -> Weights:
    """Write the weights of a size unless they are there already."""
    if size == "bundled":
        return Weights(bilm="english-base")
    bilm_folder, many_folder = folder / size / "bilm", folder / size / "many_langs"
    bilm_folder.parent.mkdir(parents=True, exist_ok=True)
    if not bilm_folder.exists():
        # Without the note that they are untrained, of which loading would warn.
        bilm_hdf5.write(replace(untrained_checkpoint(CONFIGS[size]), metadata={}), bilm_folder)
    if not many_folder.exists():
        _write_many_langs(CONFIGS[size], many_folder, text)
    return Weights(bilm=str(bilm_folder), many_langs=str(many_folder))


def _write_many_langs(config: ModelConfig, folder: Path, text: Sentences) -> None:
    assert config.characters is not None
    marks = ("<bos>", "<eos>", "<oov>", "<pad>", "<bow>", "<eow>")
    characters = (*marks, *string.ascii_letters, *string.digits, *string.punctuation)
    longest = config.characters.max_characters - 2
    distinct = dict.fromkeys(word[:longest] for sentence in text for word in sentence)
    words = dict.fromkeys(["<oov>", "<bos>", "<eos>", "<pad>", *distinct])
    vocabulary = Vocabulary(list(words)[:MANY_LANGS_WORDS], marks=many_langs.MARKS)
    config = replace(
        config,
        characters=replace(
            config.characters,
            alphabet="dictionary",
            alphabet_size=len(characters),
            embedding_dim=MANY_LANGS_CHARACTER_DIM,
        ),
        words=WordConfig(
            vocabulary_size=len(vocabulary),
            embedding_dim=MANY_LANGS_WORD_DIM,
            longest_word=longest,
        ),
        forget_bias=0.0,
        marks=many_langs.MARKS,
    )
    checkpoint = untrained_checkpoint(config, vocabulary=vocabulary, characters=characters)
    many_langs.write(replace(checkpoint, metadata={}), folder)
