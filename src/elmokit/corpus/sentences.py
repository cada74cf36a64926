"""The sentences of a block: decoded, cleaned, taken out of records; what is wrong is noted."""

import json
import re
from collections.abc import Callable, Iterator

from elmokit.corpus.blocks import Block, cut_long_line
from elmokit.corpus.problems import excerpt

Note = Callable[[str, str, int], None]
"""Is told the kind of a problem, what was found, and the number of the line in its block."""

_CONTROL_BYTES = bytes([*range(9), *range(0x0E, 0x1C), 0x7F])
_CONTROL = re.compile(r"[\x01-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
_LATIN_CONTROL = re.compile(rb"\xc2[\x80-\x84\x86-\x9f]")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def sentences_of(
    block: Block, *, field: str | None, longest_line: int, note: Note
) -> Iterator[tuple[int, str]]:
    """Give cleaned sentences with the numbers of their lines; an empty one ends a document.

    A record is a document, and its text in ``field`` has a sentence a line.
    """
    data = block.data.removeprefix(_BYTE_ORDER_MARK) if block.starts_file else block.data
    if not data:
        return
    if not block.source.is_records or field is None:
        suspicious = len(data.translate(None, _CONTROL_BYTES)) != len(data) or (
            b"\xc2" in data and _LATIN_CONTROL.search(data) is not None
        )
        for number, line in _lines(data, note):
            text: str | None = line
            if suspicious:
                text = _cleaned(line, number, note)
            if text is not None:
                yield number, text.strip()
        return
    for number, line in _lines(data, note):
        if not line.strip():
            continue
        content = _record_text(line, field, number, note)
        yield number, ""
        for piece in _record_lines(content, number, longest_line, note):
            cleaned = _cleaned(piece, number, note)
            if cleaned and not cleaned.isspace():
                yield number, cleaned.strip()
        yield number, ""


def _lines(data: bytes, note: Note) -> Iterator[tuple[int, str]]:
    """Decode lines, the whole block at once where that works."""
    whole = data.removesuffix(b"\n")
    try:
        text = whole.decode()
    except UnicodeDecodeError:
        pass
    else:
        yield from enumerate(text.split("\n"), start=1)
        return
    for number, line in enumerate(whole.split(b"\n"), start=1):
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            detail = f"byte {error.start} is 0x{line[error.start]:02x}: {excerpt(line)}"
            if line.startswith(_UTF_16_MARKS):
                detail = "the file looks like UTF-16; convert it to UTF-8"
            note("bad_utf8", detail, number)
        else:
            yield number, text


def _cleaned(line: str, number: int, note: Note) -> str | None:
    if "\0" in line:
        note("nul", f"a NUL byte: {excerpt(line)}", number)
        return None
    cleaned = _CONTROL.sub(" ", line)
    if cleaned == line:
        return line
    note("control_characters", excerpt(line), number)
    return None if cleaned.isspace() else cleaned  # it was no blank line


def _record_text(line: str, field: str, number: int, note: Note) -> str:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        note("bad_json", f"{error}: {excerpt(line)}", number)
        return ""
    if not isinstance(record, dict):
        note("bad_json", f"no object: {excerpt(line)}", number)
        return ""
    text = record.get(field)
    if not isinstance(text, str):
        found = f"is no string but a {type(text).__name__}"
        if field not in record:
            found = f"is missing; there are {', '.join(map(repr, list(record)[:8])) or 'none'}"
        note("no_field", f"field {field!r} {found}: {excerpt(line)}", number)
        return ""
    return text


def _record_lines(text: str, number: int, longest: int, note: Note) -> Iterator[str]:
    for line in text.split("\n"):
        try:
            encoded = line.encode()
        except UnicodeEncodeError:
            note("bad_utf8", f"half a surrogate pair: {excerpt(line)}", number)
            continue
        if len(encoded) <= longest:
            yield line
            continue
        detail = f"more than {longest:,} bytes without a line end: {excerpt(encoded)}"
        note("long_line", detail, number)
        for piece in cut_long_line(encoded, longest):
            yield piece.decode()
