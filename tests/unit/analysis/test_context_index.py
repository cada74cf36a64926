"""Building an index, opening it, asking it; and what happens when something is wrong with it."""

import gzip
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elmokit.analysis import context_index_build
from elmokit.analysis.context_index import ContextIndex, is_index
from elmokit.analysis.context_index_build import build_index
from elmokit.analysis.demo_index import demo_index
from elmokit.embed.elmo import Elmo
from elmokit.embed.layer_choice import Layers, Vectors
from elmokit.embed.load import load
from elmokit.errors import FormatError, InputError
from elmokit.files import write_manifest
from elmokit.pretrained.untrained import untrained_checkpoint

SENTENCES = [
    "The play ended .",
    "She didn't play the Bank.",
    "",
    "A bank by the river, a bank of sand",
    "그는 은행에 갔다 .",
    "The play ended .",
    "강 둑에서 그는 은행에 앉았다 .",
]


@pytest.fixture(scope="module")
def elmo() -> Elmo:
    return load("tiny-untrained", device="cpu")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    file = tmp_path / "text.txt"
    file.write_text("\n".join(SENTENCES) + "\n", encoding="utf-8")
    return file


@pytest.fixture
def folder(tmp_path: Path, corpus: Path, elmo: Elmo) -> Path:
    build_index([corpus], tmp_path / "index", elmo=elmo, source="tiny-untrained")
    return tmp_path / "index"


def units(vectors: Vectors) -> Vectors:
    shortened: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return shortened


@pytest.mark.parametrize(
    ("layers", "same"), [("top", 2), (0, 0), (-2, 1), ([0.5, 0.0, 2.0], [0.5, 0.0, 2.0])]
)
def test_every_token_is_kept_with_its_vector_and_sentence(
    tmp_path: Path, corpus: Path, elmo: Elmo, layers: Layers, same: Layers
) -> None:
    summary = build_index([corpus], tmp_path / "index", elmo=elmo, layers=layers)
    index = ContextIndex.open(tmp_path / "index", verify=True)
    kept = [text for text in SENTENCES if text]
    tokens = [elmo.tokenise(text) for text in kept]
    assert len(index) == summary.occurrences == sum(map(len, tokens))
    assert summary.sentences == 6
    row = 0
    for text, cut, vectors in zip(
        kept,
        tokens,
        elmo.embed(kept, layers=same),
        strict=True,
    ):
        for token, vector in zip(cut, units(vectors), strict=True):
            occurrence = index.occurrence(row)
            assert (occurrence.word, occurrence.sentence) == (token.text, text)
            assert (occurrence.start, occurrence.end) == (token.start, token.end)
            # A number of float16 below 1 is off by at most 2 ** -12.
            np.testing.assert_allclose(index.vectors[row], vector, atol=2.5e-4)
            row += 1
    assert index.vectors.dtype == np.float16


def test_nearest_is_the_same_word_in_the_same_place(folder: Path, elmo: Elmo) -> None:
    index = ContextIndex.open(folder, elmo=elmo)
    first = index.most_similar("The *play* ended now .", k=1)[0]
    assert first.marked == "The *play* ended ."
    assert 0.5 < first.similarity < 1
    expected = units(elmo.embed(["The play ended now ."], layers=2)[0])[1]
    found = index.similar_by_vector(7 * expected, k=3)
    assert (found[0].row, found[0].sentence) == (first.row, first.sentence)
    assert [one.similarity for one in found] == sorted((o.similarity for o in found), reverse=True)
    cosine = float(index.vectors[first.row].astype(np.float64) @ expected)
    assert first.similarity == pytest.approx(cosine, abs=1e-6)


def test_no_sentence_comes_twice_nor_that_of_the_question(folder: Path) -> None:
    index = ContextIndex.open(folder)  # loads the model that the index names
    found = index.most_similar("The *play* ended .", k=10)
    sentences = [one.sentence for one in found]
    assert sorted(sentences) == sorted({text for text in SENTENCES if text and text[:4] != "The "})
    again = index.similar_by_vector(index.vectors[1], k=10)
    assert [one.sentence for one in again].count("The play ended .") == 1
    assert again[0].similarity == pytest.approx(1, abs=1e-3)


def test_korean(folder: Path) -> None:
    index = ContextIndex.open(folder)
    (first, *_) = index.most_similar("그는 *은행에* 들렀다 .", k=2)
    assert first.marked == "그는 *은행에* 갔다 ."
    assert [one.marked for one in index.occurrences_of("은행에")] == [
        "그는 *은행에* 갔다 .",
        "강 둑에서 그는 *은행에* 앉았다 .",
    ]


def test_occurrences_of_a_word(folder: Path) -> None:
    index = ContextIndex.open(folder)
    assert [one.word for one in index.occurrences_of("BANK")] == ["Bank", "bank", "bank"]
    assert [one.start for one in index.occurrences_of("bank", any_case=False)] == [2, 23]
    assert index.occurrences_of("nowhere") == []


@pytest.mark.parametrize(
    ("skip", "words"),
    [
        ("punctuation", ["She", "did", "n't", "play", "the", "Bank"]),
        ("function-words", ["She", "play", "Bank"]),
    ],
)
def test_skipping(tmp_path: Path, elmo: Elmo, skip: str, words: list[str]) -> None:
    (tmp_path / "text").write_text("She didn't play the Bank.\n. . .\n")
    build_index([tmp_path / "text"], tmp_path / "index", elmo=elmo, skip=skip)
    index = ContextIndex.open(tmp_path / "index")
    kept = [word for word in words if word != "She" or skip == "punctuation"]
    assert [index.occurrence(row).word for row in range(len(index))] == kept
    # What is skipped is still context.
    whole = units(elmo.embed(["She didn't play the Bank."], layers="top")[0])
    np.testing.assert_allclose(index.vectors[-1], whole[5], atol=2.5e-4)
    assert index.facts.sentences == 1


def test_limit_packed_files_folders_and_tokens(tmp_path: Path, elmo: Elmo) -> None:
    (tmp_path / "corpus").mkdir()
    with gzip.open(tmp_path / "corpus" / "a.txt.gz", "wt") as stream:
        stream.write("one two.\nthree four\n")
    (tmp_path / "corpus" / "b.txt").write_text("five six\n")
    arguments: dict[str, Any] = {"elmo": elmo, "tokenised": True}
    build_index([tmp_path / "corpus"], tmp_path / "all", **arguments)
    index = ContextIndex.open(tmp_path / "all", elmo=elmo)
    assert [index.occurrence(row).word for row in range(len(index))] == [
        "one", "two.", "three", "four", "five", "six",
    ]  # fmt: skip
    assert index.most_similar("one *two.*", 1)[0].sentence in ("three four", "five six")
    few = build_index(
        [tmp_path / "corpus"],
        tmp_path / "few",
        limit_tokens=5,
        **arguments,
    )
    assert (few.occurrences, few.sentences) == (4, 2)


def test_records_and_problems(tmp_path: Path, elmo: Elmo) -> None:
    (tmp_path / "a.jsonl").write_text('{"t": "a b"}\n{"x": 1}\n')
    summary = build_index([tmp_path / "a.jsonl"], tmp_path / "index", elmo=elmo, field="t")
    assert summary.occurrences == 2
    assert summary.problems["no_field"]["count"] == 1
    assert "a.jsonl:2" in summary.problems["no_field"]["examples"][0]


def test_bounds_change_nothing(
    tmp_path: Path, corpus: Path, elmo: Elmo, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setattr(context_index_build, "FEWEST_FOR_BOUNDS", 1)
    text = tmp_path / "many.txt"
    text.write_text("".join(f"{n} bank of {n % 7} play {n % 11} end\n" for n in range(200)))
    build_index([text], tmp_path / "bounded", elmo=elmo)
    monkeypatch.setattr(context_index_build, "FEWEST_FOR_BOUNDS", 10**9)
    build_index([text], tmp_path / "plain", elmo=elmo)
    bounded, plain = (
        ContextIndex.open(tmp_path / name, elmo=elmo) for name in ("bounded", "plain")
    )
    assert (tmp_path / "bounded" / "head.npy").exists()
    assert not (tmp_path / "plain" / "head.npy").exists()
    question = "3 bank of a *play* 5 end"
    assert bounded.most_similar(question, 5) == plain.most_similar(question, 5)


def test_approximate(tmp_path: Path, corpus: Path, elmo: Elmo, folder: Path) -> None:
    pytest.importorskip("faiss")
    build_index([corpus], tmp_path / "faiss", elmo=elmo, faiss=True)
    index = ContextIndex.open(tmp_path / "faiss", elmo=elmo)
    question = "The *play* ended now ."
    # One cell holds all of so few: nothing is missed.
    assert index.most_similar(question, 3, approximate=True) == index.most_similar(question, 3)
    with pytest.raises(InputError, match=r"no approximate index; build it with faiss=True"):
        ContextIndex.open(folder, elmo=elmo).most_similar(question, approximate=True)
    (tmp_path / "faiss" / "approximate.faiss").write_bytes(b"nothing")
    write_manifest_of(tmp_path / "faiss")
    with pytest.raises(FormatError, match=r"approximate\.faiss: is no index of faiss"):
        ContextIndex.open(tmp_path / "faiss", elmo=elmo).most_similar(question, approximate=True)


def write_manifest_of(folder: Path) -> None:
    (folder / "manifest.json").unlink()
    write_manifest(folder)


def test_another_model_is_told_by_its_weights(folder: Path) -> None:
    other = Elmo(untrained_checkpoint(seed=1), device="cpu")
    with pytest.raises(
        FormatError,
        match=r"index was made with the model 'tiny-untrained' \(weights [0-9a-f]{12}\)",
    ):
        ContextIndex.open(folder, elmo=other)
    with pytest.raises(InputError, match=r"made it with start='warm', found start='zeros'"):
        ContextIndex.open(folder, elmo=load("tiny-untrained", start="zeros"))


def test_a_model_that_is_gone_is_named(tmp_path: Path, corpus: Path, elmo: Elmo) -> None:
    build_index([corpus], tmp_path / "index", elmo=elmo, source=tmp_path / "gone")
    index = ContextIndex.open(tmp_path / "index")
    with pytest.raises(InputError, match=r"made with the model 'tiny-untrained', which cannot"):
        index.most_similar("a *b*")
    assert index.similar_by_vector(index.vectors[0], 1)  # needs no model


@pytest.mark.parametrize("name", ["vectors.npy", "occurrences.npy", "sentences.txt"])
def test_a_file_that_breaks_off(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[:-3])
    with pytest.raises(
        FormatError, match=rf"{name}: damaged.*made with the model 'tiny-untrained'"
    ):
        ContextIndex.open(folder)
    (folder / name).unlink()
    with pytest.raises(FormatError, match=rf"{name}: missing.*made with the model"):
        ContextIndex.open(folder)


def test_changed_bytes_are_found_when_asked_for(folder: Path) -> None:
    content = bytearray((folder / "vectors.npy").read_bytes())
    content[-1] ^= 1
    (folder / "vectors.npy").write_bytes(content)
    ContextIndex.open(folder)
    with pytest.raises(FormatError, match=r"vectors\.npy: damaged or edited.*tiny-untrained"):
        ContextIndex.open(folder, verify=True)


def test_facts_that_do_not_fit(folder: Path) -> None:
    facts = json.loads((folder / "index.json").read_text())
    for change, message in (
        ({"dim": 65}, r"vectors\.npy: wrong content: expected float16 of shape \(\d+, 65\)"),
        ({"version": 2}, r"index\.json: unknown version: expected 1, found 2"),
        ({"extra": 2}, r"index\.json: index: unknown key 'extra'"),
    ):
        (folder / "index.json").write_text(json.dumps(facts | change))
        write_manifest_of(folder)
        with pytest.raises(FormatError, match=message):
            ContextIndex.open(folder)
    (folder / "index.json").write_text(json.dumps(facts | {"sentences": 1}))
    with pytest.raises(FormatError, match=r"index\.json: damaged"):
        ContextIndex.open(folder)


def test_no_index(tmp_path: Path, folder: Path) -> None:
    assert is_index(folder)
    assert not is_index(tmp_path)
    with pytest.raises(FormatError, match=r"is no index \(it has no index\.json\); build one"):
        ContextIndex.open(tmp_path)


def test_replacing(tmp_path: Path, corpus: Path, elmo: Elmo, folder: Path) -> None:
    with pytest.raises(InputError, match=r"exists already"):
        build_index([corpus], folder, elmo=elmo)
    build_index([corpus], folder, elmo=elmo, overwrite=True, layers=0)
    assert ContextIndex.open(folder).facts.layer == 0
    shutil.copy(corpus, folder / "mine.txt")
    with pytest.raises(InputError, match=r"'mine\.txt', which is no part"):
        build_index([corpus], folder, elmo=elmo, overwrite=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layers": 3}, "layer: this model has layers 0 to 2, found 3"),
        ({"layers": "all"}, "layer: expected 'top', 'average'"),
        ({"layers": [1.0, 2.0]}, "one weight for each of the 3 layers"),
        ({"skip": "verbs"}, "skip: expected one of nothing, punctuation, function-words, found"),
        ({"limit_tokens": 0}, "limit_tokens: expected a number above 0, found 0"),
        ({"limit_tokens": 1}, "holds no token that is kept"),
    ],
)
def test_what_cannot_be_built(
    tmp_path: Path, corpus: Path, elmo: Elmo, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        build_index([corpus], tmp_path / "index", elmo=elmo, **change)
    assert not (tmp_path / "index").exists()


def test_an_empty_corpus(tmp_path: Path, elmo: Elmo) -> None:
    (tmp_path / "empty").write_text("")
    with pytest.raises(InputError, match=r"holds no token that is kept \(.*empty: is empty\)"):
        build_index([tmp_path / "empty"], tmp_path / "index", elmo=elmo)
    with pytest.raises(InputError, match=r"no such file or folder"):
        build_index([tmp_path / "none"], tmp_path / "index", elmo=elmo)
    with pytest.raises(InputError, match=r"found start='carry'"):
        build_index([], tmp_path / "i", elmo=load("tiny-untrained", start="carry"))


def test_bad_questions(folder: Path) -> None:
    index = ContextIndex.open(folder)
    for text, message in (
        ("no mark", "expected one word between asterisks.*found 0 in 'no mark'"),
        ("*two* *marks*", "found 2 in"),
        ("She *didn't* sit", "found \"didn't\", where the tokens are 'did', \"n't\""),
    ):
        with pytest.raises(InputError, match=message):
            index.most_similar(text)
    with pytest.raises(InputError, match="k: expected a whole number above 0, found 0"):
        index.most_similar("a *play*", k=0)
    with pytest.raises(InputError, match="vector: expected 64 finite numbers"):
        index.similar_by_vector([1.0, 2.0])
    with pytest.raises(InputError, match="vector: expected 64 finite numbers, not all 0"):
        index.similar_by_vector(np.zeros(64))


def test_the_text_of_the_package(elmo: Elmo) -> None:
    index = demo_index(elmo=elmo, layers=1)
    assert index.facts.sentences > 300
    assert {word: len(index.occurrences_of(word)) > 10 for word in ("bank", "play", "spring")} == {
        "bank": True,
        "play": True,
        "spring": True,
    }
    assert len(index.most_similar("A *bank* by the river")) == 10
