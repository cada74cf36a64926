"""How fast is a whole training step: batch, forward, backward, clipping, update?

    elmo prepare TEXT -o DIR --vocabulary-size 50000
    python benchmarks/train_step.py DIR --preset small --set rows=32 [--set precision=bfloat16]
    python benchmarks/train_step.py DIR --preset small --set rows=32 --peer PYTHON --rounds 8

Runs the steps that `elmo train` runs and prints the median of their times in tokens per second;
a token is a position that both directions predict. It also counts the floating-point operations
of the products, measures this device's rate on a large product, and gives the share reached.

With ``--peer`` (a Python that has AllenNLP 0.9, see the project's notes on peers) a training
step of AllenNLP's modules on the same sizes runs in a process beside, round by round, and the
ratio of the medians is printed. ``--precisions`` lets several of ours take part.
"""

import argparse
import json
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import torch

from elmokit.config import ModelConfig
from elmokit.corpus.prepared import PreparedCorpus
from elmokit.lm.assemble import assemble
from elmokit.lm.presets import Preset, changed, preset_named
from elmokit.lm.pretrain import loop_settings
from elmokit.lm.settings import TrainSettings
from elmokit.training.conduct import Conduct
from elmokit.training.distributed import World, own_device
from elmokit.training.loop import Loop

PEER_SCRIPT = Path(__file__).with_name("train_step_allennlp.py")


class Contender:
    """A training that goes on step by step."""

    def __init__(self, corpus: PreparedCorpus, preset: Preset, device: torch.device) -> None:
        parts = assemble(corpus, preset, device=device, world=World())
        self.config, self.settings, self.device = parts.config, parts.settings, device
        self.learner = parts.learner
        self._folder = tempfile.TemporaryDirectory()
        self.loop = Loop(
            self.learner,
            loop_settings(parts.settings, Conduct(), 10**6),
            Path(self._folder.name),
            facts={},
        )

    def step(self) -> float:
        """Do a step and give its seconds."""
        started = time.perf_counter()
        self.loop.advance()
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - started

    def distinct_words(self) -> int:
        """Count the distinct words of the next window."""
        batches = self.learner.batches(self.loop.step)
        return sum(len(group) for batch in batches for group in batch.words)


class Peer:
    """AllenNLP's modules in a process of their own."""

    def __init__(self, python: str, settings: TrainSettings, config: ModelConfig) -> None:
        sizes = {
            "rows": settings.rows,
            "window": settings.window,
            "samples": settings.samples,
            "vocabulary": config.softmax_size,
            "cell": config.lstm_dim,
            "projection": config.projection_dim,
            "highway": config.characters.highway_layers if config.characters else 1,
            "threads": torch.get_num_threads(),
        }
        self._process = subprocess.Popen(
            [python, str(PEER_SCRIPT), json.dumps(sizes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def step(self) -> float:
        """Have a step done and give its seconds."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("step\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        while line and not line.startswith("seconds "):
            line = self._process.stdout.readline()
        return float(line.split()[1])


def operations(config: ModelConfig, settings: TrainSettings, distinct: int) -> float:
    """Count the operations of a step's products, forwards and twice as many backwards."""
    tokens = settings.rows * settings.window
    cell, size = config.lstm_dim, config.projection_dim
    lstm = 2 * config.layers * (4 * cell * 2 * size + cell * size) * tokens
    words = config.softmax_size if settings.samples is None else settings.samples
    softmax = 2 * tokens * (words or 0) * size
    encoder = 0.0
    if config.characters is not None:
        parts = config.characters
        features = parts.output_dim
        # Positions that a word of common length has, its padding left out.
        convolutions = 20 * sum(w * n for w, n in parts.filters) * parts.embedding_dim
        encoder = distinct * (
            convolutions + parts.highway_layers * 2 * features**2 + features * size
        )
    return 6.0 * (lstm + softmax + encoder)


def product_rate(device: torch.device, dtype: torch.dtype) -> float:
    """Measure operations per second of a large product."""
    size = 8192 if device.type == "cuda" else 2048
    matrix = torch.randn(size, size, device=device, dtype=dtype)
    times = []
    for _ in range(5):
        started = time.perf_counter()
        matrix @ matrix
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - started)
    return float(2 * size**3 / min(times))


def main() -> None:
    parser = argparse.ArgumentParser(description="time whole training steps")
    parser.add_argument("corpus", type=Path, help="what elmo prepare wrote")
    parser.add_argument("--preset", default="small")
    parser.add_argument("--set", dest="changes", action="append", default=[])
    parser.add_argument("--precisions", nargs="+", default=[])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--peer", default=None, help="a Python with AllenNLP 0.9")
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    device = own_device(arguments.device)
    corpus = PreparedCorpus(arguments.corpus)
    preset = changed(preset_named(arguments.preset), arguments.changes)
    precisions = arguments.precisions or [preset.settings.precision]
    contenders: dict[str, Contender | Peer] = {}
    for precision in precisions:
        chosen = replace(preset, settings=replace(preset.settings, precision=precision))
        contenders[f"elmokit {precision}"] = Contender(corpus, chosen, device)
    ours = next(iter(contenders.values()))
    assert isinstance(ours, Contender)
    if arguments.peer:
        contenders["AllenNLP 0.9"] = Peer(arguments.peer, ours.settings, ours.config)
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(arguments.rounds + 2):
        for name, contender in contenders.items():
            seconds = contender.step()
            if turn > 1:  # two rounds to warm up
                times[name].append(seconds)
    tokens = ours.settings.rows * ours.settings.window
    distinct = ours.distinct_words()
    name = torch.cuda.get_device_name() if device.type == "cuda" else platform.processor()
    print(
        f"{platform.machine()} {name}, Python {platform.python_version()}, torch "
        f"{torch.__version__}, {torch.get_num_threads()} threads; {arguments.preset} "
        f"{' '.join(arguments.changes)}: cell {ours.config.lstm_dim}, projection "
        f"{ours.config.projection_dim}, {ours.settings.rows} x {ours.settings.window} tokens, "
        f"{distinct} distinct words, vocabulary {ours.config.softmax_size}, "
        f"samples {ours.settings.samples}; medians of {arguments.rounds} steps"
    )
    medians = {name: statistics.median(values) for name, values in times.items()}
    for name, seconds in medians.items():
        line = f"{name:20} {tokens / seconds:12,.0f} tokens/s {seconds * 1e3:10.1f} ms"
        contender = contenders[name]
        if isinstance(contender, Contender):
            dtype = getattr(torch, contender.settings.precision)
            rate, needed = product_rate(device, dtype), operations(
                contender.config, contender.settings, distinct
            )  # fmt: skip
            line += (
                f"   {needed / 1e9:,.0f} GFLOP, {needed / seconds / 1e12:.2f} TFLOP/s, "
                f"{needed / seconds / rate:.0%} of a large product's {rate / 1e12:.2f}"
            )
        if "AllenNLP 0.9" in medians:
            line += f"   x {medians['AllenNLP 0.9'] / seconds:.2f}"
        print(line)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
