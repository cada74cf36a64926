"""The character CNN runs once per distinct word, and the cache in front of it is bounded."""

import random
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from elmokit.embed.elmo import Elmo
from elmokit.engine.cpu.embedder import CPUEmbedder
from elmokit.engine.word_vectors import BYTES_PER_WORD, WORDS_AT_ONCE, WordVectors
from elmokit.pretrained.untrained import untrained_checkpoint

VECTOR_BYTES = 32 * 4  # the untrained model's token vectors: 32 float32 numbers
WORD_BYTES = VECTOR_BYTES + BYTES_PER_WORD


class Counter:
    """Counts the words that go into a token encoder."""

    def __init__(self, encoder: nn.Module) -> None:
        self.words = 0
        self.largest = 0
        encoder.register_forward_pre_hook(self._count)

    def _count(self, module: nn.Module, arguments: tuple[Tensor, ...]) -> None:
        del module
        self.words += len(arguments[0])
        self.largest = max(self.largest, len(arguments[0]))


@pytest.fixture
def elmo() -> Elmo:
    return Elmo(untrained_checkpoint(), device="cpu", start="zeros")


@pytest.fixture
def counter(elmo: Elmo) -> Counter:
    return Counter(elmo.bilm.token_encoder)


@pytest.fixture
def portions(elmo: Elmo, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many words go into the engine's encoder, call by call."""
    vectors, sizes = elmo.embedder.word_vectors, list[int]()
    compute = vectors._compute

    def counted(words: Sequence[str]) -> Tensor:
        sizes.append(len(words))
        return compute(words)

    monkeypatch.setattr(vectors, "_compute", counted)
    return sizes


def vectors_with_room_for(elmo: Elmo, words: int) -> WordVectors:
    return WordVectors(elmo.bilm.token_encoder, elmo.indexer, capacity_bytes=words * WORD_BYTES + 1)


def text(words: int, sentences: int, seed: int = 0) -> list[list[str]]:
    draw = random.Random(seed)
    return [
        [f"word{draw.randrange(words)}" for _ in range(draw.randint(1, 12))]
        for _ in range(sentences)
    ]


def test_each_distinct_word_of_a_call_is_computed_once(elmo: Elmo, portions: list[int]) -> None:
    sentences = text(40, 200)
    distinct = {word for sentence in sentences for word in sentence}
    elmo.embed(sentences, batch_tokens=32)
    assert sum(portions) == len(distinct) + 2, "the words and the two marks"


def test_a_second_call_computes_new_words_only(elmo: Elmo, portions: list[int]) -> None:
    sentences = text(40, 50)
    elmo.embed(sentences)
    portions.clear()
    elmo.embed(sentences)
    elmo.embed(sentences[::-1], layers="all", batch_tokens=20)
    assert sum(portions) == 0
    elmo.embed([*sentences, ["unheard", "of", "unheard"]])
    assert sum(portions) == 2


def test_many_words_are_computed_in_portions(elmo: Elmo, portions: list[int]) -> None:
    elmo.embed([[f"word{i}" for i in range(1500)]])
    assert sum(portions) == 1502
    assert max(portions) <= WORDS_AT_ONCE


def test_hits_and_misses_are_counted(elmo: Elmo) -> None:
    words = vectors_with_room_for(elmo, 10)
    words(["a", "b"])
    words(["b", "c", "d"])
    assert (words.hits, words.misses, len(words)) == (1, 4, 4)


@torch.no_grad()
def test_the_cache_gives_what_the_encoder_gives(elmo: Elmo) -> None:
    words = vectors_with_room_for(elmo, 100)
    asked = [f"word{i}" for i in range(30)]
    first = words(asked)
    torch.testing.assert_close(first, words.compute(asked), atol=1e-6, rtol=1e-6)
    assert torch.equal(words(asked[::-1]), first.flip(0))


@torch.no_grad()
def test_what_is_given_out_is_a_copy(elmo: Elmo) -> None:
    words = vectors_with_room_for(elmo, 10)
    kept = words(["a", "b"]).clone()
    words(["a", "b"]).zero_()
    assert torch.equal(words(["a", "b"]), kept)


@torch.no_grad()
def test_the_least_recently_used_words_go_first(elmo: Elmo) -> None:
    words, counter = vectors_with_room_for(elmo, 3), Counter(elmo.bilm.token_encoder)
    words(["a", "b", "c"])
    words(["a"])
    words(["d"])  # takes the place of b
    assert len(words) == 3
    counter.words = 0
    words(["a", "c", "d"])
    assert counter.words == 0
    words(["b"])
    assert counter.words == 1


@torch.no_grad()
@pytest.mark.parametrize("capacity", [0, 1, 2, 7, 50])
def test_a_small_cache_is_right_and_stays_small(elmo: Elmo, capacity: int) -> None:
    words = vectors_with_room_for(elmo, capacity)
    names = [f"word{i}" for i in range(60)]
    expected = dict(zip(names, words.compute(names), strict=True))
    draw = random.Random(1)
    for _ in range(300):
        asked = draw.sample(names, draw.randint(1, 20))
        found = words(asked)
        assert len(words) <= capacity
        for name, vector in zip(asked, found, strict=True):
            torch.testing.assert_close(vector, expected[name], atol=1e-6, rtol=1e-6)


@torch.no_grad()
def test_more_distinct_words_than_room(elmo: Elmo) -> None:
    words = vectors_with_room_for(elmo, 5)
    asked = [f"word{i}" for i in range(20)]
    torch.testing.assert_close(words(asked), words.compute(asked), atol=1e-6, rtol=1e-6)
    assert len(words) <= 5


def test_embedding_with_a_cache_that_holds_next_to_nothing(elmo: Elmo) -> None:
    sentences = text(200, 60)
    expected = elmo.embed(sentences)
    elmo.embedder = CPUEmbedder(
        elmo.bilm, indexer=elmo.indexer, marks=elmo.config.marks, cache_bytes=10 * WORD_BYTES
    )
    for before, after in zip(expected, elmo.embed(sentences, batch_tokens=64), strict=True):
        np.testing.assert_allclose(before, after, atol=1e-6, rtol=1e-6)
    assert len(elmo.embedder.word_vectors) <= 10


@torch.no_grad()
def test_clear_forgets(elmo: Elmo, counter: Counter) -> None:
    words = vectors_with_room_for(elmo, 10)
    words(["a", "b"])
    words.clear()
    assert len(words) == 0
    counter.words = 0
    words(["a", "b"])
    assert counter.words == 2


@torch.no_grad()
def test_another_number_type_empties_the_cache(elmo: Elmo) -> None:
    words = vectors_with_room_for(elmo, 10)
    words(["a", "b"])
    elmo.bilm.to(torch.float64)
    assert words(["a", "c"]).dtype == torch.float64
    assert len(words) == 2


@torch.no_grad()
def test_no_words(elmo: Elmo) -> None:
    assert vectors_with_room_for(elmo, 10).compute([]).shape == (0, 32)


@torch.no_grad()
@pytest.mark.parametrize(("capacity", "asked"), [(10, 5), (1500, 1030)])
def test_the_table_keeps_within_its_bytes(elmo: Elmo, capacity: int, asked: int) -> None:
    words = vectors_with_room_for(elmo, capacity)
    for first in range(0, asked, 5):
        words([f"word{i}" for i in range(first, first + 5)])
    assert words._table is not None
    assert words._table.nbytes <= capacity * VECTOR_BYTES + 1


def test_room_is_counted_with_what_python_needs_for_a_word(elmo: Elmo) -> None:
    vectors = WordVectors(elmo.bilm.token_encoder, elmo.indexer, capacity_bytes=100 * VECTOR_BYTES)
    for number in range(100):
        vectors([f"word{number}"])
    assert len(vectors) * (VECTOR_BYTES + BYTES_PER_WORD) <= 100 * VECTOR_BYTES
    assert len(vectors) == 100 * VECTOR_BYTES // (VECTOR_BYTES + BYTES_PER_WORD)
