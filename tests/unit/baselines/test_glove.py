"""GloVe: counts, loss and gradients against direct computation, and what it learns."""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from elmokit.baselines import cooccurrences
from elmokit.baselines.cooccurrences import count_cooccurrences
from elmokit.baselines.corpus_text import opened_corpus
from elmokit.baselines.glove import fit, gradients, started, train_glove
from elmokit.errors import InputError
from unit.baselines.synonyms import synonym_text


def direct_counts(sentences: list[list[int]], window: int) -> dict[tuple[int, int], float]:
    """Count both directions one pair at a time, as the paper describes."""
    found: dict[tuple[int, int], float] = {}
    for sentence in sentences:
        for (i, one), (j, two) in itertools.permutations(enumerate(sentence), 2):
            if abs(i - j) <= window:
                found[one, two] = found.get((one, two), 0.0) + 1 / abs(i - j)
    return found


@pytest.mark.parametrize("window", [1, 3, 10])
@pytest.mark.parametrize("pairs_at_once", [8, 2**23])  # with 8, windows reach over steps
def test_counts_are_those_of_the_definition(
    window: int, pairs_at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cooccurrences, "_PAIRS_AT_ONCE", pairs_at_once)
    random = np.random.default_rng(window)
    sentences = [random.integers(0, 7, random.integers(1, 9)).tolist() for _ in range(40)]
    pieces = [
        np.array([word for sentence in part for word in (-1, *sentence)])
        for part in (sentences[:13], sentences[13:])
    ]
    found = count_cooccurrences(pieces, vocabulary_size=7, window=window)
    assert (found.first <= found.second).all()
    both = found.mirrored()
    as_dict = {
        (int(a), int(b)): w for a, b, w in zip(both.first, both.second, both.weights, strict=True)
    }
    expected = direct_counts(sentences, window)
    assert as_dict.keys() == expected.keys()
    for pair, weight in expected.items():
        assert as_dict[pair] == pytest.approx(weight, rel=1e-12)


def direct_loss(
    centres: np.ndarray[tuple[int, int]],
    contexts: np.ndarray[tuple[int, int]],
    counts: list[float],
) -> float:
    """Give equation 8 of the paper, halved, for rows of vector, bias, 1 / vector, 1, bias."""
    total = 0.0
    for centre, context, count in zip(centres, contexts, counts, strict=True):
        product = sum(a * b for a, b in zip(centre[:-2], context[:-2], strict=True))
        error = product + centre[-2] + context[-1] - math.log(count)
        total += 0.5 * (min(count / 10, 1) ** 0.75) * error**2
    return total


def test_loss_and_gradients_by_differences_in_float64() -> None:
    random = np.random.default_rng(0)
    centres, contexts = random.normal(size=(2, 6, 5))  # three numbers, bias, 1
    centres[:, -1], contexts[:, -2] = 1, 1
    counts = [0.5, 1.0, 3.5, 9.0, 10.0, 250.0]
    found = gradients(
        torch.from_numpy(centres), torch.from_numpy(contexts), torch.tensor(counts).double(),
        most=10, power=0.75,
    )  # fmt: skip
    loss = direct_loss(centres, contexts, counts)
    assert float(found.losses.sum()) == pytest.approx(loss, rel=1e-12)
    step = 1e-6
    for table, gradient, fixed in (
        (centres, found.centres, 4), (contexts, found.contexts, 3)
    ):  # fmt: skip
        for row, column in itertools.product(range(6), range(5)):
            if column == fixed:  # a row's 1 stays
                assert gradient[row, column] == 0
                continue
            kept = table[row, column]
            table[row, column] = kept + step
            above = direct_loss(centres, contexts, counts)
            table[row, column] = kept - step
            below = direct_loss(centres, contexts, counts)
            table[row, column] = kept
            # Central differences in float64 are good for about ten digits.
            expected = (above - below) / (2 * step)
            assert float(gradient[row, column]) == pytest.approx(expected, rel=1e-6, abs=1e-8)


def test_one_step_of_adagrad_by_hand() -> None:
    pairs = cooccurrences.Cooccurrences(np.array([0]), np.array([1]), np.array([4.0]))
    before = started(vocabulary_size=2, dim=3, seed=5)
    after = fit(
        pairs, vocabulary_size=2, dim=3, epochs=1, seed=5, most=10, power=0.75, learning_rate=0.05
    )
    w, c = before.centres[0].double(), before.contexts[1].double()
    slope = (0.4**0.75) * (w @ c - math.log(4))
    gradient = slope * c
    expected = w - 0.05 * gradient / torch.sqrt(1 + gradient**2)
    # In float32.
    assert torch.allclose(after.centres[0, :-1].double(), expected[:-1], atol=1e-6)
    assert after.centres[0, -1] == 1
    assert torch.equal(after.centres[1], before.centres[1])  # never a centre


def test_the_loss_falls_and_products_become_logarithms() -> None:
    random = np.random.default_rng(0)
    words = np.minimum(random.geometric(0.25, 4000), 12) - 1  # counts from about 1 to hundreds
    pairs = count_cooccurrences([words], vocabulary_size=12, window=4).mirrored()
    losses: list[float] = []
    model = fit(
        pairs, vocabulary_size=12, dim=16, epochs=600, seed=0, most=10, power=0.75,
        learning_rate=0.05, batch_size=32, progress=lambda _, loss: losses.append(loss),
    )  # fmt: skip
    assert losses[-1] < 0.001 * losses[0]
    products = (model.centres @ model.contexts.T).numpy()
    found = products[pairs.first, pairs.second]
    assert np.ptp(np.log(pairs.weights)) > 4
    assert np.abs(found - np.log(pairs.weights)).max() < 0.2


def test_made_up_synonyms_come_together(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(synonym_text(), encoding="utf-8")
    with opened_corpus([tmp_path / "text.txt"]) as corpus:
        vectors = train_glove(corpus, dim=10, window=4, epochs=25, min_count=5, seed=0)
        again = train_glove(corpus, dim=10, window=4, epochs=25, min_count=5, seed=0)
        other = train_glove(corpus, dim=10, window=4, epochs=2, min_count=5, seed=1)
    assert vectors.most_similar("blick", k=1)[0][0] == "tove"
    assert vectors.most_similar("도깨비", k=1)[0][0] == "요괴"
    assert np.array_equal(vectors.vectors, again.vectors)
    assert not np.array_equal(vectors.vectors, other.vectors)
    assert "rare" not in vectors and not {"<S>", "</S>", "<UNK>"} & set(vectors.words)


def test_a_corpus_too_small(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("a b\n")
    no_words = pytest.raises(InputError, match="min_count: no word of the corpus occurs 2 times")
    with opened_corpus([tmp_path / "text.txt"]) as corpus, no_words:
        train_glove(corpus, dim=2, window=2, epochs=1, min_count=2, seed=0)
    (tmp_path / "text.txt").write_text("a\nb\n")
    no_pairs = pytest.raises(InputError, match="no two words of the vocabulary stand near")
    with opened_corpus([tmp_path / "text.txt"]) as corpus, no_pairs:
        train_glove(corpus, dim=2, window=2, epochs=1, min_count=1, seed=0)
