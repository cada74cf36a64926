"""Schemathesis, as its command runs it, on the server's own description: how many cases of each
operation it really ran, what was answered, and what it found.
"""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Whether a sentence has as many tokens as a position asks for, one word between asterisks, or what
# a task takes, no schema can say: there a request that fits the schema may still be refused.
WIDER_THAN_SCHEMAS = ("/v1/substitutes", "/v1/neighbours", "/v1/tasks/{name}")
# What is wrong and too large may be refused for either.
REFUSALS = ("400", "404", "405", "413", "415", "422")
CONFIG = f"[checks]\nnegative_data_rejection.expected-statuses = {json.dumps(REFUSALS)}\n"
for _path in WIDER_THAN_SCHEMAS:
    CONFIG += f'[[operations]]\ninclude-path = "{_path}"\n'
    CONFIG += "checks.positive_data_acceptance.enabled = false\n"
SECONDS_PER_REQUEST = 60


@dataclass
class Fuzzed:
    """What a run has seen."""

    cases: Counter[str] = field(default_factory=Counter)
    """Cases by operation; those of sequences count for what they call."""
    phases: Counter[str] = field(default_factory=Counter)
    """Cases by phase."""
    modes: Counter[str] = field(default_factory=Counter)
    """Cases that fit the schema (positive) and that do not (negative)."""
    statuses: Counter[int] = field(default_factory=Counter)
    """Answers by status."""
    unanswered: int = 0
    """Requests that got no answer."""
    failures: Counter[str] = field(default_factory=Counter)
    """Checks that failed, with the operation and the status."""
    operations: int = 0
    """Operations that the description has."""

    @property
    def server_errors(self) -> int:
        """Answers of 500 or more."""
        return sum(count for status, count in self.statuses.items() if status >= 500)


def fuzz_schema(
    port: int, folder: Path, *, examples: int, seed: int = 0, key: str | None = None
) -> Fuzzed:
    """Run all phases with all checks, which is the default, and ``examples`` cases of an operation
    while fuzzing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    config, report = folder / "schemathesis.toml", folder / "events.ndjson"
    config.write_text(CONFIG, encoding="utf-8")
    command = [
        str(Path(sys.executable).with_name("schemathesis")),
        *("--config-file", str(config), "run", f"http://127.0.0.1:{port}/openapi.json"),
        *("--phases", "examples,coverage,fuzzing,stateful", "--mode", "all"),
        *("--max-examples", str(examples), "--seed", str(seed), "--continue-on-failure"),
        *("--request-timeout", str(SECONDS_PER_REQUEST), "--suppress-health-check", "all"),
        *("--report-ndjson-path", str(report), "--output-sanitize", "false"),
    ]
    if key is not None:
        command += ["--header", f"Authorization: Bearer {key}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if not report.exists():
        raise AssertionError(f"schemathesis did not run:\n{done.stdout}\n{done.stderr}")
    found = read_report(report)
    report.unlink()  # it holds every body, hundreds of megabytes
    if done.returncode != 0 and not found.failures:
        found.failures[f"schemathesis ended with {done.returncode}: {done.stdout[-2000:]}"] += 1
    return found


def read_report(file: Path) -> Fuzzed:
    """Count what is in a report."""
    found = Fuzzed()
    for name, event in _events(file):
        if name == "LoadingFinished":
            found.operations = event["statistic"]["operations"]["selected"]
        elif name == "ScenarioFinished":
            _count(found, event)
    return found


def _events(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            ((name, event),) = json.loads(line).items()
            yield name, event


def _count(found: Fuzzed, event: dict[str, Any]) -> None:
    recorder = event["recorder"]
    label = recorder["label"]
    for number, case in recorder.get("cases", {}).items():
        value = case["value"]
        # A method that the operation does not take is still a case of it.
        sequence = event["phase"] == "stateful"
        found.cases[f"{value['method']} {value['path']}" if sequence else label] += 1
        found.phases[event["phase"]] += 1
        found.modes[((value.get("meta") or {}).get("generation") or {}).get("mode", "none")] += 1
        interaction = recorder["interactions"].get(number, {})
        answer = interaction.get("response")
        if answer is None:
            found.unanswered += 1
            continue
        found.statuses[answer["status_code"]] += 1
        for check in recorder.get("checks", {}).get(number, []):
            if check["status"] == "failure":
                found.failures[f"{label}: {check['name']} ({answer['status_code']})"] += 1
