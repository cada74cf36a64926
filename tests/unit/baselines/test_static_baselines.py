"""Static vectors as an object: asked about, saved, evaluated."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from elmokit.baselines.static_evaluation import (
    all_sections,
    evaluate_analogies,
    evaluate_pairs,
    spearman,
)
from elmokit.baselines.static_vectors import StaticVectors
from elmokit.baselines.training_pairs import windows
from elmokit.errors import FormatError, InputError

# Made so that king - man + woman is queen exactly, and lengths differ.
WORDS = ("man", "woman", "king", "queen", "apple", "왕")
VECTORS = np.array(
    [[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 2, 2, 0], [0, 0, 0, 3], [1, 0, 1, 0.5]]
)


@pytest.fixture
def vectors() -> StaticVectors:
    return StaticVectors(WORDS, VECTORS)


def test_neighbours_by_cosine_without_the_word_itself(vectors: StaticVectors) -> None:
    found = vectors.most_similar("king", k=2)
    assert [word for word, _ in found] == ["왕", "man"]
    assert found[0][1] == pytest.approx(2 / (np.sqrt(2) * 1.5), abs=1e-6)
    assert found[1][1] == pytest.approx(1 / np.sqrt(2), abs=1e-6)
    assert len(vectors.most_similar("king", k=99)) == len(WORDS) - 1


def test_sums_and_differences_are_of_unit_vectors(vectors: StaticVectors) -> None:
    query = VECTORS[2] / np.sqrt(2) + VECTORS[1] - VECTORS[0]
    expected = query @ VECTORS[3] / np.linalg.norm(query) / np.linalg.norm(VECTORS[3])
    word, cosine = vectors.most_similar(["king", "woman"], ["man"], k=1)[0]
    assert word == "queen"
    assert cosine == pytest.approx(expected, abs=1e-6)
    assert vectors.analogy("king", "man", "woman", k=1) == [(word, cosine)]


def test_similarity_and_the_odd_one_out(vectors: StaticVectors) -> None:
    assert vectors.similarity("man", "king") == pytest.approx(np.sqrt(0.5), abs=1e-6)
    assert vectors.doesnt_match(["man", "king", "apple", "왕"]) == "apple"


def test_a_vector_of_zeros_is_like_nothing() -> None:
    static = StaticVectors(["a", "b"], np.array([[0.0, 0], [1, 1]]))
    assert static.similarity("a", "b") == 0
    assert static.most_similar("a", k=1) == [("b", 0.0)]


def test_an_unknown_word_is_named_with_one_that_is_there(vectors: StaticVectors) -> None:
    with pytest.raises(InputError, match=r"'Queen' is not among the 6 words .*'queen' is there"):
        vectors.most_similar("Queen")
    with pytest.raises(InputError, match="'여왕' is not among"):
        vectors["여왕"]


@pytest.mark.parametrize(
    ("words", "rows", "message"),
    [
        (["a"], np.ones((2, 3)), r"vectors: expected \(1, size\)"),
        ([], np.ones((0, 3)), r"vectors: expected \(0, size\)"),
        (["a", "a"], np.ones((2, 3)), "words: expected each word once"),
    ],
)
def test_words_and_vectors_that_do_not_fit(
    words: list[str], rows: np.ndarray[tuple[int, int]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        StaticVectors(words, rows)


def test_bad_questions(vectors: StaticVectors) -> None:
    with pytest.raises(InputError, match="positive: expected at least one word"):
        vectors.most_similar([])
    with pytest.raises(InputError, match="k: expected a number of words above 0, found 0"):
        vectors.most_similar("man", k=0)
    with pytest.raises(InputError, match="words: expected at least two, found 1"):
        vectors.doesnt_match(["man"])


def test_saved_and_loaded(tmp_path: Path, vectors: StaticVectors) -> None:
    vectors.save(tmp_path / "v.txt.gz")
    again = StaticVectors.load(tmp_path / "v.txt.gz")
    assert again.words == WORDS
    assert np.array_equal(again.vectors, vectors.vectors)
    some = StaticVectors.load(tmp_path / "v.txt.gz", limit=1, wanted=["왕"])
    assert some.words == ("man", "왕")
    with pytest.raises(InputError, match="holds none of the wanted words"):
        StaticVectors.load(tmp_path / "v.txt.gz", limit=0, wanted=["x"])


def test_analogies_by_section(tmp_path: Path, vectors: StaticVectors) -> None:
    (tmp_path / "questions.txt").write_text(
        ": royal family\nman king woman queen\nman king woman apple\nman king woman unheard\n"
        ": backwards\nking man queen woman\n",
        encoding="utf-8",
    )
    first, second = evaluate_analogies(vectors, tmp_path / "questions.txt")
    assert (first.section, first.correct, first.answered, first.left_out) == (
        "royal family",
        1,
        2,
        1,
    )
    assert first.accuracy == 0.5
    assert (second.section, second.correct, second.answered) == ("backwards", 1, 1)


def test_words_that_are_known_in_lower_case_alone(tmp_path: Path, vectors: StaticVectors) -> None:
    file = tmp_path / "words.txt"
    file.write_text(": a\nMan King Woman Queen\n: b\nMan King Woman Prince\n")
    first, second = evaluate_analogies(vectors, file)
    assert (first.correct, first.answered, first.accuracy) == (1, 1, 1.0)
    assert (second.answered, second.left_out, second.accuracy) == (0, 1, None)
    overall = all_sections([first, second])
    assert (overall.correct, overall.answered, overall.left_out) == (1, 1, 1)
    file.write_text("KING Man 7\nking Apple 1\nking 왕 9\n", encoding="utf-8")
    found = evaluate_pairs(vectors, file)
    assert found.spearman == pytest.approx(1)
    assert (found.pairs, found.left_out) == (3, 0)
    other = StaticVectors(("may", "May"), np.eye(2))
    assert (other.find("May"), other.find("MAY"), other.find("june")) == (1, 0, None)


def test_broken_files_of_questions(tmp_path: Path, vectors: StaticVectors) -> None:
    file = tmp_path / "questions.txt"
    file.write_text(": a\nman king woman\n")
    with pytest.raises(FormatError, match=r"questions\.txt: line 2: expected four words"):
        evaluate_analogies(vectors, file)
    file.write_text(": a\n")
    with pytest.raises(FormatError, match="holds no questions"):
        evaluate_analogies(vectors, file)


@pytest.mark.parametrize("seed", range(5))
def test_spearman_is_that_of_scipy(seed: int) -> None:
    random = np.random.default_rng(seed)
    first, second = random.integers(0, 8, 40), random.normal(size=40)  # the first has many ties
    second[:5] = second[0]
    found = spearman(first.tolist(), second.tolist())
    assert found == pytest.approx(stats.spearmanr(first, second).statistic, abs=1e-12)


def test_spearman_of_what_does_not_vary() -> None:
    assert np.isnan(spearman([1, 1, 1], [1, 2, 3]))
    with pytest.raises(InputError, match="two lists of the same length from 2 up, found 1, 1"):
        spearman([1], [2])


def test_pairs_are_ranked(tmp_path: Path, vectors: StaticVectors) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text(
        "word1\tword2\tscore\nking\t왕\t9.5\nking man 7\n# a remark\nking,apple,1.0\nking x 2\n",
        encoding="utf-8",
    )
    found = evaluate_pairs(vectors, file)
    assert found.spearman == pytest.approx(1)
    assert (found.pairs, found.left_out) == (3, 1)
    file.write_text("king man 7\nking woman much\n")
    with pytest.raises(FormatError, match=r"pairs\.tsv: line 2: expected two words and a number"):
        evaluate_pairs(vectors, file)
    file.write_text("king man 7\nking x 3\n")
    with pytest.raises(InputError, match="1 of 2 pairs have vectors, expected at least 2"):
        evaluate_pairs(vectors, file)


def test_windows_of_a_sentence() -> None:
    found = windows(["나는", "강가에", "앉아", "쉬었다"], 1)
    assert [each.skipgram for each in found[:2]] == [
        [("나는", "강가에")],
        [("강가에", "나는"), ("강가에", "앉아")],
    ]
    assert (found[-1].context, found[-1].centre) == (("앉아",), "쉬었다")
    fox = windows(["The", "quick", "brown", "fox", "jumps", "over", "the", "lazy", "dog"], 2)
    assert sum(len(each.skipgram) for each in fox) == 30
    with pytest.raises(InputError, match="window: expected a number of words above 0, found 0"):
        windows(["a", "b"], 0)
    with pytest.raises(InputError, match="at least two words, found 1"):
        windows(["a"])
