"""The log of a run, TensorBoard files, and the line that people watch."""

import io
import json
import math
import sys
from pathlib import Path

import pytest

from elmokit.errors import InputError, MissingExtraError
from elmokit.training.journal import Journal, LiveLine


def steps(file: Path) -> list[int]:
    return [json.loads(line)["step"] for line in file.read_text().splitlines()]


def filled(file: Path, *, count: int = 4) -> Journal:
    journal = Journal(file)
    for step in range(1, count + 1):
        journal.write({"step": step, "loss": 1 / step})
    return journal


def test_one_record_a_line(tmp_path: Path) -> None:
    filled(tmp_path / "log.jsonl", count=2)
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"step": 1, "loss": 1.0},
        {"step": 2, "loss": 0.5},
    ]


def test_numbers_survive_to_the_bit(tmp_path: Path) -> None:
    value = 0.1 + 0.2
    Journal(tmp_path / "log.jsonl").write({"step": 1, "loss": value})
    assert json.loads((tmp_path / "log.jsonl").read_text())["loss"] == value


def test_what_json_does_not_know_is_null(tmp_path: Path) -> None:
    Journal(tmp_path / "log.jsonl").write({"step": 1, "loss": math.nan, "norm": math.inf})
    text = (tmp_path / "log.jsonl").read_text()
    assert text == '{"step": 1, "loss": null, "norm": null}\n'


def test_rewind_forgets_later_records(tmp_path: Path) -> None:
    journal = filled(tmp_path / "log.jsonl")
    journal.rewind(2)
    assert steps(journal.file) == [1, 2]
    journal.write({"step": 3, "loss": 7.0})
    assert steps(journal.file) == [1, 2, 3]
    journal.rewind(0)
    assert journal.file.read_text() == ""
    assert list(tmp_path.iterdir()) == [journal.file]


@pytest.mark.parametrize("torn", ['{"step": 5, "lo', '{"step": 5}', "\x00\x00", '{"step"'])
def test_rewind_forgets_a_torn_line(tmp_path: Path, torn: str) -> None:
    journal = filled(tmp_path / "log.jsonl")
    with journal.file.open("a") as stream:
        stream.write(torn)
    journal.rewind(4)
    assert steps(journal.file) == [1, 2, 3, 4]
    journal.write({"step": 5, "loss": 7.0})
    assert steps(journal.file) == [1, 2, 3, 4, 5]


def test_rewind_completes_a_line_without_its_end(tmp_path: Path) -> None:
    journal = filled(tmp_path / "log.jsonl")
    journal.file.write_text(journal.file.read_text().rstrip("\n"))
    journal.rewind(4)
    journal.write({"step": 5, "loss": 7.0})
    assert steps(journal.file) == [1, 2, 3, 4, 5]


def test_rewind_without_a_log(tmp_path: Path) -> None:
    Journal(tmp_path / "log.jsonl").rewind(3)
    assert list(tmp_path.iterdir()) == []


def test_a_log_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").mkdir()
    with pytest.raises(InputError, match=r"log\.jsonl cannot be written to \(Is a directory\)"):
        Journal(tmp_path / "log.jsonl").write({"step": 1})


def test_without_tensorboard_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(MissingExtraError, match=r'pip install "elmokit\[train\]"'):
        Journal(tmp_path / "log.jsonl", tensorboard=tmp_path / "board")
    assert list(tmp_path.iterdir()) == []


class Board:
    """Stands in for TensorBoard's writer."""

    def __init__(self, folder: str, *, purge_step: int) -> None:
        self.folder, self.purge_step = folder, purge_step
        self.scalars: list[tuple[str, float, int]] = []
        self.closed = False
        boards.append(self)

    def add_scalar(self, name: str, value: float, step: int) -> None:
        self.scalars.append((name, value, step))

    def close(self) -> None:
        self.closed = True


boards: list[Board] = []


def test_tensorboard_gets_every_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("elmokit.training.journal._summary_writer", lambda: Board)
    journal = Journal(tmp_path / "log.jsonl", tensorboard=tmp_path / "board")
    journal.rewind(6)
    journal.write({"step": 7, "loss": 0.5, "rate": 0.1})
    journal.write({"step": 8, "loss": 0.25, "rate": 0.1})
    journal.close()
    board = boards[-1]
    assert board.folder == str(tmp_path / "board")
    assert board.purge_step == 7  # what a killed run said about this step and later ones
    assert board.scalars == [
        ("loss", 0.5, 7), ("rate", 0.1, 7), ("loss", 0.25, 8), ("rate", 0.1, 8),
    ]  # fmt: skip
    assert board.closed


def test_tensorboard_files(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    journal = Journal(tmp_path / "log.jsonl", tensorboard=tmp_path / "board")
    journal.write({"step": 1, "loss": 0.5})
    journal.close()
    assert [file.stat().st_size > 0 for file in (tmp_path / "board").iterdir()] == [True]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", "20")
    return screen


def test_on_a_terminal_the_line_is_drawn_over(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    line = LiveLine()
    line.show("a long line")
    line.show("short")
    assert screen.getvalue() == "\ra long line\rshort      "


def test_what_stays_gets_a_line_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    line = LiveLine()
    line.show("step 1")
    line.say("hello")
    line.show("step 2")
    line.clear()
    line.clear()
    assert screen.getvalue() == "\rstep 1\r      \rhello\n\rstep 2\r      \r"


def test_a_line_never_wraps(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    LiveLine().show("x" * 50)
    assert screen.getvalue() == "\r" + "x" * 19


def test_off_a_terminal_there_is_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 5.0
    monkeypatch.setattr("elmokit.training.journal.time.monotonic", lambda: now)
    line = LiveLine()
    line.show("first")
    now += 29
    line.show("too soon")
    line.say("said")
    now += 2
    line.show("later")
    line.clear()
    assert capsys.readouterr().err == "first\nsaid\nlater\n"


def test_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    line = LiveLine(quiet=True)
    line.show("a")
    line.say("b")
    line.clear()
    assert capsys.readouterr().err == ""
