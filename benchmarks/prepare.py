"""How fast is text prepared, with one process and with several?

    python benchmarks/prepare.py TEXT [TEXT ...] [--processes 1 2] [--repeats 3]

Prepares the same files with each tokeniser and each number of processes in turn, several times
over, so that no contender has the quiet machine to itself. Reports the median of words a second
(the whole call, reading and writing included), the ratio to one process, and the peak memory of
the parent and of its largest worker. Every folder that comes out must be the same to the byte.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from elmokit.version import __version__

RUN = """
import json, resource, sys
from elmokit.corpus.prepare import prepare
texts, folder, tokeniser, processes = json.loads(sys.argv[1])
report = prepare(texts, folder, tokeniser=tokeniser, processes=processes)
peaks = [resource.getrusage(who).ru_maxrss for who in
         (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(json.dumps({**report.to_dict(), "parent_kb": peaks[0], "worker_kb": peaks[1]}))
"""


def run(texts: list[str], folder: Path, tokeniser: str, processes: int) -> dict[str, Any]:
    """Prepare in a process of its own, so that memory can be measured."""
    settings = json.dumps([texts, str(folder), tokeniser, processes])
    finished = subprocess.run(
        [sys.executable, "-c", RUN, settings], capture_output=True, check=True, text=True
    )
    facts: dict[str, Any] = json.loads(finished.stdout)
    facts["manifest"] = (folder / "manifest.json").read_text()
    return facts


def main() -> None:
    parser = argparse.ArgumentParser(description="speed and memory of elmo prepare")
    parser.add_argument("texts", nargs="+", metavar="TEXT")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--tokenisers", nargs="+", default=["words", "whitespace"])
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    contenders = [(t, p) for t in arguments.tokenisers for p in arguments.processes]
    runs: dict[tuple[str, int], list[dict[str, Any]]] = {key: [] for key in contenders}
    with tempfile.TemporaryDirectory() as folder:
        for repeat in range(arguments.repeats):
            for tokeniser, processes in contenders:
                place = Path(folder, f"{tokeniser}-{processes}-{repeat}")
                runs[tokeniser, processes].append(run(arguments.texts, place, tokeniser, processes))
    print(f"command: python benchmarks/prepare.py {' '.join(sys.argv[1:])}")
    print(
        f"machine: {platform.machine()}, {os.cpu_count()} cores, {platform.system()}; "
        f"Python {platform.python_version()}, numpy {np.__version__}, elmokit {__version__}"
    )
    for tokeniser in arguments.tokenisers:
        (manifest,) = {r["manifest"] for p in arguments.processes for r in runs[tokeniser, p]}
        del manifest  # one for all: the folders are the same
        first = runs[tokeniser, arguments.processes[0]]
        base = statistics.median(r["words_per_second"] for r in first)
        splits = first[0]["splits"].values()
        words = sum(split["words"] for split in splits)
        print(f"\n{tokeniser}: {words:,} words, {first[0]['types']:,} types")
        for processes in arguments.processes:
            found = runs[tokeniser, processes]
            speed = statistics.median(r["words_per_second"] for r in found)
            parent = max(r["parent_kb"] for r in found) / 1000
            worker = max(r["worker_kb"] for r in found) / 1000
            print(
                f"  {processes} process(es): {speed:,.0f} words/s, {speed / base:.2f} times; "
                f"parent {parent:.0f} MB, worker {worker:.0f} MB"
            )


if __name__ == "__main__":
    main()
