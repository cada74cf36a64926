"""The command: which parts are run, and the report."""

import argparse
import importlib.metadata
import json
import shlex
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from elmokit.version import __version__
from embed.machine import load_average, machine_facts
from serving.context import Context
from serving.line import Part
from serving.loaded import hanging_up, overloading, soaking, terminating
from serving.robust import fuzz, keys, raw_bytes
from serving.throughput import throughput

PARTS: dict[str, Callable[[Context], Part]] = {
    "throughput": throughput,
    "overload": overloading,
    "hang-up": hanging_up,
    "sigterm": terminating,
    "soak": soaking,
    "keys": keys,
    "bytes": raw_bytes,
    "fuzz": fuzz,
}
NOTES = """\
Servers run as `elmo serve` in processes of their own, on the bundled model; fuzzing, bytes and keys
run on untrained models, because they do not reach the model. Clients are one asyncio process
(niced, raw keep-alive connections), which compares every vector with the library's at once.
*Capacity* is what 256 clients get together who ask without pause, one sentence at a time, and again
when `Retry-After` says so where they are refused. *Normal* is 80 % of it at random times. Memory is
the server's resident set as Linux counts it; growth is the median of the last fifth of the time
beside that of the first."""
PACKAGES = ("torch", "fastapi", "uvicorn", "schemathesis")


def run(description: str) -> None:
    """Run the parts that are asked for, and write the report of all that are known."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, required=True, help="the report; .json beside it")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=list(PARTS))
    parser.add_argument("--model", default="english-base")
    parser.add_argument("--threads", type=int, help="of servers and library; default: theirs")
    parser.add_argument("--short", action="store_true", help="a few seconds of each part")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", message="the model .* is untrained")
    kept = arguments.output.with_suffix(".json")
    known = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    with tempfile.TemporaryDirectory(prefix="elmokit-serve-") as folder:
        context = Context(Path(folder), arguments.model, arguments.short, arguments.threads)
        for name, measure in PARTS.items():
            if name not in arguments.only:
                continue
            print(f"{name}:", flush=True)
            before, since = load_average(), time.monotonic()
            part = measure(context)
            part.facts = {
                "measured": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
                "load before": before,
                "took": f"{time.monotonic() - since:.0f} s",
                "command": shlex.join(["python", "benchmarks/serve.py", *sys.argv[1:]]),
                "machine": machine(),
                "versions": versions(),
            }
            if arguments.threads is not None:
                part.facts["threads"] = str(arguments.threads)
            if arguments.short:
                part.facts["short"] = "yes: shows that it works, and no more"
            known[name] = part.plain()
            kept.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
            arguments.output.write_text(report(known), encoding="utf-8")
    if not all(line["kept"] for name in arguments.only for line in known[name]["lines"]):
        sys.exit("not everything that was asked for was measured")


def report(known: dict[str, dict[str, object]]) -> str:
    """Write the table, then the facts and remarks of each part."""
    parts = {name: Part.of(known[name]) for name in PARTS if name in known}
    lines = ["# Serving: what a server stands, and how fast it is", ""]
    lines += [NOTES, "", "| test | asked | measured | kept |", "| --- | --- | --- | --- |"]
    lines += [line.row() for part in parts.values() for line in part.lines]
    for name, part in parts.items():
        lines += ["", f"## {name}", ""]
        lines += [f"- {key}: {value}" for key, value in part.facts.items()]
        lines += [f"- {remark}" for remark in part.remarks]
    return "\n".join(lines) + "\n"


def machine() -> str:
    """Name the machine in a line; parts may be measured on different ones."""
    facts = machine_facts()
    names = ("processor", "system", "python", "available memory")
    known = {name: facts[name] for name in names if name in facts}
    return f"{known.pop('processor')}, {facts['cores']} cores, " + ", ".join(
        f"{name} {value}" for name, value in known.items()
    )


def versions() -> str:
    """Name the versions of what was measured and of what it stands on."""
    found = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    return f"elmokit {__version__}, {found}"
