"""The losses of training against float64 numpy that shares no code with them.

D directions, T steps, B rows
"""

from pathlib import Path

import numpy as np
import pytest
import torch

from elmokit.corpus.prepare import prepare
from elmokit.corpus.prepared import PreparedCorpus
from elmokit.formats.checkpoint import Checkpoint
from elmokit.lm.assemble import build_objective, marked_words
from elmokit.lm.learner import BiLMLearner
from elmokit.lm.objective import Batch, BiLMObjective
from elmokit.lm.settings import TrainSettings
from elmokit.lm.word_table import WordTable
from elmokit.nn.softmax import sample_candidates
from elmokit.text.token_indexer import TokenIndexer
from elmokit.training.distributed import World
from reference import State
from unit.lm.numpy_language_model import NumpyLanguageModel

STEPS, ROWS, WINDOWS = 6, 3, 2


def objective_of(checkpoint: Checkpoint, *, fused: bool) -> BiLMObjective:
    settings = TrainSettings(precision="float32")
    return build_objective(checkpoint.config, settings, start=checkpoint, fused=fused)


def table_of(checkpoint: Checkpoint, words: list[str], objective: BiLMObjective) -> WordTable:
    indexer = TokenIndexer.for_model(
        checkpoint.config, vocabulary=checkpoint.vocabulary, characters=None
    )
    return WordTable(words, indexer, objective.bilm.token_encoder)


class Toy:
    """Random windows over known and unknown words, with resets in their midst."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        assert checkpoint.vocabulary is not None
        generator = np.random.default_rng(5)
        self.words = [*checkpoint.vocabulary.words, "unheard-of", "dogs", "字字"]
        shape = (WINDOWS, 2, STEPS, ROWS)
        self.inputs = generator.integers(0, len(self.words), shape)
        self.targets = generator.integers(0, len(checkpoint.vocabulary), shape)
        self.resets = generator.random(shape) < 0.3
        assert self.resets[:, :, 1:-1].any()
        assert not self.resets.all()

    def batch(self, window: int, table: WordTable) -> Batch:
        words, index = np.unique(self.inputs[window], return_inverse=True)
        groups, place = table.grouped(words)
        return Batch(
            tuple(torch.from_numpy(group) for group in groups),
            torch.from_numpy(place[index].reshape(self.inputs[window].shape)),
            torch.from_numpy(self.targets[window]),
            torch.from_numpy((~self.resets[window]).astype(np.float32)),
        )

    def losses_by_hand(self, by_hand: NumpyLanguageModel) -> list[list[float]]:
        """Give each window's mean loss of each direction, row by row and word by word."""
        states: list[State] = [{} for _ in range(ROWS)]
        found = []
        for window in range(WINDOWS):
            sums = [0.0, 0.0]
            for direction in range(2):
                for row in range(ROWS):
                    for step in range(STEPS):
                        place = (window, direction, step, row)
                        if self.resets[place]:
                            states[row] = {
                                key: kept
                                for key, kept in states[row].items()
                                if key[0] != direction
                            }
                        word = self.words[self.inputs[place]]
                        chances = by_hand.read(direction, [word], states[row])[0]
                        sums[direction] -= chances[self.targets[place]]
            found.append([total / (STEPS * ROWS) for total in sums])
        return found


@pytest.mark.parametrize("fused", [True, False])
def test_losses_of_windows(
    fused: bool, checkpoint: Checkpoint, by_hand: NumpyLanguageModel
) -> None:
    toy = Toy(checkpoint)
    objective = objective_of(checkpoint, fused=fused)
    table = table_of(checkpoint, toy.words, objective)
    state = objective.zero_state(ROWS)
    for window, expected in enumerate(toy.losses_by_hand(by_hand)):
        losses = objective(toy.batch(window, table), state, table, lambda values: values)
        state = losses.state
        np.testing.assert_allclose(losses.of_directions.tolist(), expected, rtol=2e-6)
        assert losses.mean.item() == pytest.approx(sum(expected) / 2, rel=2e-6)


def test_a_gradient_is_the_slope_of_the_loss_by_hand(
    checkpoint: Checkpoint, by_hand: NumpyLanguageModel
) -> None:
    """One weight of each kind, moved a little both ways in float64."""
    toy = Toy(checkpoint)
    objective = objective_of(checkpoint, fused=True)
    table = table_of(checkpoint, toy.words, objective)
    losses = objective(
        toy.batch(0, table), objective.zero_state(ROWS), table, lambda values: values
    )
    losses.mean.backward()
    gradients = {name: p.grad for name, p in objective.named_parameters()}
    # Name here, name and place in the hdf5 file, place here.
    for name, foreign, there, here in (
        ("softmax.weight", "softmax/W", (4, 3), (4, 3)),
        ("softmax.bias", "softmax/b", (5,), (5,)),
        ("bilm.token_encoder.projection.bias", "CNN_proj/b_proj", (2,), (2,)),
        (
            "bilm.forward_lstm.layers.0.projection_weight",
            "RNN_0/RNN/MultiRNNCell/Cell0/LSTMCell/W_P_0",
            (7, 1),
            (1, 7),
        ),
    ):
        slope = []
        array = by_hand.arrays[foreign]
        for step in (1e-5, -1e-5):
            moved = array.astype(np.float64)
            moved[there] += step
            arrays = {**by_hand.arrays, foreign: moved}
            other = NumpyLanguageModel(arrays, by_hand.options, list(by_hand.ids))
            slope.append(np.mean(toy.losses_by_hand(other)[0]))
        gradient = gradients[name]
        assert gradient is not None
        expected = (slope[0] - slope[1]) / 2e-5
        assert abs(expected) > 1e-4, "this weight shows nothing"
        assert gradient[here].item() == pytest.approx(expected, rel=1e-3, abs=1e-7)


def test_sampling_every_word_is_the_full_softmax(checkpoint: Checkpoint) -> None:
    """And fewer words come the nearer to it the more they are."""
    toy = Toy(checkpoint)
    objective = objective_of(checkpoint, fused=True)
    table = table_of(checkpoint, toy.words, objective)
    batch, state = toy.batch(0, table), objective.zero_state(ROWS)

    def loss(batch: Batch) -> float:
        with torch.no_grad():
            return float(objective(batch, state, table, lambda values: values).mean)

    full, size = loss(batch), objective.softmax.vocabulary_size
    errors = []
    for count in (2, 5, 9, size):
        generator = torch.Generator().manual_seed(count)
        found = []
        for _ in range(60):
            drawn = [sample_candidates(size, count, generator=generator) for _ in range(2)]
            tries = torch.tensor([float(part.tries) for part in drawn], dtype=torch.float64)
            ids = torch.stack([part.ids for part in drawn])
            found.append(loss(batch._replace(samples=ids, tries=tries)))
        errors.append(np.mean(np.abs(np.array(found) - full)))
    assert errors[0] > errors[1] > errors[2] > errors[3]
    assert errors[3] < 1e-5


def test_a_learner_reads_text_as_the_conventions_say(
    checkpoint: Checkpoint, by_hand: NumpyLanguageModel, tmp_path: Path
) -> None:
    """One row over one document: each direction's losses, window after window, by hand."""
    sentences = ["the cat sat on the mat .", "dog .", "the 字 sat on unheard-of größe", "the dog"]
    tokens = [sentence.split() for sentence in sentences]
    (tmp_path / "text.txt").write_text("\n".join(sentences) + "\n", encoding="utf-8")
    prepare(
        tmp_path / "text.txt", tmp_path / "prepared", tokeniser="whitespace", held_out=0,
        processes=1,
    )  # fmt: skip
    corpus = PreparedCorpus(tmp_path / "prepared")
    objective = objective_of(checkpoint, fused=True)
    words = marked_words(corpus, checkpoint.config.marks)
    count = sum(len(sentence) + 1 for sentence in tokens)
    window = 7
    assert count % window == 0
    assert checkpoint.vocabulary is not None
    learner = BiLMLearner(
        objective,
        table_of(checkpoint, words, objective),
        corpus,
        TrainSettings(rows=1, window=window, samples=None, dropout=0.0),
        world=World(),
        device=torch.device("cpu"),
        targets=checkpoint.vocabulary.ids(words),
    )
    assert learner.steps_per_epoch == count // window
    found = [list(learner.gradients(step).values()) for step in range(learner.steps_per_epoch)]
    for direction in range(2):
        by_words = by_hand.document(direction, tokens, {})
        expected = -np.array(by_words).reshape(-1, window).mean(axis=1)
        np.testing.assert_allclose(
            [float(losses[direction]) for losses in found], expected, rtol=2e-6
        )
