"""Embed text files on Ray, then find a word's nearest uses in the shards, a batch at a time.

    python examples/ray_embed.py
    python examples/ray_embed.py TEXT ... --output FOLDER --word bank --address auto

Without arguments it writes three small texts and embeds them on the cores of this machine. Run it
again with the same folder and nothing is computed twice. The search holds one batch of rows in
memory, however many shards there are.
"""

import argparse
import heapq
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.dataset

import elmokit
from elmokit.integrations.ray import embed_files

TEXTS = {
    "rivers.txt": "She sat on the bank of the river.\nThe bank of the stream was muddy.\n",
    "money.txt": "The bank raised its interest rates.\n\nHe took the money to the bank.\n",
    "walks.txt": "They walked along the bank of the lake.\nA boat lay on the bank.\n",
}
Vector = npt.NDArray[np.float32]
Use = tuple[Vector, str, int, str]


def uses(folder: Path, word: str) -> Iterator[Use]:
    """Give each use of a word: its vector, and where it stands."""
    columns = ["source", "index", "text", "tokens", "vectors"]
    for batch in pyarrow.dataset.dataset(folder).to_batches(columns=columns, batch_size=256):
        for row in batch.to_pylist():
            for place, token in enumerate(row["tokens"]):
                if token == word:
                    vector = np.asarray(row["vectors"][place], dtype=np.float32)
                    yield vector, row["source"], row["index"], row["text"]


def similarity(one: Vector, other: Vector) -> float:
    """Give a cosine."""
    return float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other)))


def main() -> None:
    """Embed, then search."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("texts", nargs="*", type=Path)
    parser.add_argument("--output", type=Path, default=None, help="a folder; default: a new one")
    parser.add_argument("--word", default="bank")
    parser.add_argument("--model", default=None)
    parser.add_argument("--address", default="local", help="local, auto or a cluster's address")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        texts = arguments.texts
        if not texts:
            for name, text in TEXTS.items():
                (Path(temporary) / name).write_text(text, encoding="utf-8")
            texts = [Path(temporary) / name for name in TEXTS]
        folder = arguments.output or Path(temporary) / "shards"
        elmo = elmokit.load(arguments.model, device="cpu")
        summary = embed_files(elmo, texts, folder, address=arguments.address, layers="top")
        print(
            f"{summary.shards} shards, {summary.made} made now: {summary.sentences} sentences, "
            f"{summary.tokens} tokens"
        )
        search(folder, arguments.word)


def search(folder: Path, word: str) -> None:
    """Print the first use of a word and those nearest to it."""
    found: Any = uses(folder, word)
    first = next(found, None)
    if first is None:
        print(f"{word!r} does not occur")
        return
    vector, source, index, text = first
    print(f"{word} in {Path(source).name}, line {index + 1}: {text}")
    scored = ((similarity(vector, use[0]), *use[1:]) for use in found)
    for score, source, index, text in heapq.nlargest(5, scored):
        print(f"  {score:.3f}  {Path(source).name}, line {index + 1}: {text}")


if __name__ == "__main__":
    main()
