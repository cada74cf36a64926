"""Trees with a label at every node, as the Stanford Sentiment Treebank has them.

``(3 (2 It) (4 (2 's) (4 good)))``: a node is a label and one word, or a label and nodes.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from elmokit.text.records import problem

# An opening bracket with its label, one without, a closing bracket, a word.
_PIECE = re.compile(r"\([ \t]*([^ \t()]+)|(\()|(\))|([^ \t()]+)")
_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


class Phrase(NamedTuple):
    """The words under a node."""

    tokens: tuple[str, ...]
    label: str


@dataclass
class _Node:
    label: str
    first: int
    """Its first word."""
    is_leaf: bool = False


def phrases_of(file: Path, number: int, line: str) -> list[Phrase]:
    """Give the phrases of the tree on a line, the whole sentence first; escapes are undone."""
    words: list[str] = []
    phrases: list[Phrase] = []
    nodes: list[_Node] = []  # those that are open
    for piece in _PIECE.finditer(line):
        label, bare, closing, _ = piece.groups()
        top = nodes[-1] if nodes else None
        if bare:
            raise problem(file, number, f"a bracket without a label at character {piece.start()}")
        if top is None and (phrases or not label):
            raise problem(file, number, f"expected one tree in brackets, found {piece[0]!r}")
        if label:
            if top and top.is_leaf:
                raise problem(file, number, f"words and brackets side by side in ({top.label} ..")
            nodes.append(_Node(label, len(words)))
            continue
        assert top is not None
        if closing:
            if len(words) == top.first:
                raise problem(file, number, f"no word under label {top.label!r}")
            nodes.pop()
            phrases.append(Phrase(tuple(words[top.first :]), top.label))
        elif top.is_leaf or len(words) > top.first:
            raise problem(file, number, f"expected (label word), found {piece[0]!r} without label")
        else:
            # A fixed space holds a few numbers of the treebank together: 8 1/2.
            words += _unescaped(piece[0]).split()
            top.is_leaf = True
    if nodes:
        raise problem(file, number, f"brackets not closed: {len(nodes)}")
    return phrases[::-1]


def _unescaped(word: str) -> str:
    return _BRACKETS.get(word) or word.replace(r"\/", "/").replace(r"\*", "*")
