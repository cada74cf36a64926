"""A line of the table, and what a part of it gives."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Line:
    """What was asked for and what was measured."""

    test: str
    asked: str
    measured: str
    kept: bool

    def row(self) -> str:
        """Write it as a row."""
        return f"| {self.test} | {self.asked} | {self.measured} | {'yes' if self.kept else 'NO'} |"


@dataclass
class Part:
    """The lines of a part, with remarks."""

    lines: list[Line] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    """When and on what it was measured."""

    def add(self, test: str, asked: str, measured: str, kept: bool) -> None:
        """Add a line, and print it."""
        self.lines.append(Line(test, asked, measured, bool(kept)))
        print(self.lines[-1].row(), flush=True)

    def remark(self, text: str) -> None:
        """Add a remark, and print it."""
        self.remarks.append(text)
        print(f"  {text}", flush=True)

    def plain(self) -> dict[str, Any]:
        """Give it as plain values."""
        return asdict(self)

    @classmethod
    def of(cls, plain: dict[str, Any]) -> "Part":
        """Make it of plain values."""
        return cls([Line(**one) for one in plain["lines"]], plain["remarks"], plain["facts"])
