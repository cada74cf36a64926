"""Training as bilm-tf's own test does it: five lines are learnt by heart in fifty epochs."""

from dataclasses import replace
from pathlib import Path

import pytest

from elmokit.config import CharacterConfig, ModelConfig
from elmokit.corpus.prepare import prepare
from elmokit.lm.presets import Preset, with_word_input
from elmokit.lm.pretrain import Outcome, pretrain
from elmokit.lm.settings import TrainSettings
from elmokit.training.conduct import Conduct

TRAIN = Path(__file__).resolve().parents[3] / "shared/fixtures/bilm-tf/train"

pytestmark = pytest.mark.skipif(not TRAIN.is_dir(), reason="the reference data is not there")

MOST_PERPLEXITY = 20.0

PLAIN = ModelConfig(
    characters=CharacterConfig(
        filters=((1, 8), (2, 8), (3, 16), (4, 32)), embedding_dim=4, highway_layers=1
    ),
    lstm_dim=64,
    projection_dim=16,
    skip_connections=False,
)
# The paper's recipe but for the size of batches: one line is hardly longer than its windows.
SETTINGS = TrainSettings(epochs=50, rows=2, window=10, samples=16, dropout=0.1)

VARIANTS = {
    "characters": Preset(model=PLAIN, settings=SETTINGS),
    "words": with_word_input(Preset(model=PLAIN, settings=SETTINGS)),
    "words shared with the softmax": with_word_input(
        Preset(model=PLAIN, settings=replace(SETTINGS, tie_softmax=True))
    ),
    "skip connections": Preset(model=replace(PLAIN, skip_connections=True), settings=SETTINGS),
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The five lines, with themselves as what is measured on; all words count, as many as there."""
    folder = tmp_path_factory.mktemp("fixture")
    lines = (TRAIN / "data.txt").read_text(encoding="utf-8")
    (folder / "again.txt").write_text(lines, encoding="utf-8")
    words = len((TRAIN / "vocab.txt").read_text(encoding="utf-8").split())
    prepare(
        TRAIN / "data.txt",
        folder / "prepared",
        valid=folder / "again.txt",
        tokeniser="whitespace",
        vocabulary_size=words,
        processes=1,
    )
    return folder / "prepared"


def train(corpus: Path, folder: Path, preset: Preset) -> Outcome:
    return pretrain(corpus, folder, preset, conduct=Conduct(device="cpu", quiet=True))


@pytest.mark.parametrize("variant", VARIANTS)
def test_five_lines_are_learnt(variant: str, corpus: Path, tmp_path: Path) -> None:
    outcome = train(corpus, tmp_path, VARIANTS[variant])
    assert outcome.ending == "finished"
    assert outcome.evaluation is not None
    assert outcome.evaluation.perplexity < MOST_PERPLEXITY


def test_hardly_any_training_is_not_enough(corpus: Path, tmp_path: Path) -> None:
    """So that the limit above says something."""
    preset = VARIANTS["characters"]
    preset = replace(preset, settings=replace(preset.settings, epochs=1.0))
    outcome = train(corpus, tmp_path, preset)
    assert outcome.evaluation is not None
    assert outcome.evaluation.perplexity > MOST_PERPLEXITY
