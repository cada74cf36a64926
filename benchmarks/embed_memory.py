"""How much memory does `elmo embed` need for a large text, beside its model?

    python benchmarks/embed_memory.py --text TEXT --work FOLDER \\
        --output benchmarks/results/embed_memory

Repeats the lines of TEXT until there are ``--size`` bytes. Each line ends with its number, so that
every line is new, and one word of it. For each format `elmo embed --layers top --float16` runs in
a process of its own: on an empty file, which shows what the program and its model need; on a text
of ``--whole-size`` bytes, to the end; and on the large text for ``--limit-seconds``, where it is
seen whether memory grows while more is read. A format that cannot hold the large text gets as much
as it can hold. Memory is the resident set as Linux counts it, sampled; peaks are its own count.
"""

import argparse
import gzip
import importlib.metadata
import itertools
import json
import lzma
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from elmokit.embed.npz_writer import MOST_TOKEN_CHARACTERS
from elmokit.version import __version__
from embed.machine import load_average, machine_facts

OPENERS: dict[str, Callable[..., IO[Any]]] = {".xz": lzma.open, ".gz": gzip.open}
# The tokens of a text as JSON are longer than the text, by half for English.
MOST_BYTES = {"npz": MOST_TOKEN_CHARACTERS // 2}
OPTIONS = ["--layers", "top", "--float16"]
SECONDS_BETWEEN_SAMPLES = 0.25
SAMPLES_KEPT = 100
INTERRUPTED = 130
MEGABYTE = 10**6


@dataclass(frozen=True)
class Sample:
    """What a process held at a time."""

    seconds: float
    resident_bytes: int
    read_bytes: int


@dataclass(frozen=True)
class Run:
    """One run of the command."""

    format: str
    text_bytes: int
    finished: bool
    seconds: float
    peak_bytes: int
    read_bytes: int
    samples: list[Sample]


def make_text(lines_of: Path, size: int, text: Path) -> None:
    """Write numbered lines until there are ``size`` bytes."""
    opener = OPENERS.get(lines_of.suffix, open)
    with opener(lines_of, "rb") as stream:
        lines = [line.rstrip() for line in stream if line.strip()]
    if not lines:
        raise SystemExit(f"--text: expected lines of text, found none in {lines_of}")
    written = 0
    with text.open("wb") as output:
        for number, line in enumerate(itertools.cycle(lines)):
            if written >= size:
                return
            written += output.write(b"%s %d\n" % (line, number))


def run(text: Path, output: Path, model: str, limit_seconds: float | None) -> Run:
    """Embed a text and watch; after the limit the run is interrupted."""
    elmo = Path(sys.executable).parent / "elmo"
    command = [str(elmo), "embed", str(text), "-o", str(output), "--model", model, *OPTIONS]
    started = time.monotonic()
    process = subprocess.Popen(
        [*command, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    samples = []
    peak = 0
    stopped = False
    for sample, highest in _watch(process, text, started):
        samples.append(sample)
        peak = max(peak, highest)
        if limit_seconds is not None and sample.seconds > limit_seconds and not stopped:
            process.send_signal(signal.SIGINT)
            stopped = True
    _, errors = process.communicate()
    if process.returncode != (INTERRUPTED if stopped else 0):
        raise SystemExit(f"{shlex.join(command)}: exit code {process.returncode}: {errors}")
    size = text.stat().st_size
    output.unlink(missing_ok=True)
    return Run(
        format=output.suffix.removeprefix("."),
        text_bytes=size,
        finished=not stopped,
        seconds=round(time.monotonic() - started, 1),
        peak_bytes=peak,
        read_bytes=max((s.read_bytes for s in samples), default=0) if stopped else size,
        samples=samples[:: len(samples) // SAMPLES_KEPT + 1],
    )


def _watch(
    process: "subprocess.Popen[str]", text: Path, started: float
) -> Iterator[tuple[Sample, int]]:
    """Give samples and the highest memory so far, until the process ends."""
    folder = Path("/proc", str(process.pid))
    while process.poll() is None:
        try:
            status = dict(
                line.split(":", 1) for line in (folder / "status").read_text().splitlines()
            )
            held, highest = (int(status[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM"))
            place = _place(folder, text)
        except (KeyError, OSError):  # it is about to end
            continue
        yield Sample(round(time.monotonic() - started, 2), held, place), highest
        time.sleep(SECONDS_BETWEEN_SAMPLES)


def _place(folder: Path, text: Path) -> int:
    """Say how far a process has read a file."""
    for descriptor in (folder / "fd").iterdir():
        if descriptor.resolve() == text.resolve():
            facts = (folder / "fdinfo" / descriptor.name).read_text()
            return int(facts.splitlines()[0].split(":")[1])
    return 0


def markdown(facts: dict[str, str], runs: list[tuple[Run, Run]]) -> str:
    """Write the facts and a line for each run beside the one on an empty file."""
    lines = ["# Embedding a large text: memory", ""]
    lines += [f"- {name}: {value}" for name, value in facts.items()]
    lines += [
        "",
        "*Program and model* is the peak of a run on an empty file. *Over the time*: resident",
        "memory after a quarter, a half, three quarters and all of the run. All in MB (10^6).",
        "",
        "| format | text | read | seconds | program and model | peak | beside | over the time |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for found, empty in runs:
        quarters = [found.samples[(len(found.samples) - 1) * n // 4] for n in (1, 2, 3, 4)]
        cells = [
            found.format,
            _megabytes(found.text_bytes),
            "all" if found.finished else _megabytes(found.read_bytes),
            f"{found.seconds:.0f}",
            _megabytes(empty.peak_bytes),
            _megabytes(found.peak_bytes),
            f"**{_megabytes(found.peak_bytes - empty.peak_bytes)}**",
            ", ".join(_megabytes(sample.resident_bytes) for sample in quarters),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _megabytes(count: int) -> str:
    return f"{count / MEGABYTE:,.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--text", type=Path, required=True, help="its lines are repeated; .xz and .gz too")
    add("--work", type=Path, required=True, help="a folder for texts and vectors")
    add("--size", type=float, default=1e9, help="bytes of the large text; 0: leave it out")
    add("--whole-size", type=float, default=2e7, help="bytes of the text that is read to its end")
    add("--limit-seconds", type=float, default=120.0, help="for the large text; 0: no limit")
    add("--formats", nargs="+", default=["h5", "npz", "parquet"])
    add("--model", default="tiny-untrained")
    add("--output", type=Path, default=None, help="write OUTPUT.md and OUTPUT.json")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    facts = machine_facts() | {
        "versions": ", ".join(
            [f"elmokit {__version__}"]
            + [
                f"{name} {importlib.metadata.version(name)}"
                for name in ("torch", "h5py", "pyarrow")
            ]
        ),
        "command": f"python {shlex.join(Path(word).name for word in sys.argv)}",
        "model and options": f"{arguments.model} {' '.join(OPTIONS)}",
    }
    text = arguments.work / "text.txt"
    runs = []
    for kind in arguments.formats:
        output = arguments.work / f"vectors.{kind}"
        text.write_bytes(b"")
        empty = run(text, output, arguments.model, None)
        large = min(int(arguments.size), MOST_BYTES.get(kind, int(arguments.size)))
        limits = {int(arguments.whole_size): None, large: arguments.limit_seconds or None}
        for size, limit in limits.items():
            if size:
                make_text(arguments.text, size, text)
                runs.append((run(text, output, arguments.model, limit), empty))
                print(markdown(facts, runs[-1:]).splitlines()[-1], flush=True)
    text.unlink()
    facts["load after"] = load_average()
    print(markdown(facts, runs))
    if arguments.output is not None:
        report = {
            "facts": facts,
            "runs": [{**asdict(found), "empty_peak_bytes": e.peak_bytes} for found, e in runs],
        }
        arguments.output.with_suffix(".md").write_text(markdown(facts, runs), encoding="utf-8")
        arguments.output.with_suffix(".json").write_text(
            json.dumps(report) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
