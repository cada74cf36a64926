"""The command line of the comparison."""

import argparse
import json
import shlex
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from embed.contenders import PEERS, PRECISIONS, SIZES, Contender, ours
from embed.environments import Environments
from embed.figures import Figures
from embed.machine import (
    GIGABYTE,
    available_bytes,
    keep_to_cores,
    load_average,
    machine_facts,
    usable_cores,
)
from embed.measure import measure_size
from embed.plan import Plan
from embed.report import markdown
from embed.sentences import TextChoice, read_sentences

OURS = "elmokit"
# Others work on the machine as well, and the estimates are rough.
SHARE_OF_MEMORY = 0.7


def run(description: str) -> None:
    """Measure what the arguments ask for, print the report and write it."""
    parser = _parser(description)
    arguments = parser.parse_args()
    if arguments.threads is not None:
        keep_to_cores(arguments.threads)
    facts = machine_facts()
    choice = TextChoice(
        file=arguments.text,
        tokeniser=arguments.tokeniser,
        count=arguments.sentences,
        longest=arguments.longest,
        length=arguments.length,
    )
    with ExitStack() as stack:
        try:
            plan = Plan(
                contenders=_contenders(arguments),
                environments=Environments(arguments.environments, arguments.python),
                text=read_sentences(choice),
                work=_work_folder(arguments.work, stack),
                device=arguments.device,
                threads=usable_cores(),
                batches=arguments.batches,
                rounds=arguments.rounds,
                seconds=arguments.seconds,
                singles=arguments.singles,
                agreement_sentences=arguments.agreement_sentences,
                gigabytes=arguments.memory or _memory(),
            )
        except (OSError, ValueError) as error:
            parser.error(str(error))
        plan.text_file.write_text(json.dumps(plan.text), encoding="utf-8")
        report: dict[str, Any] = {
            "facts": facts | _facts(plan, choice),
            "batches": plan.batches,
            "lengths": [len(sentence) for sentence in plan.text],
            "sizes": {},
        }
        figures: dict[str, Figures] = {}
        for size in arguments.sizes:
            measured = measure_size(size, plan)
            figures[size] = Figures(measured, plan.contenders, report["lengths"])
            report["sizes"][size] = measured | {"figures": figures[size].as_dict()}
            report["facts"] |= _met(report) | {"load after": load_average()}
            # After each size, so that an interruption costs one size at most.
            _write(arguments.output, report, figures)
    print(markdown(report, figures), end="")


def _parser(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [OURS, *(peer.name for peer in PEERS)]
    add = parser.add_argument
    add("--text", type=Path, required=True, help="one sentence a line; .xz and .gz too")
    add("--sentences", type=int, default=2000)
    add("--tokeniser", choices=("words", "whitespace"), default="words")
    add("--longest", type=int, default=100, help="pass over sentences with more tokens")
    add("--length", type=int, default=None, help="cut the text into sentences of so many tokens")
    add("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    add("--contenders", nargs="+", choices=names, default=names)
    add("--precisions", nargs="+", default=None, help="of elmokit; default: all of the device")
    add("--device", choices=tuple(PRECISIONS), default="cpu")
    add("--threads", type=int, default=None, help="cores to use; default: all usable ones")
    add("--batches", type=int, nargs="+", default=[32, 128], help="batch sizes")
    add("--rounds", type=int, default=3)
    add("--seconds", type=float, default=30.0, help="about what a run in batches takes; 0: all")
    add("--singles", type=int, default=40, help="sentences of a run one at a time")
    add("--agreement-sentences", type=int, default=64)
    add("--memory", type=float, default=None, help="GiB for all contenders of a group")
    add("--environments", type=Path, default=None, help="what make_environments.sh made")
    add("--python", action="append", default=[], help="NAME=PATH of one environment's Python")
    add("--work", type=Path, default=None, help="keep weights, vectors and logs here")
    add("--output", type=Path, default=None, help="write OUTPUT.md and OUTPUT.json")
    return parser


def _contenders(arguments: argparse.Namespace) -> list[Contender]:
    chosen = [peer for peer in PEERS if peer.name in arguments.contenders]
    if OURS in arguments.contenders:
        chosen = ours(arguments.precisions or PRECISIONS[arguments.device]) + chosen
    return chosen


def _work_folder(given: Path | None, stack: ExitStack) -> Path:
    if given is None:
        return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="embed-")))
    given.mkdir(parents=True, exist_ok=True)
    return given.absolute()


def _memory() -> float:
    available = available_bytes()
    return 8.0 if available is None else SHARE_OF_MEMORY * available / GIGABYTE


def _facts(plan: Plan, choice: TextChoice) -> dict[str, str]:
    lengths = [len(sentence) for sentence in plan.text]
    distinct = len({word for sentence in plan.text for word in sentence})
    return {
        "device": plan.device,
        "threads": str(plan.threads),
        "command": f"python {shlex.join(_without_folders(argument) for argument in sys.argv)}",
        "text": f"{choice.file.name}, {len(lengths):,} sentences of {min(lengths)} to "
        f"{max(lengths)} tokens, mean {sum(lengths) / len(lengths):.1f}, {sum(lengths):,} tokens, "
        f"{distinct:,} distinct",
        "rounds": str(plan.rounds),
        "seconds of a run in batches": str(plan.seconds or "the whole text"),
        "sentences one at a time": str(min(len(lengths), plan.singles)),
        "memory for a group": f"{plan.gigabytes:.1f} GiB",
    }


def _without_folders(argument: str) -> str:
    """Keep the name alone of a path that only this machine has."""
    name, equals, path = argument.rpartition("=")
    return f"{name}{equals}{Path(path).name}" if Path(path).is_absolute() else argument


def _met(report: dict[str, Any]) -> dict[str, str]:
    """Name the versions, and the GPU, that the workers met."""
    groups = [group for measured in report["sizes"].values() for group in measured["groups"]]
    workers = [record["facts"] for group in groups for record in group.values()]
    versions: dict[str, set[str]] = {}
    for facts in workers:
        for package, version in facts["versions"].items():
            versions.setdefault(package, set()).add(version)
    listed = (f"{package} {' and '.join(sorted(found))}" for package, found in versions.items())
    devices = [facts["device"] for facts in workers if "device" in facts]
    return {"versions": ", ".join(listed)} | ({"device": devices[0]} if devices else {})


def _write(output: Path | None, report: dict[str, Any], figures: dict[str, Figures]) -> None:
    if output is None:
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    stem = output.with_suffix("") if output.suffix in (".md", ".json") else output
    text = json.dumps(report, indent=1) + "\n"
    stem.with_name(f"{stem.name}.json").write_text(text, encoding="utf-8")
    stem.with_name(f"{stem.name}.md").write_text(markdown(report, figures), encoding="utf-8")
