"""What do the layers of a model know? Parts of speech by a linear probe, senses by neighbours.

    python benchmarks/probes.py --model MODEL --data DATA [--device cuda] [--output probes.md]

``DATA`` holds ``ud/en_ewt.{train,dev,test}.jsonl.xz`` and ``wsd/semcor.train.jsonl.xz``,
``wsd/eval_*.jsonl.xz``. The tasks are those of the ELMo paper's section 5.3, on other data for
the parts of speech; what is counted is said in `probe_pos` and `probe_wsd`. ``--limit 300`` reads
300 sentences of each file, for a quick look.
"""

import argparse
import json
import os
import platform
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

import elmokit
import probe_pos
import probe_wsd

TITLES = {
    "pos": "Part of speech: accuracy (%) of a linear probe, UD English EWT, UPOS tags",
    "wsd": "Word senses: F1 (%) of the nearest mean of SemCor's senses",
}


def machine(elmo: elmokit.Elmo) -> dict[str, str]:
    """Name what the figures were made with."""
    processor = platform.processor() or platform.machine()
    facts = {"machine": f"{processor}, {os.cpu_count()} cores", "device": str(elmo.device)}
    if elmo.device.type == "cuda":
        facts["device"] = torch.cuda.get_device_name(elmo.device)
    return facts | {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "elmokit": elmokit.__version__,
    }


def markdown(report: dict[str, Any]) -> str:
    """Write the facts as a list and each probe as a table."""
    lines = ["# Probes", ""]
    lines += [f"- {name}: {value}" for name, value in report["facts"].items()]
    for name, probe in report["probes"].items():
        columns = list(next(iter(probe["scores"].values())))
        lines += ["", f"## {TITLES[name]}", ""]
        lines += [f"| | {' | '.join(columns)} |", f"| --- |{' --- |' * len(columns)}"]
        for row, scores in probe["scores"].items():
            lines.append(f"| {row} | {' | '.join(f'{scores[c]:.1f}' for c in columns)} |")
        lines += ["", f"{probe['seconds']:.0f} seconds, embedding included."]
    return "\n".join(lines) + "\n"


def arguments_given() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="what the layers of a model know")
    parser.add_argument("--model", default=None, help="folder or name; default: the bundled model")
    parser.add_argument("--data", type=Path, required=True, help="folder with ud/ and wsd/")
    parser.add_argument("--probes", nargs="+", choices=list(TITLES), default=list(TITLES))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--threads", type=int, default=None, help="default: torch's choice")
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--limit", type=int, default=None, help="sentences read of each file")
    parser.add_argument("--output", type=Path, default=None, help="a .json or .md file")
    arguments = parser.parse_args()
    if arguments.output is not None and arguments.output.suffix not in (".json", ".md"):
        parser.error(f"--output: expected a name in .json or .md, found {arguments.output}")
    return arguments


def main() -> None:
    arguments = arguments_given()
    if arguments.threads is not None:
        torch.set_num_threads(arguments.threads)
    elmo = elmokit.load(arguments.model, device=arguments.device, dtype=arguments.dtype)
    recipe = probe_pos.Recipe()
    settings: dict[str, Any] = {"limit": arguments.limit, "batch_tokens": arguments.batch_tokens}
    probes = {}
    for name in arguments.probes:
        start = time.perf_counter()
        if name == "pos":
            scores = probe_pos.probe(elmo, arguments.data, recipe=recipe, **settings)
        else:
            scores = probe_wsd.probe(elmo, arguments.data, **settings)
        probes[name] = {"scores": scores, "seconds": time.perf_counter() - start}
    facts = {
        "model": str(elmo),
        "sizes": f"LSTM {elmo.config.lstm_dim}, projection {elmo.config.projection_dim}",
        "command": f"python {' '.join(sys.argv)}",
        "config": f"{settings | {'pos': asdict(recipe)}}",
        **machine(elmo),
    }
    report = {"facts": facts, "probes": probes}
    print(markdown(report), end="")
    if arguments.output is not None:
        text = json.dumps(report, indent=2) + "\n"
        is_json = arguments.output.suffix == ".json"
        arguments.output.write_text(text if is_json else markdown(report), encoding="utf-8")


if __name__ == "__main__":
    main()
