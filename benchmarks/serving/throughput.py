"""Tokens a second through the server, beside `Elmo.embed` in this process, in turns.

`Elmo.embed` gets all sentences at once, and again in calls as small as the server's batches were:
what is lost between these two is the batches' size, and the rest is the server's.
"""

import statistics
import time
from pathlib import Path

from elmokit.serve.limits import MARKS
from integration.serve_load.load import run_load
from integration.serve_load.load_plan import Plan
from integration.serve_load.requests_file import read_requests, write_requests
from integration.serve_load.server_process import ServerProcess, total
from serving.context import Context
from serving.line import Part

WAYS: dict[str, tuple[int, int, int]] = {
    "embeddings, 1 sentence, 64 clients": (1, 64, 0),
    "embeddings, 1 sentence, 256 clients": (1, 256, 0),
    "embeddings, 32 sentences, 16 clients": (32, 16, 0),
    "tokens as bytes, 32 sentences, 16 clients": (32, 16, 1),
}
"""Sentences in a request, clients, and whether vectors of tokens are asked for."""


def throughput(context: Context) -> Part:
    """Measure both in turns."""
    part = Part()
    sentences = context.sentences[: context.number(600, 300)]
    tokenise = context.elmo.tokeniser
    texts = [tokenise.words(sentence) for sentence in sentences]
    tokens = sum(map(len, texts))
    files = {
        way: write_requests(
            context.folder / f"way{number}.json",
            sentences,
            None,
            tokens_every=every,
            together=together,
        )
        for number, (way, (together, _, every)) in enumerate(WAYS.items())
    }
    rates: dict[str, list[float]] = {way: [] for way in WAYS}
    in_calls: dict[str, list[float]] = {way: [] for way in WAYS}
    batches: dict[str, tuple[float, float]] = {}
    library: list[float] = []
    with context.server() as server:
        for _ in range(2):  # words that are new come first
            _library_rate(context, [texts], tokens)
            _server_rate(server, files, next(iter(WAYS)), tokens)
        for _ in range(context.number(5, 2)):
            library.append(_library_rate(context, [texts], tokens))
            for way in WAYS:
                before = server.metrics()
                rates[way].append(_server_rate(server, files, way, tokens))
                batches[way] = _batches(before, server.metrics(), tokens / rates[way][-1])
                calls = _calls(texts, batches[way][0])
                in_calls[way].append(_library_rate(context, calls, tokens))
    ours = statistics.median(library)
    shares, call_shares = (
        {
            way: statistics.median(rate / alone for rate, alone in zip(found, library, strict=True))
            for way, found in kind.items()
        }
        for kind in (rates, in_calls)
    )
    best = max(shares, key=lambda way: shares[way])
    part.add(
        "throughput beside Elmo.embed, CPU",
        ">= 90 %",
        f"{shares[best]:.1%} ({best})",
        shares[best] >= 0.9,
    )
    part.remark(f"Elmo.embed of {len(texts):,} sentences, {tokens:,} tokens: {ours:,.0f} tokens/s")
    for way, found in rates.items():
        size, busy = batches[way]
        part.remark(
            f"{way}: {statistics.median(found):,.0f} tokens/s, {shares[way]:.1%}; in the last "
            f"round {size:,.0f} tokens a batch (marks included), computing {busy:.0%} of the time; "
            f"Elmo.embed in calls of as many: {call_shares[way]:.1%}"
        )
    return part


def _batches(
    before: dict[str, float], after: dict[str, float], seconds: float
) -> tuple[float, float]:
    """Give the mean size of batches and the share of the time that they took."""
    tokens, count, took = (
        total(after, name) - total(before, name)
        for name in (
            "elmokit_batch_tokens_sum",
            "elmokit_batch_tokens_count",
            "elmokit_batch_seconds_sum",
        )
    )
    return tokens / count, took / seconds


def _calls(texts: list[list[str]], size: float) -> list[list[list[str]]]:
    """Cut sentences into calls of about ``size`` tokens, marks included."""
    calls: list[list[list[str]]] = [[]]
    filled = 0
    for words in texts:
        if filled >= size:
            calls.append([])
            filled = 0
        calls[-1].append(words)
        filled += len(words) + MARKS
    return calls


def _library_rate(context: Context, calls: list[list[list[str]]], tokens: int) -> float:
    since = time.perf_counter()
    for texts in calls:
        context.elmo.embed(texts)
    return tokens / (time.perf_counter() - since)


def _server_rate(server: ServerProcess, files: dict[str, Path], way: str, tokens: int) -> float:
    seen = run_load(
        Plan(
            port=server.port,
            requests=str(files[way]),
            clients=WAYS[way][1],
            seconds=600,
            count=len(read_requests(files[way])),
            insistent=True,
        )
    )
    assert seen.statuses().keys() == {200}, seen.statuses()
    assert int(seen.tokens.sum()) == tokens
    return float(tokens / (seen.done.max() - seen.sent.min()))
