"""Labelled spans as one tag a token, and which tag may follow which.

``BIO`` (also called IOB2): ``B-X`` begins a span of label X, ``I-X`` goes on with it, ``O`` is
outside. ``IOBES``: ``E-X`` ends it, and ``S-X`` is a span of a single token.

C tags
"""

from collections.abc import Iterable, Sequence
from typing import Literal

import torch
from torch import Tensor

from elmokit.errors import InputError

Span = tuple[str, int, int]
"""Label, first and last token."""
Scheme = Literal["BIO", "IOBES"]

OUTSIDE = "O"
_BEGINS = frozenset("BSU")  # U and L are BILOU's names for S and E
_ENDS = frozenset("ESLU")
_GOES_ON = frozenset("IEL")


def spans_of(tags: Sequence[str]) -> list[Span]:
    """Give the spans of tags in BIO, IOB1, IOBES, BILOU or plain IO, as conlleval reads them.

    Tags that break their scheme's rules are read generously: a span that is gone on with without
    having begun begins there, and one that never ends does so where another tag stands.
    """
    spans: list[Span] = []
    label, first = None, 0
    for place, tag in enumerate(tags):
        prefix, here = _parts(tag)
        if label is not None and (here != label or prefix in _BEGINS):
            spans.append((label, first, place - 1))
            label = None
        if label is None and here is not None:
            label, first = here, place
        if label is not None and prefix in _ENDS:
            spans.append((label, first, place))
            label = None
    if label is not None:
        spans.append((label, first, len(tags) - 1))
    return spans


def tags_of(spans: Iterable[Span], length: int, scheme: Scheme = "BIO") -> list[str]:
    """Give a text's tags from spans that do not overlap."""
    tags = [OUTSIDE] * length
    for label, first, last in spans:
        if not 0 <= first <= last < length:
            raise InputError(f"span {(label, first, last)}: expected one within {length} tokens")
        if any(tag != OUTSIDE for tag in tags[first : last + 1]):
            raise InputError(f"span {(label, first, last)} overlaps one before it")
        tags[first] = f"B-{label}"
        tags[first + 1 : last + 1] = [f"I-{label}"] * (last - first)
        if scheme == "IOBES":
            tags[last] = f"E-{label}" if last > first else f"S-{label}"
    return tags


def allowed_transitions(tags: Sequence[str]) -> Tensor:
    """Give (C, C), True where the tag of the column may follow that of the row.

    The scheme is IOBES where a tag begins with ``E-`` or ``S-``, and BIO elsewhere.
    """
    whole = _has_ends(tags)
    parts = [_parts(tag) for tag in tags]
    return torch.tensor(
        [[_may_follow(before, after, whole=whole) for after in parts] for before in parts]
    )


def allowed_starts(tags: Sequence[str]) -> Tensor:
    """Give (C,), True for tags that the first token may have."""
    return torch.tensor([_parts(tag)[0] not in _GOES_ON for tag in tags])


def allowed_ends(tags: Sequence[str]) -> Tensor:
    """Give (C,), True for tags that the last token may have."""
    whole = _has_ends(tags)
    return torch.tensor([not (whole and _is_open(_parts(tag)[0])) for tag in tags])


def _may_follow(
    before: tuple[str, str | None], after: tuple[str, str | None], *, whole: bool
) -> bool:
    continues = _is_open(before[0]) and after[0] in _GOES_ON and before[1] == after[1]
    begins_anew = after[0] not in _GOES_ON and not (whole and _is_open(before[0]))
    return continues or begins_anew


def _is_open(prefix: str) -> bool:
    """Tell whether a span may go on after a tag; in IOBES it then must."""
    return prefix in ("B", "I")


def _has_ends(tags: Sequence[str]) -> bool:
    return any(_parts(tag)[0] in _ENDS for tag in tags)


def _parts(tag: str) -> tuple[str, str | None]:
    """Split ``B-X`` into B and X; ``O`` has no label."""
    if tag == OUTSIDE:
        return OUTSIDE, None
    prefix, hyphen, label = tag.partition("-")
    if prefix not in ("B", "I", "E", "S", "L", "U") or not hyphen or not label:
        raise InputError(f"tag: expected O, or B, I, E or S with a label as in B-X, found {tag!r}")
    return prefix, label
