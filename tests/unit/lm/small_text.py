"""Made text of two domains, and a small model of the first, for tests of fine-tuning."""

import random
from pathlib import Path

from elmokit.config import CharacterConfig, ModelConfig
from elmokit.corpus.prepare import prepare
from elmokit.formats import native
from elmokit.formats.checkpoint import Checkpoint
from elmokit.lm.presets import Preset
from elmokit.lm.pretrain import pretrain
from elmokit.lm.settings import TrainSettings
from elmokit.training.conduct import Conduct

QUIET = Conduct(device="cpu", quiet=True, log_every=5)

KITCHEN = (("cook", "guest", "child"), ("bakes", "eats", "likes"), ("bread", "soup", "cake"))
CLINIC = (("nurse", "guest", "surgeon"), ("sutures", "likes", "dresses"), ("wounds", "cake"))

SETTINGS = TrainSettings(
    steps=60,
    rows=8,
    window=8,
    optimiser="adamw",
    learning_rate=2e-2,
    clip=1.0,
    sum_over_window=False,
    samples=None,
    dropout=0.0,
    document_resets=0.5,
    sentence_resets=0.1,
)
CONFIG = ModelConfig(
    characters=CharacterConfig(
        filters=((1, 4), (2, 8), (3, 8)), embedding_dim=4, highway_layers=1, max_characters=12
    ),
    lstm_dim=24,
    projection_dim=12,
)


def sentences(words: tuple[tuple[str, ...], ...], count: int, *, seed: int) -> list[str]:
    """Sentences in which who comes first says much about what comes last."""
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        who = draw.randrange(len(words[0]))
        what = words[2][who % len(words[2])] if draw.random() < 0.8 else draw.choice(words[2])
        found.append(f"the {words[0][who]} {draw.choice(words[1])} the {what} .")
    return found


def write_text(
    file: Path, words: tuple[tuple[str, ...], ...], count: int, *, seed: int = 0
) -> Path:
    """Write documents of ten sentences."""
    lines = sentences(words, count, seed=seed)
    documents = ["\n".join(lines[first : first + 10]) for first in range(0, count, 10)]
    file.write_text("\n\n".join(documents) + "\n", encoding="utf-8")
    return file


def trained(folder: Path, config: ModelConfig = CONFIG, settings: TrainSettings = SETTINGS) -> Path:
    """Train a model on the first domain; gives its folder."""
    text = write_text(folder / "kitchen.txt", KITCHEN, 300)
    prepare(text, folder / "prepared", processes=1)
    outcome = pretrain(
        folder / "prepared", folder / "run", Preset(model=config, settings=settings), conduct=QUIET
    )
    assert outcome.model is not None
    return outcome.model


def read(folder: Path) -> Checkpoint:
    """Read a native folder."""
    return native.read(folder)
