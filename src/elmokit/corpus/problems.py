"""What can be wrong with a corpus: counted, shown with the first examples, never silent."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from elmokit.errors import InputError, one_line

EXAMPLES = 5

# Every kind of problem, and what becomes of the text that has it.
KINDS = {
    "bad_utf8": "lines that are not UTF-8, skipped",
    "nul": "lines with NUL bytes, skipped",
    "control_characters": "lines with control characters, which became spaces",
    "long_line": "lines that are too long, cut into pieces",
    "bad_json": "records that are not JSON objects, skipped",
    "no_field": "records without text in the field, skipped",
    "long_record": "records that are too long, skipped",
    "long_word": "words that are too long, cut",
    "mark": "sentence marks written in the text, left out",
    "empty_file": "empty files",
    "repeated_file": "files named more than once, read once",
    "vanished_file": "files that vanished before they were read",
    "unreadable_file": "files that cannot be read, skipped",
    "changed_file": "files that changed while they were read",
    "truncated_archive": "compressed files that break off, read up to there",
    "damaged_archive": "compressed files that are damaged, read up to there",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, and where."""

    kind: str
    """One of `KINDS`."""
    detail: str
    """What was found."""
    line: int = 0
    """Number of the line, counted from 1; 0 for the file as a whole."""
    file: str = ""
    """The file's name as it was given or found."""
    block: int = 0
    """Number of the block among those that were worked on together."""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return one_line(f"{place}: {self.detail}")


@dataclass
class Problems:
    """Counts of problems with their first examples, in the order of the corpus."""

    counts: dict[str, int] = field(default_factory=dict)
    """How often each kind was found."""
    examples: dict[str, list[Problem]] = field(default_factory=dict)
    """The first few of each kind."""

    def add(self, problem: Problem, times: int = 1) -> None:
        """Count a problem and keep it if it is among the first of its kind."""
        self.counts[problem.kind] = self.counts.get(problem.kind, 0) + times
        examples = self.examples.setdefault(problem.kind, [])
        if len(examples) < EXAMPLES:
            examples.append(problem)

    def extend(self, counts: dict[str, int], examples: Iterable[Problem]) -> None:
        """Add what was found in the next piece of the corpus."""
        for problem in examples:
            self.add(problem, 0)
        for kind, count in counts.items():
            self.counts[kind] = self.counts.get(kind, 0) + count

    def check_none(self) -> None:
        """Raise the first problem there is as an error."""
        found = [problem for examples in self.examples.values() for problem in examples[:1]]
        if found:
            order = list(KINDS)
            first = min(found, key=lambda p: (p.block, p.line, order.index(p.kind)))
            raise InputError(
                f"{first} ({KINDS[first.kind]}, if not for strict=True, --strict in the shell)"
            )

    def to_dict(self) -> dict[str, Any]:
        """Give counts and examples for a report, in a fixed order of kinds."""
        return {
            kind: {
                "count": self.counts[kind],
                "meaning": KINDS[kind],
                "examples": [str(problem) for problem in self.examples.get(kind, [])],
            }
            for kind in KINDS
            if self.counts.get(kind)
        }


def excerpt(text: str | bytes) -> str:
    """Show the beginning of a text in a message."""
    shown = repr(text[:40])
    return shown if len(text) <= 40 else f"{shown}..."
