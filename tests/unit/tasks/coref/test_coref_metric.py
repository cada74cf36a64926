"""The coreference measures against worked cases, a slow reference, scorch, and properties.

The cases of `CASES` and their expected recall and precision are those of the test suite of the
CoNLL reference scorer (A: its authors'; D, E: Bagga & Baldwin 1998; F to L: Vilain et al. 1995).
"""

import builtins
import itertools
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from scorch.scores import b_cubed, ceaf_e, muc

from elmokit.errors import MissingExtraError
from elmokit.tasks.coref.metric import coref_scores

Clusters = list[list[tuple[int, int]]]

NONE = dict.fromkeys(("muc", "b3", "ceaf", "mention"), ("0", "0"))
# Key, response, and as (recall, precision) what is known of MUC, B³ and CEAFφ4.
CASES: dict[str, tuple[str, str, dict[str, tuple[str, str]]]] = {
    "A-1": ("a bc def", "a bc def", {"muc": ("1", "1"), "b3": ("1", "1"), "ceaf": ("1", "1")}),
    "A-2": (
        "a bc def",
        "a de",
        {"muc": ("1/3", "1"), "b3": ("7/18", "1"), "ceaf": ("9/15", "9/10")},
    ),
    "A-3": (
        "a bc def",
        "a bcx defy z",
        {"muc": ("1", "3/5"), "b3": ("1", "55/108"), "ceaf": ("93/105", "93/140")},
    ),
    "A-4": (
        "a bc def",
        "a bcx dy z",
        {"muc": ("1/3", "1/3"), "b3": ("5/9", "17/42"), "ceaf": ("11/15", "11/20")},
    ),
    "A-5": (
        "a bc def",
        "a bcxB dy z",
        {"muc": ("1/3", "1/4"), "b3": ("5/9", "5/16"), "ceaf": ("31/45", "31/60")},
    ),
    "A-6": (
        "a bc def",
        "a bcx dy Bz",
        {"muc": ("1/3", "1/4"), "b3": ("5/9", "17/48"), "ceaf": ("11/15", "11/20")},
    ),
    "A-10": ("a bc def", "a b c d e f", {"muc": ("0", "0"), "b3": ("1/2", "1")}),
    "A-11": ("a bc def", "abcdef", {"muc": ("1", "3/5"), "b3": ("1", "7/18")}),
    "A-12": ("a bc def", "a x y c d e z", {"muc": ("0", "0"), "b3": ("13/36", "4/7")}),
    "A-13": ("a bc def", "axycdez", {"muc": ("1/3", "1/6"), "b3": ("17/36", "6/49")}),
    "D-1": ("12345 67 89ABC", "12345 6789ABC", {"muc": ("1", "9/10"), "b3": ("1", "16/21")}),
    "E-1": ("12345 67 89ABC", "1234589ABC 67", {"muc": ("1", "9/10"), "b3": ("1", "7/12")}),
    "F-1": ("ABCD", "AB CD", {"muc": ("2/3", "1")}),
    "G-1": ("AB CD", "ABCD", {"muc": ("1", "2/3")}),
    "J-1": ("ABC", "AC", {"muc": ("1/2", "1")}),
    "K-1": ("BCDEGHJ", "ABC DEF GHI", {"muc": ("1/2", "1/2")}),
    "L-1": ("ABC DEFG", "AB CD FGH", {"muc": ("2/5", "2/4")}),
    "N-1": ("a b c d e f", "a b c d e f", {"muc": ("0", "0"), "b3": ("1", "1")}),
    "nothing found": ("ab cd", "", NONE),
    "nothing there": ("", "ab", NONE),
    "nothing at all": ("", "", NONE),
    "mentions": ("a bcd", "ab cx", {"mention": ("3/4", "3/4")}),
}


def spelled(text: str) -> Clusters:
    """Give clusters from words whose letters are mentions."""
    return [[(ord(letter), ord(letter)) for letter in word] for word in text.split()]


@pytest.mark.parametrize("case", CASES)
def test_worked_cases(case: str) -> None:
    key, response, expected = CASES[case]

    scores = coref_scores([spelled(key)], [spelled(response)])

    for measure, (recall, precision) in expected.items():
        assert scores[f"{measure}_recall"] == pytest.approx(100 * float(Fraction(recall)))
        assert scores[f"{measure}_precision"] == pytest.approx(100 * float(Fraction(precision)))


def test_f1_is_the_mean_of_three() -> None:
    scores = coref_scores([spelled("a bc def")], [spelled("a bcx dy z")])

    assert scores["muc_f1"] == pytest.approx(100 / 3)
    assert scores["b3_f1"] == pytest.approx(46.83, abs=0.005)
    assert scores["ceaf_f1"] == pytest.approx(100 * 4.4 / 7)
    assert scores["f1"] == pytest.approx(
        (scores["muc_f1"] + scores["b3_f1"] + scores["ceaf_f1"]) / 3
    )
    assert scores["mention_f1"] == pytest.approx(100 * 2 * (4 / 6) * (4 / 7) / (4 / 6 + 4 / 7))


def test_counts_of_documents_are_added_before_they_are_divided() -> None:
    scores = coref_scores([spelled("abcde"), spelled("ab")], [spelled("abcde"), spelled("xy")])

    assert scores["muc_recall"] == pytest.approx(100 * 4 / 5)  # the mean would be 50
    assert scores["b3_precision"] == pytest.approx(100 * 5 / 7)
    assert scores["ceaf_recall"] == pytest.approx(100 * 1 / 2)


def test_the_same_mention_in_another_document_is_another_one() -> None:
    scores = coref_scores([spelled("ab"), spelled("")], [spelled(""), spelled("ab")])

    assert scores["mention_f1"] == 0.0


def test_random_clusterings_score_as_the_reference_does() -> None:
    source = random.Random(0)
    for _ in range(60):
        gold = [_random_clusters(source) for _ in range(source.randint(1, 3))]
        found = [_random_clusters(source) for _ in gold]

        scores = coref_scores(gold, found)

        for name, value in _reference_scores(gold, found).items():
            assert scores[name] == pytest.approx(value), (name, gold, found)


def test_random_clusterings_score_as_scorch_does() -> None:
    source = random.Random(2)
    measures = {"muc": muc, "b3": b_cubed, "ceaf": ceaf_e}
    compared = 0
    for _ in range(100):
        gold, found = _random_clusters(source), _random_clusters(source)
        if not set(itertools.chain(*gold)) & set(itertools.chain(*found)):
            continue  # scorch divides by nothing
        compared += 1
        ours = coref_scores([gold], [found])
        for name, measure in measures.items():
            recall, precision, f1 = measure(list(map(set, gold)), list(map(set, found)))
            # Float64 sums in two orders.
            assert ours[f"{name}_recall"] == pytest.approx(100 * recall, abs=1e-9)
            assert ours[f"{name}_precision"] == pytest.approx(100 * precision, abs=1e-9)
            assert ours[f"{name}_f1"] == pytest.approx(100 * f1, abs=1e-9)
    assert compared > 50


def test_the_order_of_clusters_and_mentions_does_not_matter() -> None:
    source = random.Random(1)
    gold, found = _random_clusters(source), _random_clusters(source)

    def shuffled(clusters: Clusters) -> Clusters:
        mixed = [source.sample(cluster, len(cluster)) for cluster in clusters]
        return source.sample(mixed, len(mixed))

    assert coref_scores([gold], [found]) == pytest.approx(
        coref_scores([shuffled(gold)], [shuffled(found)])
    )


def test_without_scipy_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refused(name: str, *arguments: Any, **options: Any) -> Any:
        if name.startswith("scipy"):
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", refused)
    with pytest.raises(MissingExtraError, match=r"elmokit\[tasks\]"):
        coref_scores([spelled("ab")], [spelled("ab")])


def _random_clusters(source: random.Random) -> Clusters:
    mentions = source.sample(range(9), source.randint(0, 8))
    homes = [source.randrange(4) for _ in mentions]
    clusters = [
        [(mention, mention + 1) for mention, home in zip(mentions, homes, strict=True) if home == h]
        for h in range(4)
    ]
    return [cluster for cluster in clusters if cluster]


def _reference_scores(gold: Sequence[Clusters], found: Sequence[Clusters]) -> dict[str, float]:
    """Straight from the definitions, mention by mention, trying all pairings for CEAF."""
    scores = {}
    for measure, count in (("muc", _muc), ("b3", _b3), ("ceaf", _ceaf)):
        recall = _ratio([count(a, b) for a, b in zip(gold, found, strict=True)])
        precision = _ratio([count(b, a) for a, b in zip(gold, found, strict=True)])
        f1 = 2 * recall * precision / (recall + precision) if recall + precision else 0.0
        scores[f"{measure}_recall"] = 100 * recall
        scores[f"{measure}_precision"] = 100 * precision
        scores[f"{measure}_f1"] = 100 * f1
    scores["f1"] = (scores["muc_f1"] + scores["b3_f1"] + scores["ceaf_f1"]) / 3
    return scores


def _ratio(counts: list[tuple[float, float]]) -> float:
    part, whole = (sum(column) for column in zip(*counts, strict=True))
    return part / whole if whole else 0.0


def _muc(key: Clusters, response: Clusters) -> tuple[float, float]:
    kept = links = 0
    for cluster in key:
        pieces = set()
        for mention in cluster:
            homes = [place for place, other in enumerate(response) if mention in other]
            pieces.add(homes[0] if homes else mention)
        kept += len(cluster) - len(pieces)
        links += len(cluster) - 1
    return kept, links


def _b3(key: Clusters, response: Clusters) -> tuple[float, float]:
    total, count = 0.0, 0
    for cluster in key:
        for mention in cluster:
            count += 1
            for other in response:
                if mention in other:
                    total += len(set(cluster) & set(other)) / len(cluster)
    return total, count


def _ceaf(key: Clusters, response: Clusters) -> tuple[float, float]:
    few, many = sorted((key, response), key=len)
    best = 0.0
    for chosen in itertools.permutations(many, len(few)):
        pairs = zip(few, chosen, strict=True)
        best = max(best, sum(2 * len(set(a) & set(b)) / (len(a) + len(b)) for a, b in pairs))
    return best, len(key)
