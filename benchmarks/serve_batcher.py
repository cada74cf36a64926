"""How much of the library's speed is left behind the server's queue? Without a web package.

    python benchmarks/serve_batcher.py --device cuda --model original-random --sentences 20000

Clients are coroutines that put a request in line and wait for its vectors, as the routes do; the
queue, the batches and the device's thread are those of `elmo serve`, HTTP and JSON are left out.
In turns with that, `Elmo.embed` gets the same texts at once. Prints tokens a second and the share.
"""

import argparse
import asyncio
import itertools
import json
import random
import statistics
import sys
import time
from pathlib import Path

import torch

import elmokit
from elmokit.config import ModelConfig
from elmokit.embed.batching import batch_tokens_of
from elmokit.embed.elmo import Elmo
from elmokit.embed.layer_choice import LayerChoice
from elmokit.pretrained.untrained import untrained_checkpoint
from elmokit.serve.embedding import Embedding, Wanted
from elmokit.serve.lane import Lane
from elmokit.serve.limits import MARKS, Limits
from elmokit.serve.problems import RequestError
from elmokit.serve.work import Work
from embed.machine import machine_facts

ORIGINAL = "original-random"
SECONDS_TO_INSIST = 0.005
WAYS: dict[str, tuple[int, int, bool]] = {
    "1 sentence, 256 clients, means": (1, 256, True),
    "32 sentences, 64 clients, means": (32, 64, True),
    "32 sentences, 64 clients, tokens": (32, 64, False),
}
"""Sentences in a request, clients, and whether each sentence gets one vector."""
WEB = ("fastapi", "starlette", "uvicorn", "orjson", "prometheus_client")
Sentences = list[list[str]]


class NoMetrics:
    """Counts nothing."""

    def computed(self, name: str, *, tokens: int, items: int, seconds: float) -> None:
        """Take no note of a batch."""


def made_texts(count: int) -> Sentences:
    """Make sentences of 4 to 40 words of a closed vocabulary."""
    chance = random.Random(0)
    words = ["".join(letters) for letters in itertools.product("bdfgklmnst", "aeiou", "lnrst")]
    lengths = [round(min(40, max(4, chance.gauss(20, 9)))) for _ in range(count)]
    return [chance.choices(words, k=length) for length in lengths]


def loaded(model: str, device: str, dtype: str) -> Elmo:
    if model != ORIGINAL:
        return elmokit.load(model, device=device, dtype=dtype)
    return Elmo(untrained_checkpoint(ModelConfig()), device=device, dtype=dtype)


async def served(
    lane: Lane, embedding: Embedding, requests: list[Sentences], wanted: Wanted, clients: int
) -> float:
    """Put all requests in line, as many at a time as there are clients; gives the seconds."""
    left = iter(requests)

    async def client() -> None:
        for items in left:
            costs = [len(tokens) + MARKS for tokens in items]
            while True:
                work = Work(embedding, items, costs, wanted)
                try:
                    lane.batcher.submit(work)
                    break
                except RequestError:
                    await asyncio.sleep(SECONDS_TO_INSIST)
            await work.future

    since = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    return time.perf_counter() - since


def measure(elmo: Elmo, texts: Sentences, rounds: int) -> dict[str, object]:
    embedding = Embedding(elmo)
    choice = LayerChoice("average", count=elmo.layer_count, dim=elmo.dim)
    limits = Limits(batch_tokens=batch_tokens_of(elmo.device.type))
    lane = Lane(str(elmo.device), limits=limits, metrics=NoMetrics())
    elmo.embed(texts[:200])
    lane.measure(embedding, Wanted(choice))
    lane.start()
    tokens = sum(map(len, texts))
    library: list[float] = []
    rates: dict[str, list[float]] = {way: [] for way in WAYS}
    for number in range(rounds + 1):  # the first meets new words and does not count
        since = time.perf_counter()
        elmo.embed(texts)
        alone = tokens / (time.perf_counter() - since)
        library += [alone] if number else []
        for way, (together, clients, pooled) in WAYS.items():
            requests = [texts[first : first + together] for first in range(0, len(texts), together)]
            wanted = Wanted(choice, pooled=pooled)
            seconds = asyncio.run(served(lane, embedding, requests, wanted, clients))
            rates[way] += [tokens / seconds] if number else []
    lane.stop()
    return {
        "tokens": tokens,
        "queue tokens": lane.batcher.queue_tokens,
        "Elmo.embed, tokens/s": round(statistics.median(library)),
        "batcher, tokens/s": {way: round(statistics.median(found)) for way, found in rates.items()},
        "share": {
            way: round(
                statistics.median(one / other for one, other in zip(found, library, strict=True)), 3
            )
            for way, found in rates.items()
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--model", default="english-base", help=f"or {ORIGINAL}: random weights")
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, help="a .json file")
    arguments = parser.parse_args()
    facts: dict[str, object] = dict(machine_facts())
    facts["torch"] = torch.__version__
    if arguments.device.startswith("cuda"):
        facts["device"] = torch.cuda.get_device_name()
    facts["web packages"] = [name for name in WEB if sys.modules.get(name)]
    facts["model"] = f"{arguments.model} {arguments.dtype} on {arguments.device}"
    elmo = loaded(arguments.model, arguments.device, arguments.dtype)
    facts |= measure(elmo, made_texts(arguments.sentences), arguments.rounds)
    text = json.dumps(facts, indent=1)
    print(text)
    if arguments.output is not None:
        arguments.output.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
