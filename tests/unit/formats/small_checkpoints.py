"""Small models of every kind, and what the tests of the formats ask of them."""

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from elmokit.config import CharacterConfig, ModelConfig, WordConfig
from elmokit.errors import FormatError, InputError
from elmokit.files import MANIFEST_FILE, sha256_of
from elmokit.formats import many_langs
from elmokit.formats.checkpoint import Checkpoint
from elmokit.pretrained.untrained import untrained_checkpoint
from elmokit.text.chars import DictionaryAlphabet
from elmokit.text.vocabulary import Vocabulary

Change = Callable[[dict[str, Any]], object]

CHARACTERS = CharacterConfig(
    max_characters=8, embedding_dim=3, filters=((1, 2), (2, 3)), highway_layers=1
)
BASE = ModelConfig(characters=CHARACTERS, lstm_dim=6, projection_dim=4)
WORDS = ModelConfig(
    characters=None,
    words=WordConfig(vocabulary_size=7, embedding_dim=4),
    token_projection=False,
    lstm_dim=6,
    projection_dim=4,
)

BILM_CONFIGS = {
    "characters": BASE,
    "tanh": replace(BASE, characters=replace(CHARACTERS, activation="tanh")),
    "no highway": replace(BASE, characters=replace(CHARACTERS, highway_layers=0)),
    "two highways": replace(BASE, characters=replace(CHARACTERS, highway_layers=2)),
    "one filter": replace(BASE, characters=replace(CHARACTERS, filters=((8, 3),))),
    "262 characters": replace(BASE, characters=replace(CHARACTERS, alphabet_size=262)),
    "50 characters": replace(BASE, characters=replace(CHARACTERS, max_characters=50)),
    "one layer": replace(BASE, layers=1),
    "three layers": replace(BASE, layers=3),
    "no lstm projection": replace(BASE, lstm_dim=4, lstm_projection=False),
    "no token projection": replace(BASE, projection_dim=5, token_projection=False),
    "no skip connections": replace(BASE, skip_connections=False),
    "no clipping": replace(BASE, cell_clip=None, projection_clip=None),
    "odd clipping": replace(BASE, cell_clip=0.1, projection_clip=7.25),
    "another tokeniser": replace(BASE, tokeniser="whitespace"),
    "softmax": replace(BASE, softmax_size=9),
    "words": WORDS,
    "words and softmax": replace(WORDS, softmax_size=7),
    "words, one layer": replace(WORDS, layers=1),
    "words, no lstm projection": replace(WORDS, lstm_dim=4, lstm_projection=False),
}

MANY_LANGS = ModelConfig(
    characters=replace(CHARACTERS, alphabet="dictionary", alphabet_size=10),
    words=WordConfig(vocabulary_size=7, embedding_dim=3, longest_word=6),
    lstm_dim=6,
    projection_dim=4,
    forget_bias=0.0,
    marks=many_langs.MARKS,
)
_DICTIONARY = replace(CHARACTERS, alphabet="dictionary", alphabet_size=10)
MANY_LANGS_CONFIGS = {
    "both inputs": MANY_LANGS,
    "characters alone": replace(MANY_LANGS, words=None),
    "words alone": replace(MANY_LANGS, characters=None),
    "tanh": replace(MANY_LANGS, characters=replace(_DICTIONARY, activation="tanh")),
    "no highway": replace(MANY_LANGS, characters=replace(_DICTIONARY, highway_layers=0)),
    "two highways": replace(MANY_LANGS, characters=replace(_DICTIONARY, highway_layers=2)),
    "one layer": replace(MANY_LANGS, layers=1),
    "three layers": replace(MANY_LANGS, layers=3),
    "odd clipping": replace(MANY_LANGS, cell_clip=0.1, projection_clip=7.25),
}


def model(config: ModelConfig = BASE, *, seed: int = 0) -> Checkpoint:
    """A model with random weights and the word lists that its config asks for."""
    size = config.words.vocabulary_size if config.words else config.softmax_size
    words = None if size is None else vocabulary(size, config)
    characters = None
    if config.characters is not None and config.characters.alphabet == "dictionary":
        characters = dictionary(config.characters.alphabet_size)
    return untrained_checkpoint(config, seed=seed, vocabulary=words, characters=characters)


def vocabulary(size: int, config: ModelConfig = BASE) -> Vocabulary:
    """A vocabulary of ``size`` words, the marks of ``config`` first."""
    marks = (config.marks.begin, config.marks.end, config.marks.unknown)
    words = ("the", "größe", "字", "don't", "🙂", "\u200d")
    numbered = tuple(f"word{number}" for number in range(size))
    return Vocabulary((*marks, *words, *numbered)[:size], marks=config.marks)


def dictionary(size: int) -> tuple[str, ...]:
    """A character dictionary of ``size`` entries, with the white space that stands for itself."""
    letters = ("a", "\u3000", "字", "🙂")
    others = tuple(chr(ord("A") + number) for number in range(size))
    return (*DictionaryAlphabet.MARKS, *letters, *others)[:size]


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """The bits of float32 values, so that -0.0 and 0.0 differ."""
    return tensor.contiguous().view(torch.int32)


def assert_same_tensors(found: Checkpoint, expected: Checkpoint) -> None:
    """The same names, the same shapes, the same bits."""
    assert found.tensors.keys() == expected.tensors.keys()
    for name, tensor in expected.tensors.items():
        assert found.tensors[name].dtype == torch.float32
        assert torch.equal(bits(found.tensors[name]), bits(tensor)), name


def assert_same(found: Checkpoint, expected: Checkpoint) -> None:
    """Everything that says what a model is and does is the same."""
    assert_same_tensors(found, expected)
    assert found.config == expected.config
    assert found.vocabulary == expected.vocabulary
    assert found.characters == expected.characters


def change_json(file: Path, change: Change) -> None:
    """Edit a JSON file in place."""
    values = json.loads(file.read_text(encoding="utf-8"))
    change(values)
    file.write_text(json.dumps(values), encoding="utf-8")


def setting(path: str, value: object) -> Change:
    """A change that sets the value at a dotted ``path``."""

    def change(values: dict[str, Any]) -> None:
        *parents, last = path.split(".")
        for parent in parents:
            values = values[parent]
        values[last] = value

    return change


def without(path: str) -> Change:
    """A change that takes out what is at a dotted ``path``."""

    def change(values: dict[str, Any]) -> None:
        *parents, last = path.split(".")
        for parent in parents:
            values = values[parent]
        del values[last]

    return change


def sign(folder: Path) -> None:
    """Make the manifest of a native folder agree with its files, whatever is in them."""
    files = {
        file.name: {"size": file.stat().st_size, "sha256": sha256_of(file)}
        for file in folder.iterdir()
        if file.name != MANIFEST_FILE
    }
    (folder / MANIFEST_FILE).write_text(json.dumps({"files": files}), encoding="utf-8")


@contextmanager
def refuses(file: Path, *pieces: str) -> Iterator[None]:
    """Expect a `FormatError` of one line that starts with ``file`` and holds every piece."""
    with pytest.raises(FormatError) as caught:
        yield
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    assert message.startswith(f"{file}: "), message
    assert caught.value.file == file
    for piece in pieces:
        assert piece in message, message


@contextmanager
def refuses_input(*pieces: str) -> Iterator[None]:
    """Expect an `InputError` of one line that holds every piece."""
    with pytest.raises(InputError) as caught:
        yield
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    for piece in pieces:
        assert piece in message, message


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below ``folder`` with its bytes."""
    return {
        str(file.relative_to(folder)): file.read_bytes() if file.is_file() else b"<folder>"
        for file in sorted(folder.rglob("*"))
    }


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Break off Python code that takes longer, before it has taken all memory too."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except TimeoutError:
        # Raised anew: the traceback of a frame that was stopped anywhere may lack its line.
        raise AssertionError(f"not done within {seconds} s") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
