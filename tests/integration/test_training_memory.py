"""The memory that a training takes is known before it starts."""

import json
from pathlib import Path

import pytest

from elmokit.corpus.prepared import PreparedCorpus
from elmokit.errors import InputError
from elmokit.lm.assemble import settled
from elmokit.lm.memory import check_memory, needed_bytes
from elmokit.lm.presets import changed, preset_named
from elmokit.lm.pretrain import pretrain
from elmokit.training.conduct import Conduct
from integration.training_children import Nursery
from integration.training_run import task

SIZES = {
    "weights": ["lstm_dim=1024", "projection_dim=256", "rows=4", "window=4"],
    "activations": ["lstm_dim=512", "projection_dim=64", "rows=96", "window=32"],
    "sampled softmax, bfloat16": [
        "lstm_dim=512", "projection_dim=64", "rows=96", "window=32", "samples=30",
        "precision=bfloat16",
    ],
}  # fmt: skip


def estimate(corpus: Path, changes: list[str]) -> int:
    prepared = PreparedCorpus(corpus)
    config, settings = settled(changed(preset_named("tiny"), changes), prepared)
    return needed_bytes(
        config, settings, rows=settings.rows, device="cpu", types=prepared.type_count
    )


@pytest.mark.parametrize("size", SIZES)
def test_the_estimate_is_near_what_is_used(
    nursery: Nursery, training_corpus: Path, tmp_path: Path, size: str
) -> None:
    changes = [*SIZES[size], "steps=1", "warm_up=0"]
    child = task(training_corpus, tmp_path / "run") | {"changes": changes}
    ended = nursery.run(**child)
    assert ended.code == 0, ended.output
    peak = json.loads(ended.output)["peak"]
    needed = estimate(training_corpus, changes)
    assert 0.5 < needed / peak < 2


@pytest.mark.parametrize(
    "smaller", ["rows=64", "window=16", "accumulation=4", "vocabulary_size=40", "layers=1"]
)
def test_smaller_settings_need_less(training_corpus: Path, smaller: str) -> None:
    usual = ["rows=128", "window=32", "lstm_dim=512"]
    assert estimate(training_corpus, [*usual, smaller]) < estimate(training_corpus, usual)


def test_what_is_too_large_is_refused_before_it_starts(
    training_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("elmokit.lm.assemble.free_bytes", lambda _: 100 * 2**20)
    with pytest.raises(
        InputError, match=r"about 0\.\d GB of memory and 0\.1 GB are free: use fewer"
    ):
        pretrain(
            training_corpus, tmp_path / "run", preset_named("tiny"),
            conduct=Conduct(device="cpu", quiet=True),
        )  # fmt: skip
    assert list(tmp_path.iterdir()) == []


def test_what_is_said() -> None:
    assert check_memory(2**30, None) == "about 1.0 GB of memory"
    assert check_memory(2**30, 2**31) == "about 1.0 GB of memory, 2.0 GB free"
    with pytest.raises(InputError, match=r"accumulation=4.*vocabulary_size=30000"):
        check_memory(2**31, 2**30)
