"""Does a sentence's vector depend on what else is in the batch?

    python benchmarks/batch_independence.py --model MODEL --text TEXT [--sentences 2000]

Embeds the same sentences in their order, shuffled, with small batches and one by one, each time
with an empty word cache, and reports the largest difference to the first run in any number of
any layer, for each number of threads. No timing.
"""

import argparse
import json
import platform
import random
from itertools import islice
from pathlib import Path

import numpy as np
import torch

import elmokit
from elmokit.embed.layer_choice import Vectors
from start_state import sentences

BATCH_TOKENS = {"shuffled": 4096, "shuffled, small batches": 300, "one by one": 1}


def embed(elmo: elmokit.Elmo, texts: list[str], order: list[int], budget: int) -> list[Vectors]:
    elmo.embedder.word_vectors.clear()
    vectors = elmo.embed([texts[i] for i in order], layers="all", batch_tokens=budget)
    placed = dict(zip(order, vectors, strict=True))
    return [placed[i] for i in range(len(texts))]


def main() -> None:
    parser = argparse.ArgumentParser(description="the same sentence in other batches")
    parser.add_argument("--model", type=Path, default=None, help="default: the bundled model")
    parser.add_argument("--text", type=Path, required=True, help="one sentence a line, or .xz")
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    elmo = elmokit.load(arguments.model, device=arguments.device)
    texts = list(islice(sentences(arguments.text), arguments.sentences))
    order = list(range(len(texts)))
    shuffled = order.copy()
    random.Random(0).shuffle(shuffled)
    differences = {}
    for threads in arguments.threads:
        torch.set_num_threads(threads)
        reference = embed(elmo, texts, order, 4096)
        for name, budget in BATCH_TOKENS.items():
            other = embed(elmo, texts, shuffled, budget)
            differences[f"{name}, {threads} threads"] = max(
                float(np.abs(a - b).max(initial=0.0)) for a, b in zip(reference, other, strict=True)
            )
    facts = {
        "model": str(elmo),
        "text": arguments.text.name,
        "sentences": len(texts),
        "largest_value": max(float(np.abs(a).max(initial=0.0)) for a in reference),
        "largest_difference": differences,
        "machine": platform.processor() or platform.machine(),
        "torch": torch.__version__,
        "python": platform.python_version(),
    }
    print(json.dumps(facts, indent=2))


if __name__ == "__main__":
    main()
