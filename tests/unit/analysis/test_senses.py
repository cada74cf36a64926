"""Occurrences of a word: gathered, clustered, drawn."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import PCA

from elmokit.analysis.context_index import ContextIndex, Occurrence
from elmokit.analysis.context_index_build import build_index
from elmokit.analysis.sense_clusters import centres_of, cluster, plane
from elmokit.analysis.senses import (
    Occurrences,
    draw_senses,
    find_senses,
    gather_occurrences,
    occurrences_in_corpus,
    occurrences_in_index,
    save_senses,
)
from elmokit.embed.elmo import Elmo
from elmokit.embed.load import load
from elmokit.errors import InputError

Array = np.ndarray[tuple[int, ...], np.dtype[np.float32]]


@pytest.fixture(scope="module")
def elmo() -> Elmo:
    return load("tiny-untrained", device="cpu")


def around(centres: list[int], spread: float = 0.2) -> Array:
    """Give unit vectors near to the axes with these numbers."""
    generator = np.random.default_rng(0)
    vectors = np.eye(6)[centres] + spread * generator.normal(size=(len(centres), 6))
    units: Array = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return units


CENTRES = [0] * 5 + [1] * 9 + [2] * 7


def made(centres: list[int], word: str = "bank") -> Occurrences:
    found = [
        Occurrence(word, f"{word} of {number}", 0, len(word), number)
        for number in range(len(centres))
    ]
    return Occurrences(word, found, around(centres))


def test_as_many_clusters_as_there_are_senses() -> None:
    senses = find_senses(made(CENTRES))
    assert [len(sense.members) for sense in senses.senses] == [9, 7, 5]
    assert senses.groups == [3] * 5 + [1] * 9 + [2] * 7
    assert senses.silhouette is not None
    assert senses.silhouette > 0.5


def test_clusters_that_are_asked_for() -> None:
    for count in (1, 2, 4, 21):
        senses = find_senses(made(CENTRES), clusters=count)
        assert len(senses.senses) == count
        assert sum(len(sense.members) for sense in senses.senses) == 21
    assert find_senses(made(CENTRES), clusters=1).silhouette is None


def test_one_sense_is_not_cut() -> None:
    generator = np.random.default_rng(0)
    vectors = generator.normal(size=(60, 200)).astype(np.float32) + 1
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    assert cluster(vectors, None).groups.tolist() == [0] * 60


def test_typical_sentences_are_near_the_centre() -> None:
    occurrences = made(CENTRES)
    senses = find_senses(occurrences)
    vectors = occurrences.vectors
    mean = vectors[5:14].mean(axis=0)
    order = np.argsort(-(vectors[5:14] @ mean)) + 5
    assert [one.row for one in senses.senses[0].members] == order.tolist()
    assert senses.senses[0].typical == senses.senses[0].members[:3]


def test_a_sentence_is_typical_once() -> None:
    word, found, vectors = made([0] * 6)
    same = [Occurrence("bank", "the same", 0, 4, one.row) for one in found]
    (sense,) = find_senses(Occurrences(word, same, vectors), clusters=1).senses
    assert (len(sense.members), len(sense.typical)) == (6, 1)
    assert sense.typical[0] == sense.members[0]


def test_the_plane_is_that_of_principal_components() -> None:
    vectors = around(CENTRES)
    reference = PCA(2).fit_transform(vectors.astype(np.float64))
    # The axes may point the other way.
    np.testing.assert_allclose(np.abs(plane(vectors)), np.abs(reference), atol=1e-6)
    np.testing.assert_array_equal(plane(vectors), plane(vectors.copy()))
    assert plane(vectors[:, :1]).shape == (21, 2)


def test_centres() -> None:
    vectors = np.array([[1, 0], [0, 1], [0, -1]], dtype=np.float32)
    centres = centres_of(vectors, np.array([0, 0, 1]))
    np.testing.assert_allclose(centres, [[0.5**0.5, 0.5**0.5], [0, -1]], atol=1e-6)


def test_the_map_shows_every_occurrence(tmp_path: Path) -> None:
    senses = find_senses(made([0] * 4 + [1] * 6, word="은행"))
    chart = draw_senses(senses).to_dict()
    (records,) = chart["datasets"].values() if "datasets" in chart else [chart["data"]["values"]]
    assert len(records) == 10
    found = {(round(one["x"], 6), round(one["y"], 6)): one for one in records}
    for point, group, one in zip(senses.points, senses.groups, senses.occurrences, strict=True):
        drawn = found[round(float(point[0]), 6), round(float(point[1]), 6)]
        assert drawn["text"] == one.marked
        assert drawn["group"].startswith(f"{group}: *은행* of")
    assert sorted(one["label"] for one in records if one["label"]) == ["1", "2"]
    assert "은행: 10 occurrences" in str(chart["title"])
    save_senses(senses, tmp_path / "map.html")
    assert "*은행* of 3" in (tmp_path / "map.html").read_text(encoding="utf-8")


TEXT = [
    "Bank of the river",
    "nothing here",
    "the bank , a bank",
    "embankment",
    "둑 과 은행 사이",
    "은행 에서",
]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "text.txt").write_text("\n".join(TEXT), encoding="utf-8")
    return tmp_path / "text.txt"


@pytest.mark.parametrize(("word", "count"), [("bank", 3), ("은행", 2)])
def test_text_and_index_give_the_same(
    tmp_path: Path, corpus: Path, elmo: Elmo, word: str, count: int
) -> None:
    build_index([corpus], tmp_path / "index", elmo=elmo, layers=1)
    index = ContextIndex.open(tmp_path / "index")
    by_index = occurrences_in_index(index, word)
    by_text = occurrences_in_corpus([corpus], word, elmo=elmo, layers=1)
    assert len(by_index.found) == count
    assert [one.marked for one in by_index.found] == [one.marked for one in by_text.found]
    np.testing.assert_allclose(by_index.vectors, by_text.vectors, atol=5e-4)  # float16
    gathered = gather_occurrences([tmp_path / "index"], word)
    np.testing.assert_array_equal(gathered.vectors, by_index.vectors)
    with pytest.raises(InputError, match="an index has vectors of one choice of layers"):
        gather_occurrences([tmp_path / "index"], word, layers=1)


def test_casing_and_limit(tmp_path: Path, corpus: Path, elmo: Elmo) -> None:
    build_index([corpus], tmp_path / "index", elmo=elmo)
    index = ContextIndex.open(tmp_path / "index")
    for exact in (
        occurrences_in_corpus([corpus], "bank", elmo=elmo, any_case=False),
        occurrences_in_index(index, "bank", any_case=False),
    ):
        assert [one.word for one in exact.found] == ["bank", "bank"]
    few = occurrences_in_corpus([corpus], "bank", elmo=elmo, limit=2)
    assert [one.marked for one in few.found] == ["*Bank* of the river", "the *bank* , a bank"]
    spread = occurrences_in_index(index, "bank", limit=2)
    assert [one.start for one in spread.found] == [0, 13]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("river", "at least 2 occurrences of 'river' in the text, found 1"),
        ("nowhere", "at least 2 occurrences of 'nowhere' in the text, found 0"),
        ("two words", "word: expected one word, found 'two words'"),
        ("", "word: expected one word, found ''"),
    ],
)
def test_words_that_cannot_be_looked_at(corpus: Path, elmo: Elmo, word: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        find_senses(occurrences_in_corpus([corpus], word, elmo=elmo))


def test_numbers_that_cannot_be() -> None:
    with pytest.raises(InputError, match=r"clusters: expected 1 to 21, .* found 22"):
        find_senses(made(CENTRES), clusters=22)
    with pytest.raises(InputError, match="limit: expected at least 2 occurrences, found 1"):
        gather_occurrences(["demo"], "bank", model="tiny-untrained", limit=1)
