"""Windows of text: what each direction reads and predicts, in which order, and when it forgets."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from elmokit.corpus import streams as streams_module
from elmokit.corpus.layout import BEGIN, END
from elmokit.corpus.prepared import Shard, Split, TokenStream
from elmokit.corpus.streams import BACKWARD, FORWARD, DistinctWords, Streams, StreamSettings
from elmokit.errors import InputError

Document = list[list[int]]


def documents(count: int, *, seed: int = 0) -> list[Document]:
    """Make documents whose words occur once each, so that a word tells its place."""
    chance = np.random.default_rng(seed)
    numbers: Iterator[int] = iter(range(3, 10**6))
    return [
        [
            [next(numbers) for _ in range(chance.integers(1, 7))]
            for _ in range(chance.integers(1, 5))
        ]
        for _ in range(count)
    ]


def split_of(text: list[Document], *, shards: int = 1) -> Split:
    ids = [[number for s in document for number in (BEGIN, *s)] for document in text]
    stream = np.array([number for document in ids for number in document], dtype=np.uint32)
    starts = np.cumsum([0, *(len(document) for document in ids[:-1])])
    parts = [Shard(Path(str(n)), part) for n, part in enumerate(np.array_split(stream, shards))]
    return Split(
        tokens=TokenStream(parts, type_count=int(stream.max()) + 1),
        documents=starts.astype(np.int64),
        facts={},
    )


def streams_of(
    text: list[Document], *, shards: int = 1, rows: int = 3, steps: int = 4, **settings: Any
) -> Streams:
    chosen = StreamSettings(rows=rows, steps=steps, **settings)
    return Streams(split_of(text, shards=shards), chosen)


def pairs_of(text: list[Document], direction: int) -> Counter[tuple[int, int]]:
    """Give each (input, target) of one direction, straight from the sentences."""
    pairs: Counter[tuple[int, int]] = Counter()
    for document in text:
        for sentence in document:
            marked = [BEGIN, *sentence, END]
            if direction == BACKWARD:
                marked.reverse()
            pairs.update(pairwise(marked))
    return pairs


def read(streams: Streams, direction: int, epoch: int = 0) -> npt.NDArray[np.int64]:
    """Give all (input, target, reset) that each row reads in an epoch: (B, time, 3)."""
    count = streams.windows_per_epoch
    windows = [streams.window(number) for number in range(epoch * count, (epoch + 1) * count)]
    parts = [
        np.stack([w.inputs[direction], w.targets[direction], w.resets[direction]], axis=-1)
        for w in windows
    ]
    return np.concatenate(parts).transpose(1, 0, 2)


@pytest.mark.parametrize("direction", [FORWARD, BACKWARD])
def test_one_row_reads_whole_sentences(direction: int) -> None:
    text = [[[3, 4, 5], [6]]]
    streams = streams_of(text, rows=1, steps=6)
    inputs, targets = streams.window(0).inputs[direction], streams.window(0).targets[direction]
    if direction == FORWARD:
        assert inputs[:, 0].tolist() == [BEGIN, 3, 4, 5, BEGIN, 6]
        assert targets[:, 0].tolist() == [3, 4, 5, END, 6, END]
    else:
        assert inputs[:, 0].tolist() == [END, 6, END, 5, 4, 3]
        assert targets[:, 0].tolist() == [6, BEGIN, 5, 4, 3, BEGIN]


@pytest.mark.parametrize("direction", [FORWARD, BACKWARD])
@pytest.mark.parametrize(("rows", "steps"), [(1, 1), (3, 4), (7, 5), (16, 20), (200, 3)])
def test_an_epoch_reads_everything_once(direction: int, rows: int, steps: int) -> None:
    text = documents(20)
    streams = streams_of(text, rows=rows, steps=steps)
    total = len(streams.tokens)
    for epoch in (0, 1):
        found = read(streams, direction, epoch)
        assert found.shape[:2] == (rows, streams.windows_per_epoch * steps)
        # Row r has the text from r / rows to (r + 1) / rows; what it reads beyond is the tail.
        starts = np.arange(rows + 1) * total // rows
        own = [found[row, : starts[row + 1] - starts[row], :2] for row in range(rows)]
        assert Counter(map(tuple, np.concatenate(own).tolist())) == pairs_of(text, direction)
        assert found[..., 0].size - total < rows * steps + rows


@pytest.mark.parametrize("direction", [FORWARD, BACKWARD])
def test_the_rows_joined_are_the_shuffled_documents(direction: int) -> None:
    text = documents(20)
    streams = streams_of(text, rows=3, steps=4)
    total = len(streams.tokens)
    found = read(streams, direction)
    starts = np.arange(4) * total // 3
    inputs = np.concatenate([found[r, : starts[r + 1] - starts[r], 0] for r in range(3)])
    # In the order of reading each document is whole, and its words in their order.
    words = [number for number in inputs.tolist() if number > END]
    by_word = {n: index for index, d in enumerate(text) for s in d for n in s}
    order = list(dict.fromkeys(by_word[number] for number in words))
    assert sorted(order) == list(range(20))
    assert order != list(range(20))
    assert order != list(range(19, -1, -1))
    expected = [number for d in order for s in text[d] for number in s]
    if direction == BACKWARD:
        expected = [number for d in order for s in text[d][::-1] for number in s[::-1]]
    assert words == expected


@pytest.mark.parametrize("direction", [FORWARD, BACKWARD])
def test_the_tail_of_a_row_is_the_begin_of_the_next(direction: int) -> None:
    streams = streams_of(documents(20), rows=3, steps=50)
    total = len(streams.tokens)
    found = read(streams, direction)[..., :2]
    starts = np.arange(4) * total // 3
    for row in range(3):
        length = starts[row + 1] - starts[row]
        tail = found[row, length:]
        assert len(tail) > 0
        assert tail.tolist() == found[(row + 1) % 3, : len(tail)].tolist()


@pytest.mark.parametrize("direction", [FORWARD, BACKWARD])
def test_a_row_reads_on_where_it_was(direction: int) -> None:
    text = documents(20)
    short, long = streams_of(text, steps=2), streams_of(text, steps=8)
    count = long.windows_per_epoch
    windows = [short.window(number) for number in range(4 * count)]
    found = np.concatenate([window.inputs[direction] for window in windows])
    expected = np.concatenate([long.window(n).inputs[direction] for n in range(count)])
    within = short.windows_per_epoch * 2
    assert found[:within].tolist() == expected[:within].tolist()


def test_windows_are_a_function_of_seed_and_number() -> None:
    text = documents(30)
    settings: dict[str, Any] = {"document_resets": 0.5, "sentence_resets": 0.3, "seed": 5}
    forwards = streams_of(text, **settings)
    numbers = range(3 * forwards.windows_per_epoch)
    expected = [forwards.window(number) for number in numbers]
    other = streams_of(text, **settings)
    for number in [*reversed(numbers), *numbers[::7]]:
        for own, others in zip(other.window(number), expected[number], strict=True):
            assert np.array_equal(own, others)


def test_seeds_epochs_and_directions_have_orders_of_their_own() -> None:
    text = documents(40)
    orders = {
        tuple(read(streams_of(text, seed=seed), direction, epoch)[0, :20, 0].tolist())
        for seed in (0, 1)
        for direction in (FORWARD, BACKWARD)
        for epoch in (0, 1)
    }
    assert len(orders) == 8
    # Backward is not forward from the other end either.
    forward, backward = (
        read(streams_of(text, rows=1), direction)[0] for direction in (FORWARD, BACKWARD)
    )
    words = [[n for n in part[:, 0].tolist() if n > END][:50] for part in (forward, backward[::-1])]
    assert words[0] != words[1]


def test_several_shards_are_as_good_as_one() -> None:
    text = documents(30)
    one, many = streams_of(text), streams_of(text, shards=7)
    assert one.windows_per_epoch == many.windows_per_epoch
    for number in range(2 * one.windows_per_epoch):
        for own, others in zip(one.window(number), many.window(number), strict=True):
            assert np.array_equal(own, others)


@pytest.mark.parametrize("direction", [FORWARD, BACKWARD])
def test_resets_stand_at_starts_alone_and_about_as_often_as_asked(direction: int) -> None:
    text = documents(600)
    mark = BEGIN if direction == FORWARD else END
    ends = {d[0][0] if direction == FORWARD else d[-1][-1] for d in text}
    found = np.concatenate(read(streams_of(text, sentence_resets=0.3), direction))
    resets = found[found[:, 2] == 1]
    assert {*resets[:, 0].tolist()} == {mark}
    assert len(resets) / np.count_nonzero(found[:, 0] == mark) == pytest.approx(0.3, abs=0.04)
    found = np.concatenate(read(streams_of(text, document_resets=0.5), direction))
    resets = found[found[:, 2] == 1]
    assert {*resets[:, 0].tolist()} == {mark}
    assert {*resets[:, 1].tolist()} <= ends
    starts = np.isin(found[:, 1], list(ends)) & (found[:, 0] == mark)
    assert len(resets) / np.count_nonzero(starts) == pytest.approx(0.5, abs=0.07)


@pytest.mark.parametrize("direction", [FORWARD, BACKWARD])
def test_all_or_no_resets(direction: int) -> None:
    text = documents(50)
    assert read(streams_of(text), direction)[..., 2].sum() == 0
    found = read(streams_of(text, sentence_resets=1.0), direction)
    mark = BEGIN if direction == FORWARD else END
    assert np.array_equal(found[..., 2] == 1, found[..., 0] == mark)
    found = read(streams_of(text, document_resets=1.0), direction)
    first = [d[0][0] if direction == FORWARD else d[-1][-1] for d in text]
    expected = (found[..., 0] == mark) & np.isin(found[..., 1], first)
    assert np.array_equal(found[..., 2] == 1, expected)


def test_resets_differ_from_epoch_to_epoch() -> None:
    streams = streams_of([[[3, 4]] * 100], rows=1, steps=300, sentence_resets=0.5)
    first, second = (read(streams, FORWARD, epoch)[0, :, 2].tolist() for epoch in (0, 1))
    assert first != second


@pytest.mark.parametrize("direction", [FORWARD, BACKWARD])
def test_long_documents_are_cut_for_shuffling(
    monkeypatch: pytest.MonkeyPatch, direction: int
) -> None:
    monkeypatch.setattr(streams_module, "LONGEST_BLOCK", 10)
    chance = np.random.default_rng(0)
    numbers = iter(range(3, 10**6))
    text = [
        [[next(numbers) for _ in range(chance.integers(1, 6))] for _ in range(20)],
        [[next(numbers)]],
    ]
    streams = streams_of(text, rows=1, steps=7, document_resets=1.0)
    found = read(streams, direction)[0]
    total = len(streams.tokens)
    assert Counter(map(tuple, found[:total, :2].tolist())) == pairs_of(text, direction)
    words = [number for number in found[:total, 0].tolist() if number > END]
    jumps = sum(abs(one - two) > 1 for one, two in pairwise(words))
    assert jumps >= 4  # the first document is no longer read in one go
    # A cut is no start of a document.
    assert found[:total, 2].sum() == 2


def test_a_text_shorter_than_its_rows() -> None:
    streams = streams_of([[[3]]], rows=8, steps=5)
    window = streams.window(0)
    assert window.inputs.shape == (2, 5, 8)
    assert {*window.inputs[FORWARD].ravel().tolist()} == {BEGIN, 3}
    assert {*window.targets[BACKWARD].ravel().tolist()} == {BEGIN, 3}


def test_no_text_at_all() -> None:
    nothing = TokenStream([], type_count=3)
    empty = Split(tokens=nothing, documents=np.zeros(0, dtype=np.int64), facts={})
    with pytest.raises(InputError, match="the corpus holds no text to train on"):
        Streams(empty, StreamSettings(rows=1, steps=1))


def test_distinct_words() -> None:
    distinct = DistinctWords(10)
    for ids in ([[5, 2], [5, 9]], [[1, 1], [1, 1]], [[0, 9], [8, 7]]):
        array = np.array(ids)
        words, index = distinct(array)
        assert words.tolist() == sorted({*array.ravel().tolist()})
        assert np.array_equal(words[index], array)
