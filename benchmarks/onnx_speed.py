"""How fast is an exported model in onnxruntime beside elmokit's own engine, on a CPU?

    python benchmarks/onnx_speed.py --text TEXT [--model MODEL] [--threads 2]

Batches of 1, 8 and 32 sentences of real text, one after another. In every round each contender
does each batch once, in turn: elmokit with words that it meets for the first time, elmokit with
words that it knows, the same in its faster precisions, onnxruntime (which knows none, and computes
in float32). Printed are medians of the rounds in tokens a second, and their ratios to elmokit in
float32. Ids are made outside of the time. Sentences of a batch differ in length as
they do in the text, unless `--length` cuts the running text into equal pieces.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
import torch

import elmokit
from elmokit.integrations.onnx import export_onnx
from elmokit.integrations.onnx_check import onnx_inputs
from elmokit.version import __version__
from embed.machine import machine_facts
from embed.sentences import TextChoice, read_sentences

BATCHES = (1, 8, 32)
# Threads of a contender spin for a while after its turn, and would take the cores of the next.
PAUSE_SECONDS = 0.03
NARROW = ("bfloat16", "int8")
Batch = list[list[str]]


def main() -> None:
    arguments = parsed()
    torch.set_num_threads(arguments.threads)
    for name, fact in machine_facts().items():
        print(f"{name}: {fact}")
    print(
        f"elmokit {__version__}, torch {torch.__version__}, onnxruntime {onnxruntime.__version__}, "
        f"{arguments.threads} threads, {arguments.rounds} rounds"
    )
    elmo = elmokit.load(arguments.model, device="cpu")
    narrow = {dtype: elmokit.load(arguments.model, device="cpu", dtype=dtype) for dtype in NARROW}
    print(f"{elmo}\n")
    choice = TextChoice(file=arguments.text, count=arguments.sentences, length=arguments.length)
    sentences = read_sentences(choice)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.onnx"
        export_onnx(elmo, file)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = arguments.threads
        session = onnxruntime.InferenceSession(
            str(file), options, providers=["CPUExecutionProvider"]
        )
    print("| sentences in a batch | tokens | elmokit, new words | elmokit, known words | ", end="")
    print("".join(f"elmokit {dtype}, known words | " for dtype in NARROW), end="")
    print("onnxruntime | / new words | / known words | largest difference |")
    print("|" + " --- |" * (8 + len(NARROW)))
    for size in BATCHES:
        batches = [list(sentences[i : i + size]) for i in range(0, len(sentences), size)]
        compare(elmo, narrow, session, batches, size, arguments.rounds)


def compare(
    elmo: elmokit.Elmo,
    narrow: dict[str, elmokit.Elmo],
    session: onnxruntime.InferenceSession,
    batches: list[Batch],
    size: int,
    rounds: int,
) -> None:
    inputs = [onnx_inputs(elmo, batch) for batch in batches]
    tokens = sum(len(sentence) for batch in batches for sentence in batch)
    gap = 0.0
    for batch, feed in zip(batches, inputs, strict=True):  # warms up, too
        (found,) = session.run(None, feed)
        for row, expected in enumerate(elmo.embed(batch)):
            gap = max(gap, float(np.abs(found[row, : len(expected)] - expected).max(initial=0)))
        for other in narrow.values():
            other.embed(batch)
    times: dict[str, list[float]] = {name: [] for name in ("new", "known", *narrow, "onnx")}
    for _ in range(rounds):
        passed = dict.fromkeys(times, 0.0)
        for batch, feed in zip(batches, inputs, strict=True):
            elmo.embedder.word_vectors.clear()
            passed["new"] += seconds(lambda batch=batch: elmo.embed(batch))  # type: ignore[misc]
            passed["known"] += seconds(lambda batch=batch: elmo.embed(batch))  # type: ignore[misc]
            for dtype, other in narrow.items():
                passed[dtype] += seconds(lambda batch=batch, other=other: other.embed(batch))  # type: ignore[misc]
            passed["onnx"] += seconds(lambda feed=feed: session.run(None, feed))  # type: ignore[misc]
        for name, taken in passed.items():
            times[name].append(taken)
    rates = {name: tokens / statistics.median(taken) for name, taken in times.items()}
    print(
        f"| {size} | {tokens:,} | "
        + "".join(f"{rate:,.0f} | " for rate in rates.values())
        + f"{rates['onnx'] / rates['new']:.2f} | {rates['onnx'] / rates['known']:.2f} | "
        f"{gap:.1e} |",
        flush=True,
    )


def seconds(work: Callable[[], object]) -> float:
    time.sleep(PAUSE_SECONDS)
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--text", type=Path, required=True, help="one sentence a line, or .xz")
    parser.add_argument("--model", default=None, help="folder or name; default: the bundled model")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--sentences", type=int, default=64)
    parser.add_argument("--length", type=int, default=None, help="cut the text to this length")
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


if __name__ == "__main__":
    main()
