import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from elmokit.corpus.prepare import prepare
from integration.training_children import Nursery


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """Starts trainings in processes of their own."""
    nursery = Nursery()
    yield nursery
    nursery.close()


@pytest.fixture(scope="session")
def training_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A prepared corpus of some 700 tokens in 30 documents."""
    folder = tmp_path_factory.mktemp("corpus")
    chance = random.Random(0)
    words = [f"{chr(97 + number % 26)}{number}" for number in range(60)]
    weights = [1 / (number + 1) for number in range(60)]
    lines = []
    for _ in range(30):
        for _ in range(chance.randint(1, 6)):
            lines.append(" ".join(chance.choices(words, weights, k=chance.randint(1, 12))))
        lines.append("")
    (folder / "text.txt").write_text("\n".join(lines), encoding="utf-8")
    prepare(folder / "text.txt", folder / "prepared", held_out=0.1, processes=1)
    return folder / "prepared"
