"""What `prepare` has to tell: how much text there is, how well it is covered, what was wrong."""

from dataclasses import dataclass
from typing import Any

from elmokit.corpus.layout import TRAIN, VALID


@dataclass(frozen=True, kw_only=True)
class PrepareReport:
    """What was prepared, and how long it took."""

    folder: str
    """Where the prepared corpus lies."""
    facts: dict[str, Any]
    """The content of its `corpus.json`."""
    folder_bytes: int
    """Bytes of all its files."""
    seconds: float
    """Time that it took."""
    processes: int
    """Number of processes that read text."""

    @property
    def words_per_second(self) -> float:
        """Words of all text over the whole time."""
        words = sum(split["words"] for split in self.facts["splits"].values())
        return float(words / self.seconds) if self.seconds else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Give everything for `--json`."""
        return {
            "folder": self.folder,
            **self.facts,
            "folder_bytes": self.folder_bytes,
            "seconds": round(self.seconds, 3),
            "words_per_second": round(self.words_per_second),
            "processes": self.processes,
        }

    def __str__(self) -> str:
        return "\n".join(
            [
                f"{self.folder}: {size(self.folder_bytes)}",
                *_split_lines(self.facts),
                *_vocabulary_lines(self.facts),
                *_duplicate_lines(self.facts["report"]),
                *_problem_lines(self.facts["report"]["problems"]),
                f"{self.seconds:.1f} s, {self.words_per_second:,.0f} words/s "
                f"with {self.processes} {_plural('process', self.processes)}",
            ]
        )


def size(number: int) -> str:
    """Write a number of bytes for people."""
    value = float(number)
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def _split_lines(facts: dict[str, Any]) -> list[str]:
    lines = []
    for name, split in facts["splits"].items():
        lines.append(
            f"{name}: {split['words']:,} words in {split['sentences']:,} sentences, "
            f"{split['documents']:,} documents"
        )
    if VALID not in facts["splits"]:
        lines.append("valid: no held-out text")
    return lines


def _vocabulary_lines(facts: dict[str, Any]) -> list[str]:
    report = facts["report"]
    lines = [
        f"types: {facts['types']:,} distinct words, {facts['vocabulary_size']:,} of them "
        f"in the vocabulary (marks included), cut by the tokeniser {facts['tokeniser']!r}",
        f"coverage: {report['coverage'][TRAIN]:.2%} of the words in train",
    ]
    if VALID in report["coverage"]:
        lines[-1] += f", {report['coverage'][VALID]:.2%} in valid"
    if facts["splits"][TRAIN]["unknown_words"] == 0:
        lines.append(
            "note: no word in train is unknown, so a model does not learn to expect unknown "
            "words; --min-count 2 leaves words out that occur once"
        )
    return lines


def _duplicate_lines(report: dict[str, Any]) -> list[str]:
    found = report["duplicates"]
    if found is None:
        return []
    fate = "dropped" if found["dropped"] else "kept"
    return [f"duplicates: {found['sentences']:,} sentences that occurred before, {fate}"]


def _problem_lines(problems: dict[str, Any]) -> list[str]:
    if not problems:
        return ["problems: none"]
    lines = ["problems:"]
    for found in problems.values():
        lines.append(f"  {found['meaning']}: {found['count']:,}")
        lines += [f"    {example}" for example in found["examples"]]
        if found["count"] > len(found["examples"]):
            lines.append("    ...")
    return lines


def _plural(noun: str, number: int) -> str:
    return noun if number == 1 else f"{noun}es"
