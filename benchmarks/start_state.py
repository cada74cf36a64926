"""How close do the two pure start states come to the original's carried state?

    python benchmarks/start_state.py --model MODEL --text TEXT [--sentences 2000] [--rows 64]

Runs real sentences through one model three times: with the carried state of the original (the
reference, in consecutive batches), from zeros, and from the warm state. Reports the mean and the
largest absolute gap to the reference over all numbers of the LSTM layers, and the mean cosine,
by position in the sentence. No timing: the figures do not depend on the machine.
"""

import argparse
import json
import lzma
import platform
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

import elmokit
from elmokit.embed.start_state import Start

POSITIONS = {"first token": slice(0, 1), "tokens 2-5": slice(1, 5), "all tokens": slice(None)}

Array = npt.NDArray[np.float64]


def sentences(text: Path) -> Iterator[str]:
    opener = lzma.open if text.suffix == ".xz" else open
    with opener(text, "rt", encoding="utf-8") as lines:
        yield from (line.strip() for line in lines if line.strip())


def outputs(model: Path, texts: list[str], start: Start, rows: int) -> list[Array]:
    elmo = elmokit.load(model, start=start, device="cpu")
    elmo.state = elmokit.CarriedState(rows)
    return [vectors[1:].astype(np.float64) for vectors in elmo.embed(texts, layers="all")]


def gaps(reference: list[Array], other: list[Array], where: slice) -> dict[str, float]:
    pairs = [(a[:, where], b[:, where]) for a, b in zip(reference, other, strict=True)]
    differences = np.concatenate([np.abs(a - b).reshape(-1) for a, b in pairs])
    cosines = np.concatenate([_cosine(a, b).reshape(-1) for a, b in pairs])
    return {
        "mean_absolute_gap": float(differences.mean()),
        "largest_absolute_gap": float(differences.max()),
        "mean_cosine": float(cosines.mean()),
    }


def _cosine(first: Array, second: Array) -> Array:
    norms = np.linalg.norm(first, axis=-1) * np.linalg.norm(second, axis=-1)
    cosine: Array = (first * second).sum(axis=-1) / norms
    return cosine


def main() -> None:
    parser = argparse.ArgumentParser(description="start states against the carried state")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--text", type=Path, required=True, help="one sentence a line, or .xz")
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--rows", type=int, default=64, help="rows of the reference's batches")
    arguments = parser.parse_args()
    texts = list(islice(sentences(arguments.text), arguments.sentences))
    reference = outputs(arguments.model, texts, "carry", arguments.rows)
    # The first batch of the reference starts from zeros itself and would favour them.
    kept = slice(arguments.rows, None)
    starts: tuple[Start, ...] = ("zeros", "warm")
    report = {}
    for start in starts:
        other = outputs(arguments.model, texts, start, arguments.rows)
        report[start] = {
            name: gaps(reference[kept], other[kept], where) for name, where in POSITIONS.items()
        }
    facts = {
        "model": arguments.model.name,
        "text": arguments.text.name,
        "sentences": len(texts),
        "rows": arguments.rows,
        "mean_absolute_value": float(np.mean([np.abs(a).mean() for a in reference])),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "starts": report,
    }
    print(json.dumps(facts, indent=2))


if __name__ == "__main__":
    main()
