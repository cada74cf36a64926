"""The parts that load a server: soak, overload, clients that leave, SIGTERM."""

import json
import random
from collections import Counter

from integration.serve_load.hang_up import CLIENTS as LEAVING
from integration.serve_load.hang_up import hang_up
from integration.serve_load.overload import SHARE, SLOW, TIMES, overload
from integration.serve_load.server_process import ServerProcess
from integration.serve_load.slow_batch import tokens_that_take
from integration.serve_load.soak import (
    CLIENTS,
    TOLERANCE,
    measured_capacity,
    send_large_requests,
    soak,
)
from integration.serve_load.termination import terminate_under_load
from serving.context import Context
from serving.line import Part

MEGABYTE = 10**6


def soaking(context: Context) -> Part:
    """Load a server at 80 % for ten minutes."""
    part = Part()
    seconds, warm_up = context.seconds(600, 30), context.seconds(120, 15)
    with context.server() as server:
        count = len(context.sentences)
        _, first = measured_capacity(server, context.requests, seconds=600, count=count)
        send_large_requests(server, context.sentences)
        capacities = _capacities(context, server)
        rate = SHARE * min(capacities)
        found = soak(
            server, context.requests, rate=rate, seconds=warm_up + seconds, warm_up=warm_up
        )
        code = server.stop()
    lost = found.lost + int((~first.answered).sum())
    asked = len(found.seen.sent)
    part.add(
        f"soak: {CLIENTS} clients at 80 % load: time, requests",
        f"{context.seconds(600, 30):.0f} s",
        f"{seconds:.0f} s after {warm_up:.0f} s of warm-up, {asked:,} requests "
        f"({rate:.1f}/s of {min(capacities):.1f}/s)",
        code == 0,
    )
    part.add("soak: lost", "0", str(lost), lost == 0)
    part.add(
        f"soak: mixed (beyond {TOLERANCE})",
        "0",
        f"{found.mixed}, at most {found.worst:.1e} from the reference",
        found.mixed == 0,
    )
    part.add("soak: memory growth", "< 1 %", f"{found.growth:+.2%}", found.growth < 0.01)
    sizes = [size for when, size in found.memory if when >= found.memory[0][0] + warm_up]
    marks = [sizes[round(place * (len(sizes) - 1) / 8)] / MEGABYTE for place in range(9)]
    part.remark(f"resident memory over the time, MB: {', '.join(f'{one:.0f}' for one in marks)}")
    ends = {"before": first.statuses(), "soak": found.seen.statuses()}
    part.remark(f"ends (as HTTP says; below 0: no answer): {json.dumps(ends)}")
    part.remark(f"capacity: the least of {_listed(capacities)}")
    part.remark(
        f"times: p50 {found.seen.percentile(50):.3f} s, p99 {found.seen.percentile(99):.3f} s; "
        f"{len(context.sentences):,} sentences of a closed vocabulary, all sent once before the "
        "warm-up, so that the cache of words is full when memory begins to count, and larger "
        "batches than the load brings, for which memory is taken once"
    )
    return part


def overloading(context: Context) -> Part:
    """Send four times too much for a minute."""
    part = Part()
    seconds, normal = context.seconds(60, 10), context.seconds(60, 10)
    with context.server() as server:
        measured_capacity(server, context.requests, seconds=context.seconds(20, 5))  # new words
        capacities = _capacities(context, server)
        capacity = min(capacities)
        found = overload(
            server, context.requests, capacity=capacity, normal=normal, seconds=seconds
        )
    part.add(
        f"{TIMES:.0f}x overload for {seconds:.0f} s: answers",
        "200 and 429 alone, with Retry-After",
        f"{json.dumps(found.statuses)}, {found.without_advice} without",
        set(found.statuses) <= {200, 429} and not found.without_advice,
    )
    p50, p99 = found.during.percentile(50), found.during.percentile(99)
    normal_p50, normal_p99 = found.before.percentile(50), found.before.percentile(99)
    part.add(
        "overload: p99 of those accepted, beside normal",
        "<= 2x",
        f"{found.ratio:.2f}x ({p99:.3f} s, {normal_p99:.3f} s)",
        found.ratio <= 2,
    )
    part.add("overload: back to normal", "<= 1 s", f"{found.recovery:.2f} s", found.recovery <= 1)
    part.add("overload: mixed", "0", str(found.mixed), found.mixed == 0)
    part.remark(
        f"capacity {capacity:.1f}/s (the least of {_listed(capacities)}); offered "
        f"{found.offered:.1f}/s ({found.offered / capacity:.1f}x), accepted "
        f"{found.accepted:.1f}/s; p50 of those accepted {p50:.3f} s, normal p50 {normal_p50:.3f} s"
    )
    before, after = found.share_of_bad(found.before), found.share_of_bad(found.after)
    part.remark(
        f"refused or slow (over {SLOW:.0f}x the normal p99) at the normal load: {before:.2%} "
        f"before, {after:.2%} in the time after"
    )
    late = found.during.sent - found.during.due
    part.remark(
        f"the generator was late by {float(sorted(late)[int(0.99 * len(late))]):.3f} s (p99)"
    )
    return part


def hanging_up(context: Context) -> Part:
    """Have 500 clients leave."""
    part = Part()
    options = ["--max-batch-tokens", "16384", "--max-sentence-tokens", "16000"]
    with context.server(options) as server:
        tokens = tokens_that_take(server, 6.0, most=16_000)
        found = hang_up(server, blocker=[["word"] * tokens])
        left = server.unfinished()
    part.add(
        f"{LEAVING} clients that hang up: seen within",
        "<= 0.5 s",
        f"{found.seen:.2f} s ({found.queued} of them in line)",
        found.seen <= 0.5 and found.queued >= 0.9 * LEAVING,
    )
    share = 1 - found.computed / max(1, found.queued)
    part.add(
        "hang up: never computed, of those in line",
        ">= 99 %",
        f"{share:.1%} ({found.cancelled} cancelled, {found.computed} computed)",
        share >= 0.99 and found.cancelled >= 0.99 * found.queued and found.still_computing,
    )
    part.remark(f"requests left afterwards: {left}")
    return part


def terminating(context: Context) -> Part:
    """Send SIGTERM to one loaded server after another."""
    part = Part()
    times = context.number(20, 3)
    chance = random.Random(0)
    results = []
    for number in range(times):
        with context.server() as server:
            after = chance.uniform(0.5, 4.0)
            results.append(terminate_under_load(server, context.requests, after=after))
        one = results[-1]
        print(f"  {number + 1}: {one}", flush=True)
    lost = sum(one.lost for one in results)
    broken = sum(one.broken + one.mixed for one in results)
    before = sum(one.sent_before for one in results)
    statuses: Counter[int] = Counter()
    for one in results:
        statuses.update(one.statuses)
    part.add(
        f"SIGTERM under load, {times} times: accepted requests lost",
        "0",
        f"{lost} ({before} were on their way, {broken} answers broken or wrong)",
        lost == broken == 0 and before > 0,
    )
    codes = Counter(one.exit_code for one in results)
    part.add(
        "SIGTERM: exit codes",
        "0",
        ", ".join(f"{code} ({count}x)" for code, count in codes.items()),
        set(codes) == {0},
    )
    part.remark(
        f"ends: {json.dumps({str(k): v for k, v in sorted(statuses.items())})} (-1: no connection, "
        f"-2: closed without an answer, after the signal alone); the process took up to "
        f"{max(one.seconds for one in results):.1f} s to end"
    )
    return part


def _capacities(context: Context, server: ServerProcess) -> list[float]:
    """Measure three times what a server can do that knows all words, in requests a second."""
    seconds = context.seconds(20, 5)
    return [measured_capacity(server, context.requests, seconds=seconds)[0] for _ in range(3)]


def _listed(rates: list[float]) -> str:
    return ", ".join(f"{rate:.1f}" for rate in rates)
