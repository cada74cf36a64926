"""How fast does a GPU embed, from lists of tokens to layers in its memory?

    python benchmarks/embed_cuda.py --text TEXT --output benchmarks/results/embed_cuda

Runs random weights of the original size in every precision, with 32, 128 and 512 sentences of 20
tokens in a call, and whole texts with sentences as they come. Words have been met before, as they
mostly have in a long text; ``new words`` has the cache emptied before each pass. Next to that:
the rate of this GPU's own product at the recurrent shape, the error of each precision beside
float64, the graphs that were captured and the memory that was used.

AllenNLP's figures are not measured here: they are those of the table in the issue, for 25 steps
of the LSTMs alone on a GPU of the same kind.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import torch

import elmokit
from elmokit.config import ModelConfig
from elmokit.embed.batching import batches
from elmokit.embed.elmo import Elmo
from elmokit.embed.embed_window import windows
from elmokit.engine.cuda.embedder import CUDAEmbedder
from elmokit.pretrained.untrained import untrained_checkpoint
from embed.machine import machine_facts
from start_state import sentences

PRECISIONS = ("float32", "tf32", "bfloat16")
BATCHES = (32, 128, 512)
LENGTH = 20
BUDGETS = (4096, 16384)
PASSES = 7
ALLENNLP = {32: 17_000, 128: 87_000, 512: 214_000}
Sentences = list[list[str]]


def seconds_of(run: Callable[[], object]) -> float:
    torch.cuda.synchronize()
    started = time.perf_counter()
    run()
    torch.cuda.synchronize()
    return time.perf_counter() - started


def median_seconds(run: Callable[[], object], passes: int = PASSES) -> float:
    return statistics.median(seconds_of(run) for _ in range(passes))


def product_rate(rows: int, size: int, gates: int, dtype: str) -> float:
    """Measure 10^12 operations a second of (rows x size) (size x gates), both directions."""
    kind = torch.bfloat16 if dtype == "bfloat16" else torch.float32
    allowed = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
    left = torch.randn(2, rows, size, device="cuda").to(kind)
    rights = [torch.randn(2, size, gates, device="cuda").to(kind) for _ in range(4)]
    out = torch.empty(2, rows, gates, device="cuda", dtype=kind)
    graph = torch.cuda.CUDAGraph()
    torch.bmm(left, rights[0], out=out)
    with torch.cuda.graph(graph):
        for right in rights * 10:
            torch.bmm(left, right, out=out)
    graph.replay()
    seconds = median_seconds(graph.replay) / 40
    torch.backends.cuda.matmul.allow_tf32 = allowed
    return 2 * 2 * rows * size * gates / seconds / 1e12


def operations(config: ModelConfig) -> int:
    """Count the operations of the LSTMs for a token."""
    size, cell = config.projection_dim, config.lstm_dim
    return 2 * config.layers * 2 * (4 * cell * 2 * size + cell * size)


def run_all(elmo: Elmo, calls: list[Sentences]) -> None:
    start = elmo.warm_state
    for call in calls:
        elmo.embedder(call, start)


def run_all_afresh(elmo: Elmo, calls: list[Sentences]) -> None:
    elmo.embedder.word_vectors.clear()
    run_all(elmo, calls)


def ragged(texts: Sentences, budget: int) -> Iterator[Sentences]:
    """Cut a text into the calls that `Elmo.embed` makes."""
    for window in windows(iter(texts), budget):
        for rows in batches([len(words) + 2 for words in window], batch_tokens=budget):
            yield [window[row] for row in rows]


def time_precision(dtype: str, texts: Sentences, words: list[str]) -> dict[str, Any]:
    elmo = Elmo(untrained_checkpoint(ModelConfig()), device="cuda", dtype=dtype)
    torch.cuda.reset_peak_memory_stats()
    held = torch.cuda.memory_allocated()
    found: dict[str, Any] = {"precision": dtype}
    flops = operations(elmo.config)
    for rows in BATCHES:
        size = rows * LENGTH
        count = min(max(8, 40_000 // size), len(words) // size)
        calls = [
            [
                words[first : first + LENGTH]
                for first in range(call * size, (call + 1) * size, LENGTH)
            ]
            for call in range(count)
        ]
        run_all(elmo, calls)
        seconds = median_seconds(partial(run_all, elmo, calls))
        found[f"tokens_per_second_{rows}"] = round(count * size / seconds)
        rate = product_rate(rows, elmo.config.projection_dim, 4 * elmo.config.lstm_dim, dtype)
        found[f"product_teraflops_{rows}"] = round(rate, 1)
        found[f"lstm_teraflops_{rows}"] = round(count * size * flops / seconds / 1e12, 1)
        found[f"times_allennlp_{rows}"] = round(count * size / seconds / ALLENNLP[rows], 1)
    for budget in BUDGETS:
        calls = list(ragged(texts, budget))
        tokens = sum(len(sentence) for call in calls for sentence in call)
        run_all(elmo, calls)
        seconds = median_seconds(partial(run_all, elmo, calls))
        found[f"real_text_tokens_per_second_{budget}"] = round(tokens / seconds)

        seconds = median_seconds(partial(run_all_afresh, elmo, calls))
        found[f"real_text_new_words_tokens_per_second_{budget}"] = round(tokens / seconds)
    found["to_the_host_tokens_per_second"] = round(
        tokens / median_seconds(partial(elmo.embed, texts, batch_tokens=16384), passes=3)
    )
    found["peak_bytes_beside_the_model"] = torch.cuda.max_memory_allocated() - held
    assert isinstance(elmo.embedder, CUDAEmbedder)
    found["graphs_captured"] = elmo.embedder.captured
    return found


def errors(texts: Sentences, model: str | None) -> list[dict[str, Any]]:
    """Compare with float64 on the same GPU: largest difference and mean cosine of each layer."""

    def layers(dtype: str) -> list[torch.Tensor]:
        if model is None:
            elmo = Elmo(untrained_checkpoint(ModelConfig()), device="cuda", dtype=dtype)
        else:
            elmo = elmokit.load(model, device="cuda", dtype=dtype)
        return [layer.double() for layer in elmo.embedder(texts, elmo.warm_state)]

    exact = layers("float64")
    return [
        {
            "model": model or "original, random",
            "precision": dtype,
            "largest_differences": [
                float((a - b).abs().max()) for a, b in zip(layers(dtype), exact, strict=True)
            ],
            "mean_cosines": [
                float(torch.cosine_similarity(a, b, dim=1).mean())
                for a, b in zip(layers(dtype), exact, strict=True)
            ],
        }
        for dtype in PRECISIONS
    ]


def report(facts: dict[str, Any], command: str) -> str:
    """Put the figures into tables."""
    speed, machine = facts["speed"], [key for key in facts if key not in ("speed", "errors")]
    lines = [
        "# Embedding on a GPU",
        "",
        f"`{command}`",
        "",
        "Random weights of the original size, from lists of tokens to layers in the GPU's memory. "
        f"The LSTMs cost {operations(ModelConfig()) / 1e6:.0f} MFLOP a token; sentences have "
        f"{LENGTH} tokens; medians of {PASSES} passes. Shares are of the rate that this GPU's own "
        "product reaches at the recurrent shape, (B x 512)(512 x 16384) for both directions, in "
        "the same precision. The first input product is counted for every token although it is "
        "made once for a distinct word, and float32 here is three products of TF32 against the "
        "library's plain ones, so a share can exceed 100%. AllenNLP's figures are those of the "
        "project's plan, for the LSTMs alone.",
        "",
        "| precision | sentences in a call | tokens/s | TFLOP/s | own product, TFLOP/s | share |"
        " x AllenNLP 0.9 |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in speed:
        for rows in BATCHES:
            own, reached = row[f"product_teraflops_{rows}"], row[f"lstm_teraflops_{rows}"]
            lines.append(
                f"| {row['precision']} | {rows} | {row[f'tokens_per_second_{rows}']:,} | {reached} "
                f"| {own} | {reached / own:.0%} | {row[f'times_allennlp_{rows}']} |"
            )
    lines += [
        "",
        "Sentences as they come in real text, and what that is of the figure above for 512:",
        "",
        "| precision | `batch_tokens` | tokens/s | share | all words new | graphs captured |"
        " to arrays of the host | peak memory beside the model |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in speed:
        for budget in BUDGETS:
            found = row[f"real_text_tokens_per_second_{budget}"]
            afresh = row[f"real_text_new_words_tokens_per_second_{budget}"]
            is_last = budget == BUDGETS[-1]
            host = f"{row['to_the_host_tokens_per_second']:,}" if is_last else ""
            peak = f"{row['peak_bytes_beside_the_model'] / 2**30:.2f} GiB" if is_last else ""
            lines.append(
                f"| {row['precision']} | {budget:,} | {found:,} "
                f"| {found / row['tokens_per_second_512']:.0%} | {afresh:,} "
                f"| {row['graphs_captured']} | {host} | {peak} |"
            )
    lines += [
        "",
        "Beside float64 on the same GPU, 200 sentences, layer by layer:",
        "",
        "| model | precision | largest difference | mean cosine |",
        "|---|---|---|---|",
    ]
    for row in facts["errors"]:
        differences = ", ".join(f"{value:.1e}" for value in row["largest_differences"])
        cosines = ", ".join(f"{value:.7f}" for value in row["mean_cosines"])
        lines.append(f"| {row['model']} | {row['precision']} | {differences} | {cosines} |")
    lines += ["", *(f"* {key}: {facts[key]}" for key in machine), ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="the GPU's engine")
    parser.add_argument("--text", type=Path, required=True, help="one sentence a line, or .xz")
    parser.add_argument("--models", nargs="*", default=[], help="beside the random one, for errors")
    parser.add_argument("--sentences", type=int, default=8000)
    parser.add_argument("--output", type=Path, required=True, help="without its ending")
    arguments = parser.parse_args()
    texts = [line.split() for line in islice(sentences(arguments.text), arguments.sentences)]
    words = [word for sentence in texts for word in sentence]
    facts = {
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        **machine_facts(),
        "sentences": len(texts),
        "tokens": len(words),
        "errors": [
            row for model in [None, *arguments.models] for row in errors(texts[:200], model)
        ],
        "speed": [time_precision(dtype, texts, words) for dtype in PRECISIONS],
    }
    arguments.output.with_suffix(".json").write_text(json.dumps(facts, indent=2) + "\n")
    page = report(facts, f"python benchmarks/embed_cuda.py --text {arguments.text.name} ...")
    arguments.output.with_suffix(".md").write_text(page)
    print(page)


if __name__ == "__main__":
    main()
