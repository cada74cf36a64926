"""How fast a model embeds on this machine, in every precision that it has.

B rows, P size of a direction, H cell
"""

import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from elmokit.embed.device import DTYPES, device_named
from elmokit.embed.elmo import Elmo
from elmokit.embed.start_state import Start
from elmokit.engine.cpu.products import product_with
from elmokit.formats.checkpoint import Checkpoint

SENTENCE_LENGTH = 20  # the mean; lengths are spread as those of real sentences
COMMON_WORDS = 20_000
PRODUCT_ROWS = 128
DEFAULT_SECONDS = 30.0


@dataclass(frozen=True, kw_only=True)
class Speed:
    """What was measured in one precision."""

    dtype: str
    seconds_to_first: float
    """From a model in memory to the first sentence's vectors."""
    tokens_per_second: float
    """Many sentences at once, all words new."""
    tokens_per_second_known_words: float
    """The same again, when all words are in the cache."""
    sentence_milliseconds: float
    """One sentence at a time: the median."""
    sentence_milliseconds_95: float
    """One sentence at a time: 95% take less."""
    cosine: float
    """Least mean cosine of a layer with float32's."""


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What a model does on a machine."""

    device: str
    threads: int
    product_rate: float
    """Operations per second of a product of the recurrent shape, in float32."""
    operations_per_token: float
    """Of the LSTMs' products."""
    product_share: float
    """Share of that rate that float32 reaches with known words, if only those counted."""
    speeds: list[Speed]

    def to_dict(self) -> dict[str, Any]:
        """Give plain values."""
        return asdict(self)


def bench(
    checkpoint: Checkpoint,
    *,
    device: str = "auto",
    dtypes: Sequence[str] | None = None,
    start: Start = "warm",
    seconds: float = DEFAULT_SECONDS,
) -> Bench:
    """Measure for about ``seconds``, on made-up sentences with words as frequent as in text."""
    place = device_named(device)
    chosen = list(dtypes or (name for name in DTYPES[place.type] if name != "float64"))
    sentences = made_up_sentences(checkpoint, 4096)
    reference = Elmo(checkpoint, device=device, start=start)
    few = sentences[:16]
    expected = reference.embed(few, layers="all")
    speeds = []
    for dtype in chosen:
        began = time.perf_counter()
        elmo = Elmo(checkpoint, device=device, dtype=dtype, start=start)
        elmo.embed(sentences[:1])
        first = time.perf_counter() - began
        found = elmo.embed(few, layers="all")
        speeds.append(
            _speed(elmo, sentences, first, _least_cosine(found, expected), seconds / len(chosen))
        )
    config = checkpoint.config
    operations = 2.0 * 2 * config.layers * config.lstm_dim * config.projection_dim * 9
    rate = product_rate(config.lstm_dim, config.projection_dim, place)
    full = next((speed for speed in speeds if speed.dtype == "float32"), speeds[0])
    return Bench(
        device=_device_name(place),
        threads=torch.get_num_threads(),
        product_rate=rate,
        operations_per_token=operations,
        product_share=full.tokens_per_second_known_words * operations / rate,
        speeds=speeds,
    )


def made_up_sentences(checkpoint: Checkpoint, count: int) -> list[list[str]]:
    """Draw words as often as real text has them, from the model's vocabulary where it has one."""
    generator = np.random.default_rng(0)
    words = list(checkpoint.vocabulary.words[3:COMMON_WORDS]) if checkpoint.vocabulary else []
    if len(words) < 1000:
        words = [_made_up_word(generator) for _ in range(COMMON_WORDS)]
    shares = 1 / np.arange(10, len(words) + 10)
    lengths = np.clip(generator.gamma(4, SENTENCE_LENGTH / 4, count).astype(int), 2, 100)
    drawn = iter(generator.choice(len(words), int(lengths.sum()), p=shares / shares.sum()))
    return [[words[next(drawn)] for _ in range(length)] for length in lengths]


def product_rate(cell: int, size: int, device: torch.device) -> float:
    """Measure operations per second of (B, P) times (P, 4H), both directions of a step."""
    rows = torch.randn(PRODUCT_ROWS, size, device=device)
    weight = torch.randn(8 * cell, size, device=device)
    product = (
        product_with(weight, None, dtype="float32")
        if device.type == "cpu"
        else partial(torch.nn.functional.linear, weight=weight)
    )
    times = []
    for _ in range(12):
        began = time.perf_counter()
        product(rows)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        times.append(time.perf_counter() - began)
    return 2.0 * PRODUCT_ROWS * size * 8 * cell / statistics.median(times[2:])


def _speed(
    elmo: Elmo, sentences: list[list[str]], first: float, cosine: float, seconds: float
) -> Speed:
    alone, began = [], time.perf_counter()
    for sentence in sentences[:200]:
        started = time.perf_counter()
        elmo.embed([sentence])
        alone.append(1000 * (time.perf_counter() - started))
        if time.perf_counter() - began > seconds / 4:
            break
    began = time.perf_counter()
    elmo.embed(sentences[:32])
    guess = sum(map(len, sentences[:32])) / (time.perf_counter() - began)
    few = max(64, min(len(sentences), int(guess * seconds / 2 / SENTENCE_LENGTH)))
    rates = []
    elmo.embedder.word_vectors.clear()
    for _ in range(2):
        began = time.perf_counter()
        elmo.embed(sentences[:few], layers="all")
        rates.append(sum(map(len, sentences[:few])) / (time.perf_counter() - began))
    return Speed(
        dtype=elmo.dtype,
        seconds_to_first=first,
        tokens_per_second=rates[0],
        tokens_per_second_known_words=rates[1],
        sentence_milliseconds=float(np.percentile(alone, 50)),
        sentence_milliseconds_95=float(np.percentile(alone, 95)),
        cosine=cosine,
    )


def _least_cosine(found: Sequence[Any], expected: Sequence[Any]) -> float:
    left, right = (torch.from_numpy(np.concatenate(part, axis=1)) for part in (found, expected))
    return float(torch.cosine_similarity(left, right, dim=2).mean(dim=1).min())


def _made_up_word(generator: np.random.Generator) -> str:
    letters = generator.integers(ord("a"), ord("z") + 1, size=1 + generator.poisson(5))
    return "".join(map(chr, letters))


def _device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)
