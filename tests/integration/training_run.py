"""A run small enough to be trained many times, and what it left behind."""

import hashlib
import json
from pathlib import Path
from typing import Any

SAVE_EVERY, KEEP, STEPS = 3, 2, 18

SIZES = [
    f"steps={STEPS}",
    "rows=4",
    "window=6",
    "lstm_dim=16",
    "projection_dim=8",
    "characters.embedding_dim=4",
    "characters.filters=[[1,4],[2,4]]",
    "warm_up=3",
]
RECIPES = {
    "adamw, full softmax": SIZES,
    "adagrad, sampled softmax": [
        *SIZES, "optimiser=adagrad", "learning_rate=0.2", "samples=20", "accumulation=2",
        "sum_over_window=true", "clip=10",
    ],
}  # fmt: skip

# What a log says about the machine and not about the training.
TIMES = ("items_per_second", "seconds_left")


def task(corpus: Path, folder: Path, recipe: str = "adamw, full softmax", **more: Any) -> Any:
    """Describe a training to a `Nursery`."""
    conduct = {"save_every": SAVE_EVERY, "keep": KEEP, "log_every": 1}
    described = {
        "corpus": str(corpus), "folder": str(folder),
        "changes": [*RECIPES[recipe], *more.pop("changes", [])],
        "conduct": conduct | more.pop("conduct", {}),
    }  # fmt: skip
    return described | more


def log_of(folder: Path) -> list[dict[str, float]]:
    """Give the records of a log without the times."""
    lines = (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        {name: value for name, value in json.loads(line).items() if name not in TIMES}
        for line in lines
    ]


def saved_steps(folder: Path) -> list[int]:
    """Give the steps whose checkpoints lie in a run."""
    return sorted(int(place.name[5:]) for place in (folder / "checkpoints").glob("step-*"))


def last_state(folder: Path) -> str:
    """Give the SHA-256 of everything that the last checkpoint holds in tensors."""
    place = folder / "checkpoints" / f"step-{saved_steps(folder)[-1]:08d}"
    return hashlib.sha256((place / "state.safetensors").read_bytes()).hexdigest()


def model_files(folder: Path) -> Any:
    """Give the size and SHA-256 of the files of a run's model."""
    manifest = json.loads((folder / "model" / "manifest.json").read_text(encoding="utf-8"))
    return manifest["files"]
