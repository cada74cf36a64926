"""Files read one after another and cut into blocks of whole lines."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from elmokit.archives import (
    DamagedArchiveError,
    TruncatedArchiveError,
    compression_in,
    decompressed,
)
from elmokit.corpus.problems import Problem, excerpt
from elmokit.corpus.sources import Source
from elmokit.files import open_input

# A record is read whole, however long its lines may be.
LONGEST_RECORD = 2**26

# Never text, though nothing in the name says so.
_NO_TEXT = (b"PK\x03\x04", b"\x89HDF", b"\x93NUMPY", b"%PDF-", b"7z\xbc\xaf", b"Rar!")


@dataclass(frozen=True, slots=True)
class Block:
    """A few megabytes of whole lines, or what is wrong with a file."""

    source: Source
    """The file that it is from."""
    data: bytes = b""
    """Lines with their ends; a line that is too long comes in blocks of its own, without one."""
    first_line: int = 1
    """The number of its first line."""
    starts_file: bool = False
    """Whether it is the first block of its file."""
    lines: int = 0
    """Number of lines that end in it."""
    problems: tuple[Problem, ...] = ()
    """What was found before the text could be looked at."""
    read_bytes: int = 0
    """Bytes of all files on disk that were read so far."""


def read_blocks(
    sources: Sequence[Source], *, block_bytes: int, longest_line: int
) -> Iterator[Block]:
    """Read all files; whatever is wrong with one is told in a block, and the next is read."""
    done = 0
    for source in sources:
        for block in _file_blocks(source, block_bytes=block_bytes, longest_line=longest_line):
            yield replace(block, read_bytes=done + block.read_bytes)
        done += source.size


def _file_blocks(source: Source, *, block_bytes: int, longest_line: int) -> Iterator[Block]:
    def trouble(kind: str, detail: str) -> Block:
        problem = Problem(kind, detail, file=source.name)
        return Block(source, problems=(problem,), read_bytes=source.size)

    with ExitStack() as stack:
        try:
            stream = stack.enter_context(open_input(source.name))
            head = stream.peek(16)[:16]
        except FileNotFoundError:
            yield trouble("vanished_file", "vanished before it was read")
            return
        except OSError as error:
            yield trouble("unreadable_file", f"cannot be read ({error.strerror or error})")
            return
        if not head:
            yield trouble("empty_file", "is empty")
            return
        try:
            compression = compression_in(stream, source.name)
        except DamagedArchiveError as error:
            yield trouble("damaged_archive", str(error))
            return
        if head.startswith(_NO_TEXT):
            yield trouble("unreadable_file", f"is no text but a file that starts with {head!r}")
            return
        pieces = _Pieces(stream, compression, piece_bytes=min(block_bytes, 2**20))
        cutter = _Cutter(source, block_bytes, LONGEST_RECORD if source.is_records else longest_line)
        for block in cutter.blocks(pieces):
            position = min(stream.tell(), source.size) if source.is_regular else 0
            yield replace(block, read_bytes=position)
        if pieces.problem:
            yield trouble(*pieces.problem)
        elif not cutter.starts_file:
            if source.is_regular and _size(source.name) != source.size:
                yield trouble("changed_file", f"had {source.size} bytes, then another size")
        else:
            yield trouble("empty_file", "is a compressed file of nothing")


class _Pieces:
    """The content of a file in pieces; if it breaks off, `problem` says why."""

    def __init__(self, stream: BinaryIO, compression: str | None, *, piece_bytes: int) -> None:
        self.stream = stream
        self.compression = compression
        self.piece_bytes = piece_bytes
        self.problem: tuple[str, str] | None = None

    def __iter__(self) -> Iterator[bytes]:
        try:
            if self.compression is not None:
                yield from decompressed(self.stream, self.compression)
            else:
                yield from iter(lambda: self.stream.read(self.piece_bytes), b"")
        except TruncatedArchiveError as error:
            self.problem = "truncated_archive", str(error)
        except DamagedArchiveError as error:
            self.problem = "damaged_archive", str(error)
        except OSError as error:
            self.problem = "unreadable_file", f"breaks off ({error.strerror or error})"


class _Cutter:
    """Cuts the content of one file into blocks."""

    def __init__(self, source: Source, block_bytes: int, longest: int) -> None:
        self.source = source
        self.block_bytes = block_bytes
        self.longest = longest
        self.line = 1
        self.starts_file = True
        self.in_long_line = False

    def blocks(self, pieces: _Pieces) -> Iterator[Block]:
        buffer = bytearray()
        wanted = self.block_bytes
        for piece in pieces:
            buffer += piece
            if len(buffer) >= wanted:
                yield from self._cut(buffer)
                # A line that goes on is looked at again only when much of it has come.
                wanted = min(2 * len(buffer), self.longest) + self.block_bytes
        yield from self._cut(buffer)
        if pieces.problem:
            del buffer[buffer.rfind(b"\n") + 1 :]  # nobody knows how the last line went on
        yield from self._cut(buffer, at_end=True)

    def _cut(self, buffer: bytearray, *, at_end: bool = False) -> Iterator[Block]:
        """Take the lines from the buffer that are known to be whole or too long."""
        step = min(self.block_bytes, self.longest)
        done = position = 0
        while (left := len(buffer) - position) > (0 if at_end else step):
            line_end = buffer.rfind(b"\n", position, position + step + 1)
            if line_end < 0:
                line_end = buffer.find(b"\n", position + step, position + self.longest + 1)
            if line_end >= 0 or (at_end and left <= self.longest):
                position = line_end + 1 or len(buffer)
                if position - done >= self.block_bytes:
                    yield from self._lines(bytes(buffer[done:position]))
                    done = position
            elif left > self.longest:
                yield from self._lines(bytes(buffer[done:position]))
                done = position
                position += cut_place(bytes(buffer[position : position + self.longest]))
                yield self._long_line(bytes(buffer[done:position]))
                done = position
            else:
                break
        if at_end:
            yield from self._lines(bytes(buffer[done:]))
        else:
            del buffer[:done]

    def _lines(self, data: bytes) -> Iterator[Block]:
        if not data:
            return
        line = self.line
        lines = data.count(b"\n") + (not data.endswith(b"\n"))
        self.line += lines
        if self.in_long_line:
            self.in_long_line = False
            if self.source.is_records:  # what is left of a record that was passed over
                line += 1
                data = data[data.find(b"\n") + 1 or len(data) :]
        yield self._block(data, line, lines)

    def _long_line(self, data: bytes) -> Block:
        problems: tuple[Problem, ...] = ()
        if not self.in_long_line:
            kind = "long_record" if self.source.is_records else "long_line"
            detail = f"more than {self.longest:,} bytes without a line end: {excerpt(data)}"
            problems = (Problem(kind, detail, self.line, self.source.name),)
        self.in_long_line = True
        return self._block(b"" if self.source.is_records else data, self.line, 0, problems)

    def _block(
        self, data: bytes, line: int, lines: int, problems: tuple[Problem, ...] = ()
    ) -> Block:
        starts_file, self.starts_file = self.starts_file, False
        return Block(self.source, data, line, starts_file, lines, problems)


def cut_place(window: bytes) -> int:
    """Say where to cut a line that goes on after ``window``: at white space, else anywhere."""
    place = max(window.rfind(b" "), window.rfind(b"\t")) + 1
    if window[:place].strip():
        return place
    place = len(window)
    # Not inside a character, unless the bytes are no text anyway.
    for back in range(1, 4):
        if window[-back] >= 0xC0 and place > back:
            return place - back
        if window[-back] < 0x80:
            break
    return place


def cut_long_line(line: bytes, longest: int) -> Iterable[bytes]:
    """Cut a line into pieces of at most ``longest`` bytes."""
    while len(line) > longest:
        place = cut_place(line[:longest])
        yield line[:place]
        line = line[place:]
    yield line


def _size(name: str) -> int | None:
    try:
        return Path(name).stat().st_size
    except OSError:
        return None
