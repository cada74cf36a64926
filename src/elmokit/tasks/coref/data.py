"""Documents with their clusters of mentions, one JSON object a line.

``sentences`` are lists of tokens; ``clusters`` are lists of mentions, each ``[first, last]``,
both tokens included and counted over the whole document. ``doc`` names the document. Other
fields, as a genre, are left alone. A file that holds several splits has a field ``split``, and
``file#train`` chooses one of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elmokit.errors import FormatError
from elmokit.text.records import problem, read_records, span_of, split_choice, string_field

Mention = tuple[int, int]
"""First and last token, counted over the document."""
Clusters = tuple[tuple[Mention, ...], ...]


@dataclass(frozen=True)
class CorefDocument:
    """A document; without ``clusters`` where they are asked for."""

    name: str
    sentences: tuple[tuple[str, ...], ...]
    clusters: Clusters | None = None


def read_documents(file: Path) -> list[CorefDocument]:
    """Read the documents of a file, or of one split of it."""
    file, split = split_choice(file)
    documents = []
    splits = set()
    for number, record in read_records(file):
        if split is not None:
            found = string_field(file, number, record, "split")
            splits.add(found)
            if found != split:
                continue
        documents.append(_document(file, number, record))
    if not documents and splits:
        raise FormatError(
            file, "no document has the split", expected=repr(split), found=_listed(splits)
        )
    if not documents:
        raise FormatError(file, "holds no documents")
    return documents


def _document(file: Path, number: int, record: dict[str, Any]) -> CorefDocument:
    name = string_field(file, number, record, "doc") if "doc" in record else f"line {number}"
    given = _list_field(file, number, record, "sentences")
    if not given:
        raise problem(file, number, "key 'sentences': expected at least one sentence, found none")
    sentences = tuple(_sentence(file, number, tokens, at) for at, tokens in enumerate(given))
    return CorefDocument(name, sentences, _clusters(file, number, record, sentences))


def _sentence(file: Path, number: int, tokens: Any, at: int) -> tuple[str, ...]:
    """Give the tokens of a sentence; one may be empty (OntoGUM), for spans count it too."""
    if not (isinstance(tokens, list) and tokens and all(isinstance(t, str) for t in tokens)):
        raise problem(
            file, number, f"sentences[{at}]: expected a list of tokens, found {tokens!r:.80}"
        )
    return tuple(tokens)


def _clusters(
    file: Path, number: int, record: dict[str, Any], sentences: Sequence[Sequence[str]]
) -> Clusters:
    """Give disjoint clusters: a mention that stands twice counts where it stands first.

    The official scorer reads it so too. A cluster of which nothing is left is left out.
    """
    sentence_of = [place for place, tokens in enumerate(sentences) for _ in tokens]
    taken: set[Mention] = set()
    clusters = []
    for place, value in enumerate(_list_field(file, number, record, "clusters")):
        where = f"clusters[{place}]"
        if not isinstance(value, list) or not value:
            raise problem(
                file, number, f"{where}: expected a list of mentions, found {value!r:.80}"
            )
        cluster = []
        for pair in value:
            first, last = mention = span_of(file, number, pair, len(sentence_of), where)
            if sentence_of[first] != sentence_of[last]:
                raise problem(
                    file, number, f"{where}: a mention within one sentence, found {[first, last]}"
                )
            if mention not in taken:
                taken.add(mention)
                cluster.append(mention)
        if cluster:
            clusters.append(tuple(sorted(cluster)))
    return tuple(clusters)


def _list_field(file: Path, number: int, record: dict[str, Any], name: str) -> list[Any]:
    if name not in record:
        raise problem(
            file, number, f"key {name!r} is missing; found {', '.join(map(repr, record))}"
        )
    value = record[name]
    if not isinstance(value, list):
        raise problem(file, number, f"key {name!r}: expected a list, found {value!r:.80}")
    return value


def _listed(names: set[str]) -> str:
    return ", ".join(map(repr, sorted(names)))
