"""Text files cut into runs of whole lines, so that many processes can share them.

One pass over a file finds the cuts, its SHA-256 and bytes that are no UTF-8, before any work is
done. A piece says all that is needed to embed its lines elsewhere.
"""

import codecs
import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from elmokit.embed.embed_file import check_source, decoded_line
from elmokit.errors import InputError
from elmokit.files import STANDARD_INPUT

# Text of a piece: its vectors are some hundred times as large, which makes files of a size that
# readers of Parquet like, and little work is lost with a machine.
PIECE_BYTES = 256 * 1024

_BLOCK_BYTES = 4 * 2**20
_FILES_AT_ONCE = 4


@dataclass(frozen=True)
class TextSource:
    """A text file as it was when it was cut."""

    name: str
    """Its path as it was given."""
    size: int
    sha256: str
    lines: int


@dataclass(frozen=True)
class TextPiece:
    """Some lines of a file, whole and in order."""

    number: int
    """Its place among all pieces of all files."""
    source: str
    """The file's path as it was given."""
    path: str
    """The file's path from any folder."""
    size: int
    """Bytes of the whole file."""
    start: int
    """Its first byte."""
    end: int
    """The byte behind its last."""
    first_index: int
    """Lines of the file before it."""
    first_id: int
    """Lines of all files before it."""
    lines: int


@dataclass(frozen=True)
class _Cut:
    start: int
    end: int
    first_index: int
    lines: int


def cut_files(
    names: Sequence[str | Path], *, piece_bytes: int = PIECE_BYTES
) -> tuple[list[TextSource], list[TextPiece]]:
    """Cut files into pieces of ``piece_bytes`` and the rest of a line; an empty file has none."""
    if not isinstance(piece_bytes, int) or isinstance(piece_bytes, bool) or piece_bytes < 1:
        raise InputError(f"shard_bytes: expected a whole number above 0, found {piece_bytes!r}")
    texts = [str(name) for name in names]
    if not texts:
        raise InputError("files: expected at least one text file, found none")
    seen: set[str] = set()
    for name in texts:
        _check_file(name)
        if name in seen:
            raise InputError(f"files: {name} is named more than once; name it once")
        seen.add(name)
    with ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
        scanned = list(pool.map(lambda name: _scanned(name, piece_bytes), texts))
    pieces: list[TextPiece] = []
    lines_before = 0
    for source, cuts in scanned:
        pieces += [
            TextPiece(
                number=len(pieces) + place,
                source=source.name,
                path=str(Path(source.name).absolute()),
                size=source.size,
                start=cut.start,
                end=cut.end,
                first_index=cut.first_index,
                first_id=lines_before + cut.first_index,
                lines=cut.lines,
            )
            for place, cut in enumerate(cuts)
        ]
        lines_before += source.lines
    return [source for source, _ in scanned], pieces


def piece_lines(piece: TextPiece) -> list[tuple[str, int]]:
    """Read a piece: each line's text and its size in bytes, line ends included."""
    path = Path(piece.path)
    try:
        with path.open("rb") as stream:
            size = path.stat().st_size
            stream.seek(piece.start)
            raw = stream.read(piece.end - piece.start)
    except OSError as error:
        raise InputError(
            f"{piece.path}: cannot be read here ({error.strerror}); every machine that takes "
            "part must see the text files under the same path"
        ) from error
    if size != piece.size:
        raise InputError(
            f"{piece.path}: has {size} bytes here, expected {piece.size}; do not change the text "
            "files while they are embedded"
        )
    lines = list(BytesIO(raw))  # cut as a file is: a carriage return alone ends no line
    if len(lines) != piece.lines:
        raise InputError(
            f"{piece.path}: {len(lines)} lines where there were {piece.lines}; do not change the "
            "text files while they are embedded"
        )
    return [
        (decoded_line(line, piece.source, number), len(line))
        for number, line in enumerate(lines, start=piece.first_index + 1)
    ]


def _check_file(name: str) -> None:
    check_source(name)
    if name == STANDARD_INPUT or not Path(name).is_file():
        raise InputError(
            f"{name}: a folder of shards is made from files that can be read twice; write a "
            "stream to a .parquet file"
        )


def _scanned(name: str, piece_bytes: int) -> tuple[TextSource, list[_Cut]]:
    digest = hashlib.sha256()
    decoder = codecs.getincrementaldecoder("utf-8")()
    cuts: list[_Cut] = []
    begin = lines = 0  # of the piece that is being cut
    lines_before = 0
    offset = 0
    last = b"\n"
    try:
        with Path(name).open("rb") as stream:
            while block := stream.read(_BLOCK_BYTES):
                digest.update(block)
                decoder.decode(block)
                counted = 0
                while True:
                    enough = max(begin + piece_bytes - 1 - offset, 0)
                    newline = block.find(b"\n", enough) if enough < len(block) else -1
                    if newline < 0:
                        break
                    lines += block.count(b"\n", counted, newline + 1)
                    counted = newline + 1
                    cuts.append(_Cut(begin, offset + counted, lines_before, lines))
                    begin, lines_before, lines = offset + counted, lines_before + lines, 0
                lines += block.count(b"\n", counted)
                offset += len(block)
                last = block[-1:]
            decoder.decode(b"", final=True)
    except OSError as error:
        raise InputError(f"{name}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError:
        _name_bad_line(name)
    if begin < offset:
        lines += last != b"\n"
        cuts.append(_Cut(begin, offset, lines_before, lines))
        lines_before += lines
    return TextSource(name, offset, digest.hexdigest(), lines_before), cuts


def _name_bad_line(name: str) -> None:
    with Path(name).open("rb") as stream:
        for number, raw in enumerate(stream, start=1):
            decoded_line(raw, name, number)
    raise InputError(f"{name}: has changed while it was read; try again when nobody writes to it")
