"""The softmax's losses against direct float64 computation, and the sampler's distribution.

N positions, P size of a direction, V vocabulary, S sampled words
"""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from elmokit.nn.softmax import Candidates, LanguageModelSoftmax, sample_candidates

WORDS, SIZE, POSITIONS = 40, 6, 11


@pytest.fixture
def softmax() -> LanguageModelSoftmax:
    torch.manual_seed(1)
    module = LanguageModelSoftmax(vocabulary_size=WORDS, dim=SIZE).double()
    torch.nn.init.normal_(module.weight)
    torch.nn.init.normal_(module.bias)
    return module


@pytest.fixture
def hidden() -> Tensor:
    return seeded_normal(POSITIONS, SIZE, seed=2)


@pytest.fixture
def targets() -> Tensor:
    return torch.tensor([0, 1, 2, 39, 38, 5, 5, 20, 17, 0, 11])


def seeded_normal(*shape: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def log_uniform(vocabulary_size: int) -> np.ndarray:
    ranks = np.arange(vocabulary_size)
    return np.asarray(np.log((ranks + 2) / (ranks + 1)) / np.log(vocabulary_size + 1))


def expected_counts(ids: list[int], tries: int) -> np.ndarray:
    return np.asarray(1 - (1 - log_uniform(WORDS)[ids]) ** tries)


def logits_of(softmax: LanguageModelSoftmax, hidden: Tensor) -> np.ndarray:
    weight, bias = softmax.weight.detach().numpy(), softmax.bias.detach().numpy()
    return np.asarray(hidden.detach().numpy() @ weight.T + bias)  # (N, V)


def direct_full_loss(softmax: LanguageModelSoftmax, hidden: Tensor, targets: Tensor) -> np.ndarray:
    losses = []
    for scores, target in zip(logits_of(softmax, hidden), targets.tolist(), strict=True):
        losses.append(-math.log(math.exp(scores[target]) / np.exp(scores).sum()))
    return np.array(losses)


def direct_sampled_loss(
    softmax: LanguageModelSoftmax, hidden: Tensor, targets: Tensor, ids: list[int], tries: int
) -> np.ndarray:
    losses = []
    for scores, target in zip(logits_of(softmax, hidden), targets.tolist(), strict=True):
        own = math.exp(scores[target]) / expected_counts([target], tries)[0]
        others = [
            math.exp(scores[word]) / expected_counts([word], tries)[0]
            for word in ids
            if word != target
        ]
        losses.append(-math.log(own / (own + sum(others))))
    return np.array(losses)


def assert_close(found: Tensor, expected: np.ndarray, tolerance: float = 1e-12) -> None:
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=0, atol=tolerance)


def test_full_loss(softmax: LanguageModelSoftmax, hidden: Tensor, targets: Tensor) -> None:
    loss = softmax.full_loss(hidden, targets)
    assert loss.shape == (POSITIONS,)
    assert_close(loss, direct_full_loss(softmax, hidden, targets))


@pytest.mark.parametrize("chunk", [1, 4, POSITIONS, 1000])
def test_chunks_do_not_matter(
    softmax: LanguageModelSoftmax, hidden: Tensor, targets: Tensor, chunk: int
) -> None:
    assert_close(
        softmax.full_loss(hidden, targets, chunk=chunk), direct_full_loss(softmax, hidden, targets)
    )


def test_chunks_do_not_matter_to_gradients(
    softmax: LanguageModelSoftmax, hidden: Tensor, targets: Tensor
) -> None:
    gradients = []
    for chunk in (3, 1000):
        softmax.zero_grad()
        torch.autograd.backward(softmax.full_loss(hidden, targets, chunk=chunk).sum())
        assert softmax.weight.grad is not None
        gradients.append(softmax.weight.grad.clone())
    torch.testing.assert_close(gradients[0], gradients[1])


def test_full_loss_of_large_scores(softmax: LanguageModelSoftmax, targets: Tensor) -> None:
    """Scores whose exponential overflows still have finite losses."""
    loss = softmax.full_loss(1e4 * seeded_normal(POSITIONS, SIZE, seed=3), targets)
    assert loss.isfinite().all()


def test_no_positions(softmax: LanguageModelSoftmax) -> None:
    nothing = torch.zeros(0, SIZE, dtype=torch.float64)
    ids = torch.zeros(0, dtype=torch.int64)
    assert softmax.full_loss(nothing, ids).shape == (0,)
    candidates = Candidates(torch.tensor([1, 2]), 3)
    assert softmax.sampled_loss(nothing, ids, candidates).shape == (0,)


@pytest.mark.parametrize("tries", [7, 30, 1000])
def test_sampled_loss(
    softmax: LanguageModelSoftmax, hidden: Tensor, targets: Tensor, tries: int
) -> None:
    ids = [3, 0, 7, 19, 39, 2, 25]  # targets among them
    loss = softmax.sampled_loss(hidden, targets, Candidates(torch.tensor(ids), tries))
    assert loss.shape == (POSITIONS,)
    assert_close(loss, direct_sampled_loss(softmax, hidden, targets, ids, tries), 1e-10)


def test_accidental_hits_are_removed(softmax: LanguageModelSoftmax, hidden: Tensor) -> None:
    """A candidate that is the target changes nothing for that position, and for others does."""
    targets = torch.tensor([5] * (POSITIONS - 1) + [6])
    with_hit = softmax.sampled_loss(hidden, targets, Candidates(torch.tensor([1, 5, 9]), 8))
    without = softmax.sampled_loss(hidden, targets, Candidates(torch.tensor([1, 9]), 8))
    torch.testing.assert_close(with_hit[:-1], without[:-1])
    assert (with_hit[-1] - without[-1]).abs() > 1e-3


def test_only_hits_leave_nothing_to_lose(softmax: LanguageModelSoftmax, hidden: Tensor) -> None:
    targets = torch.full((POSITIONS,), 5)
    softmax.zero_grad()
    loss = softmax.sampled_loss(hidden, targets, Candidates(torch.tensor([5]), 1))
    assert_close(loss, np.zeros(POSITIONS))
    torch.autograd.backward(loss.sum())
    assert softmax.weight.grad is not None
    assert softmax.weight.grad.isfinite().all()


def test_expected_counts(softmax: LanguageModelSoftmax) -> None:
    """TensorFlow's: the chance that a word is among the distinct ones of so many tries."""
    ids = list(range(WORDS))
    for tries in (1, 9, 500):
        found = softmax._log_expected_count(torch.tensor(ids), tries).exp()
        assert_close(found, expected_counts(ids, tries))
    once = softmax._log_expected_count(torch.tensor(ids), 1).exp()
    assert float(once.sum()) == pytest.approx(1)


def test_expected_counts_of_rare_words_in_a_large_vocabulary() -> None:
    """Small chances keep their digits: 1 - (1 - p) would lose half of them."""
    module = LanguageModelSoftmax(vocabulary_size=800_000, dim=1)
    rarest = torch.tensor([799_999])
    chance = 1 / 800_000 / math.log(800_001)
    assert module._log_expected_count(rarest, 1).exp().item() == pytest.approx(chance, rel=1e-5)


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_all_words_as_candidates_give_the_full_loss(
    softmax: LanguageModelSoftmax, hidden: Tensor, targets: Tensor, kind: torch.dtype
) -> None:
    module = softmax.to(kind)
    candidates = sample_candidates(WORDS, WORDS)
    assert sorted(candidates.ids.tolist()) == list(range(WORDS))
    sampled = module.sampled_loss(hidden.to(kind), targets, candidates)
    full = module.full_loss(hidden.to(kind), targets)
    assert sampled.dtype == kind
    torch.testing.assert_close(sampled, full, rtol=0, atol=1e-6 if kind == torch.float32 else 1e-12)


def test_one_word_in_all() -> None:
    module = LanguageModelSoftmax(vocabulary_size=1, dim=2)
    loss = module.sampled_loss(
        torch.ones(3, 2), torch.zeros(3, dtype=torch.int64), sample_candidates(1, 1)
    )
    assert loss.tolist() == [0, 0, 0]


def test_both_directions_share_the_parameters(
    softmax: LanguageModelSoftmax, hidden: Tensor, targets: Tensor
) -> None:
    other, other_targets = seeded_normal(4, SIZE, seed=7), torch.tensor([3, 0, 12, 12])
    forward, backward = softmax(hidden, targets, other, other_targets)
    assert_close(forward, np.asarray(direct_full_loss(softmax, hidden, targets).mean()))
    assert_close(backward, np.asarray(direct_full_loss(softmax, other, other_targets).mean()))
    gradients = []
    for loss in (forward, backward):
        softmax.zero_grad()
        loss.backward()
        assert softmax.weight.grad is not None
        assert softmax.bias.grad is not None
        assert softmax.weight.grad.abs().max() > 0
        assert softmax.bias.grad.abs().max() > 0
        gradients.append(softmax.weight.grad.clone())
    softmax.zero_grad()
    sum(softmax(hidden, targets, other, other_targets)).backward()
    assert softmax.weight.grad is not None
    torch.testing.assert_close(softmax.weight.grad, gradients[0] + gradients[1])


def test_samples_choose_the_sampled_softmax(
    softmax: LanguageModelSoftmax, hidden: Tensor, targets: Tensor
) -> None:
    """Each direction draws candidates of its own, the forward one first."""
    hidden.requires_grad_()
    found = softmax(
        hidden, targets, hidden, targets, samples=9, generator=torch.Generator().manual_seed(4)
    )
    generator = torch.Generator().manual_seed(4)
    for loss in found:
        ids, tries = sample_candidates(WORDS, 9, generator=generator)
        direct = direct_sampled_loss(softmax, hidden, targets, ids.tolist(), int(tries))
        assert_close(loss, np.asarray(direct.mean()), 1e-10)
    assert found[0].item() != found[1].item()
    sum(found).backward()
    assert softmax.weight.grad is not None
    assert softmax.weight.grad.abs().max() > 0
    assert hidden.grad is not None
    assert hidden.grad.abs().max() > 0


@pytest.mark.parametrize(("words", "count"), [(40, 1), (40, 12), (40, 39), (40, 40), (1, 1)])
def test_candidates_are_distinct(words: int, count: int) -> None:
    generator = torch.Generator().manual_seed(count)
    for _ in range(20):
        ids, tries = sample_candidates(words, count, generator=generator)
        assert ids.shape == (count,)
        assert len(set(ids.tolist())) == count
        assert min(ids.tolist()) >= 0
        assert max(ids.tolist()) < words
        assert tries >= count


def test_candidates_repeat_with_their_seed() -> None:
    first, again, other = (
        sample_candidates(1000, 50, generator=torch.Generator().manual_seed(seed))
        for seed in (1, 1, 2)
    )
    assert first.ids.tolist() == again.ids.tolist()
    assert first.tries == again.tries
    assert first.ids.tolist() != other.ids.tolist()


def test_single_draws_are_log_uniform() -> None:
    draws, words = 6000, 12
    generator = torch.Generator().manual_seed(8)
    counts = np.zeros(words)
    for _ in range(draws):
        ids, tries = sample_candidates(words, 1, generator=generator)
        assert tries == 1
        counts[int(ids[0])] += 1
    expected = draws * log_uniform(words)
    chi_square = ((counts - expected) ** 2 / expected).sum()
    # With 11 degrees of freedom 31 is passed once in a thousand seeds.
    assert chi_square < 31


def test_draws_go_on_until_enough_are_distinct() -> None:
    """Pairs come in the order of drawing, and their tries count the repetitions too."""
    draws, words = 6000, 4
    chances = log_uniform(words)
    generator = torch.Generator().manual_seed(9)
    counts = np.zeros((words, words))
    all_tries = []
    for _ in range(draws):
        ids, tries = sample_candidates(words, 2, generator=generator)
        counts[tuple(ids.tolist())] += 1
        all_tries.append(int(tries))
    assert np.trace(counts) == 0
    expected = draws * chances[:, None] * chances / (1 - chances)[:, None]
    pairs = ~np.eye(words, dtype=bool)
    chi_square = ((counts - expected) ** 2 / expected)[pairs].sum()
    # With 11 degrees of freedom 31 is passed once in a thousand seeds.
    assert chi_square < 31
    # After the first word k each try finds another one with chance 1 - p_k.
    mean_tries = 1 + (chances / (1 - chances)).sum()
    assert np.mean(all_tries) == pytest.approx(mean_tries, abs=5 * np.std(all_tries) / draws**0.5)


def test_words_are_drawn_about_as_often_as_expected() -> None:
    """The expected counts add up to the number of candidates, as they should."""
    runs, words, count = 500, 2000, 100
    generator = torch.Generator().manual_seed(10)
    module = LanguageModelSoftmax(vocabulary_size=words, dim=1)
    sums = []
    for _ in range(runs):
        _, tries = sample_candidates(words, count, generator=generator)
        sums.append(float(module._log_expected_count(torch.arange(words), tries).exp().sum()))
    assert np.mean(sums) == pytest.approx(count, rel=0.01)


@pytest.mark.parametrize("count", [0, -1, 41])
def test_impossible_counts(count: int) -> None:
    with pytest.raises(ValueError, match=f"cannot draw {count} distinct words of 40"):
        sample_candidates(40, count)


def test_initial_values() -> None:
    torch.manual_seed(2)
    module = LanguageModelSoftmax(vocabulary_size=500, dim=64)
    assert module.vocabulary_size == 500
    assert (module.bias == 0).all()
    assert float(module.weight.detach().std()) == pytest.approx(64**-0.5, rel=0.05)
