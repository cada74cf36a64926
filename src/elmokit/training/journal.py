"""What a run tells while it goes: lines of JSON always, TensorBoard on request, one live line."""

import json
import math
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from elmokit.errors import InputError, MissingExtraError
from elmokit.files import read_bytes, replacing_file

LINE_EVERY_SECONDS = 30.0

Record = Mapping[str, float | int]


class Journal:
    """The log of a run, ``log.jsonl``; every record is one step's."""

    def __init__(self, file: Path, *, tensorboard: Path | None = None) -> None:
        self.file = file
        self._tensorboard = tensorboard
        self._board: Any = None
        if tensorboard is not None:
            _summary_writer()  # better missed now than at the first record

    def rewind(self, step: int) -> None:
        """Forget records after ``step``, which a killed run may have left."""
        if not self.file.exists():
            return
        kept = []
        for line in read_bytes(self.file).splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                break  # the last line of a killed process
            if record["step"] > step:
                break
            kept.append(line + b"\n")
        with replacing_file(self.file) as beside:
            beside.write_bytes(b"".join(kept))

    def write(self, record: Record) -> None:
        """Add a record; numbers that JSON does not know are null."""
        plain = {name: value if math.isfinite(value) else None for name, value in record.items()}
        try:
            with self.file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(plain) + "\n")
        except OSError as error:
            raise InputError(
                f"{self.file} cannot be written to ({error.strerror}); mend that and start the "
                "same command again: it goes on from the last checkpoint"
            ) from error
        if self._tensorboard is not None:
            self._write_board(record)

    def close(self) -> None:
        """Finish the TensorBoard file."""
        if self._board is not None:
            self._board.close()

    def _write_board(self, record: Record) -> None:
        step = record["step"]
        if self._board is None:
            # What files of a killed run say about this step and later ones is void.
            self._board = _summary_writer()(str(self._tensorboard), purge_step=step)
        for name, value in record.items():
            if name != "step":
                self._board.add_scalar(name, value, step)


def _summary_writer() -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise MissingExtraError("tensorboard", "train", "a TensorBoard log") from error
    return SummaryWriter


class LiveLine:
    """One line that is always up to date; in a file, a line now and then."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._terminal = sys.stderr.isatty()
        self._last = -math.inf
        self._width = 0

    def show(self, text: str) -> None:
        """Show the newest state of things."""
        now = time.monotonic()
        if self._quiet or (not self._terminal and now - self._last < LINE_EVERY_SECONDS):
            return
        self._last = now
        if self._terminal:
            text = text[: shutil.get_terminal_size().columns - 1]  # what wraps cannot be redrawn
            print(f"\r{text:<{self._width}}", end="", file=sys.stderr, flush=True)
            self._width = len(text)
        else:
            print(text, file=sys.stderr, flush=True)

    def say(self, text: str) -> None:
        """Show a line that stays."""
        if not self._quiet:
            self.clear()
            print(text, file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Make room for other output."""
        if self._width:
            print("\r" + " " * self._width + "\r", end="", file=sys.stderr, flush=True)
            self._width = 0
