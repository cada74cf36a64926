"""How fast is `elmo embed` on one machine: one process, several, and Ray?

    python benchmarks/ray_embed.py --text TEXT --work FOLDER \\
        --output benchmarks/results/ray_embed.md

Each contender is the command itself, in a process of its own, on the same lines of TEXT. They run
in turns, ``--rounds`` times; figures are medians. *Rate* is tokens by all of the time from the
command's start to its end. Each also runs on ten lines: what that takes is *before and after*, the
start of Python, of Ray and of the model. *Steady rate* leaves it out: that is the rate of a text
that takes hours.
"""

import argparse
import gzip
import importlib.metadata
import itertools
import json
import lzma
import shlex
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from elmokit.version import __version__
from embed.machine import load_average, machine_facts, usable_cores

OPENERS: dict[str, Callable[..., IO[Any]]] = {".xz": lzma.open, ".gz": gzip.open}
FEW_LINES = 10


@dataclass(frozen=True)
class Contender:
    """One way to embed a file."""

    name: str
    output: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Timing:
    """One run of the command."""

    tokens: int
    seconds: float


def contenders(cores: int, shard_bytes: int) -> list[Contender]:
    """List what there is to compare on so many cores."""
    shards = ("--shard-bytes", str(shard_bytes))
    ray = (*shards, "--ray", "local")
    found = [
        Contender("one process, one file", "vectors.parquet"),
        Contender("one process, shards", "vectors/", shards),
        Contender(
            f"{cores} worker processes, shards", "vectors/", (*shards, "--workers", str(cores))
        ),
        Contender(f"Ray, {cores} actors of one core", "vectors/", (*ray, "--num-cpus", "1")),
        Contender(f"Ray, one actor of {cores} cores", "vectors/", (*ray, "--num-cpus", str(cores))),
    ]
    return found if cores > 1 else found[:2] + found[3:4]


def make_texts(source: Path, lines: int, work: Path) -> tuple[Path, Path]:
    """Write the first lines of a text that are not empty, and ten of them."""
    with OPENERS.get(source.suffix, open)(source, "rb") as stream:
        found = list(itertools.islice((line for line in stream if line.strip()), lines))
    if len(found) <= FEW_LINES:
        raise SystemExit(f"--text: expected more than {FEW_LINES} lines, found {len(found)}")
    large, small = work / "large.txt", work / "small.txt"
    large.write_bytes(b"".join(found))
    small.write_bytes(b"".join(found[:FEW_LINES]))
    return large, small


def run(contender: Contender, text: Path, work: Path, model: str, more: list[str]) -> Timing:
    """Time the command from its start to its end."""
    output = work / contender.output
    shutil.rmtree(output, ignore_errors=True)
    elmo = Path(sys.executable).parent / "elmo"
    command = [str(elmo), "embed", str(text), "-o", f"{work}/{contender.output}"]
    command += ["--model", model, "--device", "cpu", "--json", *contender.options, *more]
    begun = time.perf_counter()
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begun
    if finished.returncode:
        raise SystemExit(f"{shlex.join(command)}: {finished.stderr}")
    return Timing(json.loads(finished.stdout)["tokens"], seconds)


def markdown(facts: dict[str, str], timings: dict[str, list[tuple[Timing, Timing]]]) -> str:
    """Write the facts and a line for each contender."""
    lines = ["# Embedding on one machine: processes and Ray", ""]
    lines += [f"- {name}: {value}" for name, value in facts.items()]
    lines += [
        "",
        "Medians. *Rate*: tokens by all of the time of the command. *Before and after*: what the",
        f"command takes for {FEW_LINES} lines. *Steady rate*: without that. The ratio is that of",
        "the steady rates to the first line's.",
        "",
        "| | seconds | rate, tokens/s | before and after, s | steady rate, tokens/s | ratio |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    first = None
    for name, pairs in timings.items():
        large = statistics.median(pair[0].seconds for pair in pairs)
        small = statistics.median(pair[1].seconds for pair in pairs)
        tokens, few = pairs[0][0].tokens, pairs[0][1].tokens
        if large <= small:
            raise SystemExit(f"{name}: the text is too short beside the start; give more --lines")
        steady = (tokens - few) / (large - small)
        first = first or steady
        lines.append(
            f"| {name} | {large:.1f} | {tokens / large:,.0f} | {small:.1f} | {steady:,.0f} | "
            f"{steady / first:.2f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--text", type=Path, required=True, help="one sentence a line; .xz and .gz too")
    add("--work", type=Path, required=True, help="a folder for texts and vectors")
    add("--lines", type=int, default=4000, help="lines of the text")
    add("--rounds", type=int, default=3)
    add("--model", default="english-base")
    add("--cores", type=int, default=usable_cores())
    add("--shard-bytes", type=int, default=64 * 1024, help="so small that every core has several")
    add("--output", type=Path, default=None, help="write this Markdown file")
    arguments, more = parser.parse_known_args()  # what is left goes to every command
    arguments.work.mkdir(parents=True, exist_ok=True)
    large, small = make_texts(arguments.text, arguments.lines, arguments.work)
    versions = ("torch", "pyarrow", "ray")
    facts = machine_facts() | {
        "versions": ", ".join(
            [f"elmokit {__version__}"]
            + [f"{name} {importlib.metadata.version(name)}" for name in versions]
        ),
        "command": f"python {shlex.join(Path(word).name for word in sys.argv)}",
        "text": f"{arguments.lines} lines of {arguments.text.name}, {large.stat().st_size:,} bytes",
    }
    every = contenders(arguments.cores, arguments.shard_bytes)
    timings: dict[str, list[tuple[Timing, Timing]]] = {contender.name: [] for contender in every}
    for number in range(arguments.rounds):
        for contender in every:
            pair = tuple(
                run(contender, text, arguments.work, arguments.model, more)
                for text in (large, small)
            )
            timings[contender.name].append((pair[0], pair[1]))
            print(
                f"round {number + 1}: {contender.name}: {pair[0].seconds:.1f} s and "
                f"{pair[1].seconds:.1f} s",
                flush=True,
            )
    facts["tokens"] = f"{timings[every[0].name][0][0].tokens:,}"
    facts["load after"] = load_average()
    report = markdown(facts, timings)
    print(report)
    if arguments.output is not None:
        arguments.output.write_text(report, encoding="utf-8")
    shutil.rmtree(arguments.work / "vectors", ignore_errors=True)


if __name__ == "__main__":
    main()
