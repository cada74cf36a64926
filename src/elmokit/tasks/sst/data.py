"""Texts with a class each: records, or trees of which every phrase has a class."""

from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from elmokit.errors import FormatError
from elmokit.tasks.classification import label_field
from elmokit.tasks.sst.trees import phrases_of
from elmokit.text.records import read_lines, read_records, tokens_field, words_field


@dataclass(frozen=True)
class SstExample:
    """A text and its class."""

    tokens: tuple[str, ...]
    label: str | None = None
    """None where it is asked for."""


def read_examples(file: Path) -> list[SstExample]:
    """Read records or trees; a file of trees begins with a bracket.

    A record is a JSON object with ``tokens`` (a list) or ``text`` (a string that is tokenised),
    and ``label`` (a string or a whole number). From trees, one a line, come all sentences and
    all phrases in them; a phrase that occurs again with the same class is taken once.
    """
    examples = list(_from_trees(file) if _holds_trees(file) else _from_records(file))
    if not examples:
        raise FormatError(file, "holds no examples")
    return examples


def _holds_trees(file: Path) -> bool:
    if not file.is_file():  # what comes through a pipe can be read only once
        return "trees" in file.name
    first = next((line.lstrip() for _, line in read_lines(file) if line.strip()), "")
    return first.startswith("(") or ("trees" in file.name and not first.startswith("{"))


def _from_records(file: Path) -> list[SstExample]:
    return [
        SstExample(
            tokens=(
                words_field(file, number, record, "text")
                if "text" in record and "tokens" not in record
                else tokens_field(file, number, record, "tokens")
            ),
            label=label_field(file, number, record),
        )
        for number, record in read_records(file)
    ]


def _from_trees(file: Path) -> list[SstExample]:
    trees = [phrases_of(file, number, line) for number, line in read_lines(file) if line.strip()]
    # Half of all phrases are repetitions, most of them single words.
    inner = dict.fromkeys(chain.from_iterable(tree[1:] for tree in trees))
    sentences = [tree[0] for tree in trees]
    return [SstExample(tokens, label) for tokens, label in chain(sentences, inner)]
