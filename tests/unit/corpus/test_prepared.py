"""A prepared folder as training sees it, and what is said about folders that are none."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elmokit.corpus.layout import BEGIN, END, UNKNOWN
from elmokit.corpus.prepare import prepare
from elmokit.corpus.prepared import PreparedCorpus, Shard, TokenStream
from elmokit.errors import FormatError, InputError

TEXT = "the cat sat\nthe dog\n\nthe cat\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    (tmp_path / "valid.txt").write_text("the fish\n", encoding="utf-8")
    prepare(
        tmp_path / "text.txt",
        tmp_path / "corpus",
        valid=tmp_path / "valid.txt",
        vocabulary_size=5,
        processes=1,
    )
    return tmp_path / "corpus"


def change(folder: Path, **changes: Any) -> None:
    file = folder / "corpus.json"
    facts = json.loads(file.read_text(encoding="utf-8")) | changes
    file.write_text(json.dumps(facts), encoding="utf-8")


def test_what_it_holds(folder: Path) -> None:
    corpus = PreparedCorpus(folder)
    words = corpus.words
    assert words[: UNKNOWN + 1] == ["<S>", "</S>", "<UNK>"]
    assert (words[BEGIN], words[END]) == ("<S>", "</S>")
    assert words[3:5] == ["the", "cat"]
    assert sorted(words[5:]) == ["dog", "fish", "sat"]
    assert (corpus.type_count, corpus.vocabulary_size, corpus.tokeniser) == (8, 5, "words")
    assert list(corpus.vocabulary().words) == words[:5]
    assert list(corpus.vocabulary(6).words) == words[:6]
    split = corpus.split("train")
    assert split is not None
    ids = split.tokens.take(np.arange(len(split.tokens)))
    assert " ".join(words[number] for number in ids) == "<S> the cat sat <S> the dog <S> the cat"
    assert split.documents.tolist() == [0, 7]
    assert (split.facts["words"], split.facts["sentences"]) == (7, 3)
    valid = corpus.split("valid")
    assert valid is not None
    assert len(valid.tokens) == 3
    assert corpus.split("test") is None


def stream_of(arrays: list[Any], type_count: int = 100) -> TokenStream:
    shards = [Shard(Path(f"train-{number:05d}.npy"), ids) for number, ids in enumerate(arrays)]
    return TokenStream(shards, type_count=type_count)


def test_a_stream_over_several_files_is_one_array() -> None:
    whole = np.arange(10, dtype=np.uint16) * 7
    places = np.array([[0, 9, 3], [2, 4, 4]])
    for cuts in ([], [3], [0, 5, 9], [1, 2, 3, 4]):
        stream = stream_of(np.split(whole, cuts))
        assert len(stream) == 10
        taken = stream.take(places)
        assert taken.dtype == np.int64
        assert taken.tolist() == whole[places].tolist()


@pytest.mark.parametrize("shards", [1, 2, 5])
def test_ids_that_no_word_has(shards: int) -> None:
    """They are found when they are asked for, and the shard is named."""
    whole = np.array([0, 3, 4, 0, 7, 3, 0, 4, 8, 3], np.uint16)
    stream = stream_of(np.array_split(whole, shards), type_count=8)
    fine = np.array([[0, 4], [9, 7]])
    assert stream.take(fine).tolist() == [[0, 7], [3, 4]]
    assert stream.take(fine[:0]).tolist() == []
    with pytest.raises(FormatError) as caught:
        stream.take(np.array([[0, 8], [9, 7]]))
    assert str(caught.value) == (
        f"train-{8 * shards // 10:05d}.npy: an id that no word has: expected less than 8, the "
        "types in corpus.json, found 8; the files are damaged or not of one preparation: prepare "
        "the corpus again"
    )


def test_a_damaged_shard_is_named(folder: Path) -> None:
    ids = np.load(folder / "train-00000.npy")
    ids[-1] = 8
    np.save(folder / "train-00000.npy", ids)
    split = PreparedCorpus(folder).split("train")
    assert split is not None
    assert split.tokens.take(np.arange(9)).max() < 8
    with pytest.raises(FormatError, match=rf"{folder / 'train-00000.npy'}: .* found 8; "):
        split.tokens.take(np.arange(10))


@pytest.mark.parametrize("make", [lambda path: None, Path.mkdir, Path.touch])
def test_folders_that_are_none(tmp_path: Path, make: Any) -> None:
    make(tmp_path / "corpus")
    with pytest.raises(InputError, match=r"corpus: no prepared corpus.*elmo prepare CORPUS -o"):
        PreparedCorpus(tmp_path / "corpus")


def test_facts_that_are_no_json(folder: Path) -> None:
    (folder / "corpus.json").write_text("{", encoding="utf-8")
    with pytest.raises(FormatError, match=r"corpus\.json: is not valid JSON"):
        PreparedCorpus(folder)


def test_another_version(folder: Path) -> None:
    change(folder, format_version=9)
    with pytest.raises(FormatError, match=r"expected 1, found 9; prepare the corpus again"):
        PreparedCorpus(folder)


@pytest.mark.parametrize("key", ["tokeniser", "types", "vocabulary_size", "splits"])
def test_facts_of_the_wrong_kind(folder: Path, key: str) -> None:
    change(folder, **{key: None})
    with pytest.raises(FormatError, match=f"key missing or of the wrong kind .key '{key}'"):
        PreparedCorpus(folder)


def test_a_wrong_number_of_words(folder: Path) -> None:
    (folder / "words.txt").write_text("<S>\n</S>\n<UNK>\nthe\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"words\.txt: wrong number of words: expected 8, found"):
        _ = PreparedCorpus(folder).words


def test_missing_words(folder: Path) -> None:
    (folder / "words.txt").unlink()
    with pytest.raises(FormatError, match=r"words\.txt: cannot be read"):
        _ = PreparedCorpus(folder).words


@pytest.mark.parametrize("name", ["train-00000.npy", "train-documents.npy"])
def test_arrays_that_are_missing_or_damaged(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    for damaged in (content[:-1], content[:20], b"", b"no array at all"):
        (folder / name).write_bytes(damaged)
        with pytest.raises(FormatError, match=f"{name}: .*; prepare the corpus again"):
            PreparedCorpus(folder).split("train")
    (folder / name).unlink()
    with pytest.raises(FormatError, match=f"{name}: cannot be read"):
        PreparedCorpus(folder).split("train")


@pytest.mark.parametrize(
    "array", [np.zeros(10, np.float32), np.zeros(9, np.uint16), np.zeros((10, 1), np.uint16)]
)
def test_arrays_of_the_wrong_kind(folder: Path, array: Any) -> None:
    np.save(folder / "train-00000.npy", array)
    with pytest.raises(FormatError, match=r"train-00000\.npy: wrong content: expected 10 ids"):
        PreparedCorpus(folder).split("train")


def test_wrong_starts_of_documents(folder: Path) -> None:
    starts = np.load(folder / "train-documents.npy")
    for wrong in (starts + 1, starts[::-1], np.zeros_like(starts), starts * 100):
        np.save(folder / "train-documents.npy", wrong)
        with pytest.raises(FormatError, match=r"train-documents\.npy: wrong starts of documents"):
            PreparedCorpus(folder).split("train")


def test_pickled_arrays_are_not_opened(folder: Path) -> None:
    np.save(folder / "train-00000.npy", np.array([{}] * 10), allow_pickle=True)
    with pytest.raises(FormatError, match=r"train-00000\.npy: "):
        PreparedCorpus(folder).split("train")
