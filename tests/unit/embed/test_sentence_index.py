"""The index of sentences, in memory and on disk."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmokit.embed import sentence_index
from elmokit.embed.sentence_index import SentenceIndex
from elmokit.errors import InputError

SENTENCES = ["a b", "", 'with "quotes" and \\', "가나다", "nul \x00", "half \ud800", "a b"]
EXPECTED = {"a b": "6", **{sentence: str(n) for n, sentence in enumerate(SENTENCES) if 0 < n < 6}}


def filled(folder: Path, sentences: list[str]) -> SentenceIndex:
    index = SentenceIndex(folder)
    for number, sentence in enumerate(sentences):
        index.add(sentence, str(number))
    return index


def test_in_memory(tmp_path: Path) -> None:
    index = filled(tmp_path, SENTENCES)
    assert not index.is_on_disk
    assert json.loads(index.text()) == EXPECTED
    index.close()


def test_nothing(tmp_path: Path) -> None:
    assert filled(tmp_path, []).text() == "{}"


@pytest.mark.parametrize("kept", [0, 200, 500])
def test_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    monkeypatch.setattr(sentence_index, "BYTES_KEPT", kept)
    index = filled(tmp_path, SENTENCES)
    assert index.is_on_disk
    stream = index.stream()
    content = stream.read()
    assert json.loads(content) == EXPECTED
    assert content.decode() == content.decode().strip()
    index.close()
    assert stream.closed
    assert not list(tmp_path.iterdir())


@given(sentences=st.lists(st.text(st.characters())))
def test_on_disk_and_in_memory_are_the_same(
    tmp_path_factory: pytest.TempPathFactory, sentences: list[str]
) -> None:
    folder = tmp_path_factory.getbasetemp()
    expected = json.loads(filled(folder, sentences).text())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentence_index, "BYTES_KEPT", 400)
        index = filled(folder, [*sentences, "x" * 400])
        found = json.loads(index.stream().read())
        index.close()
    assert found == {**expected, "x" * 400: str(len(sentences))}


def test_too_much_is_said_as_soon_as_it_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sentence_index, "BYTES_KEPT", 1000)
    monkeypatch.setattr(sentence_index, "MOST_BYTES", 5_000_000)
    index = SentenceIndex(tmp_path)
    with pytest.raises(InputError, match=r"at most 5 MB of sentences; write a \.parquet file"):
        for number in range(10_000):
            index.add(f"{number} {'x' * 1000}", str(number))
    assert 4000 < number < 5000
    index.close()
