"""How near do the faster precisions of a CPU come to float32, on real text?

    python benchmarks/precision.py --text TEXT [--model MODEL] [--sentences 300]

Prints the mean cosine and the largest difference of each layer. bfloat16 is computed as such even
where float32 is faster and would be taken. No timing.
"""

import argparse
from itertools import islice
from pathlib import Path
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

import elmokit
from elmokit.engine.cpu import precision
from start_state import sentences

PRECISIONS = ("bfloat16", "int8")


def layers(
    model: str | None, dtype: str, texts: list[str]
) -> npt.NDArray[np.float64]:  # (layers, tokens, size)
    with patch.object(precision, "has_fast_bfloat16", lambda: True):
        elmo = elmokit.load(model, device="cpu", dtype=dtype)
        return np.concatenate(list(elmo.embed(texts, layers="all")), axis=1).astype(np.float64)


def main() -> None:
    parser = argparse.ArgumentParser(description="faster precisions beside float32")
    parser.add_argument("--model", default=None, help="folder or name; default: the bundled model")
    parser.add_argument("--text", type=Path, required=True, help="one sentence a line, or .xz")
    parser.add_argument("--sentences", type=int, default=300)
    arguments = parser.parse_args()
    texts = list(islice(sentences(arguments.text), arguments.sentences))
    expected = layers(arguments.model, "float32", texts)
    norms = np.linalg.norm(expected, axis=-1)
    print(f"{len(texts)} sentences, {expected.shape[1]} tokens; largest value of each layer:")
    print(np.abs(expected).max(axis=(1, 2)).round(2))
    for dtype in PRECISIONS:
        found = layers(arguments.model, dtype, texts)
        cosines = (expected * found).sum(axis=-1) / norms / np.linalg.norm(found, axis=-1)
        print(f"{dtype}: mean cosines {cosines.mean(axis=1).round(6)}", end=", ")
        print(f"largest differences {np.abs(expected - found).max(axis=(1, 2)).round(4)}")


if __name__ == "__main__":
    main()
