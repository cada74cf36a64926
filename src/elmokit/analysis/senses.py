"""The senses of a word as its occurrences show them: clusters, typical sentences, a map.

N occurrences, D size of a vector, C clusters
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.analysis.context_index import ContextIndex, Occurrence, is_index
from elmokit.analysis.corpus_sentences import corpus_sentences
from elmokit.analysis.sense_clusters import centres_of, cluster, plane
from elmokit.corpus.sources import PathLike
from elmokit.embed.elmo import Elmo
from elmokit.embed.layer_choice import Layers
from elmokit.embed.load import load
from elmokit.errors import InputError

MOST_OCCURRENCES = 1_000
TYPICAL = 3

Array = npt.NDArray[np.float32]


class Occurrences(NamedTuple):
    """A word in all the sentences that it was found in."""

    word: str
    found: list[Occurrence]
    vectors: Array
    """(N, D), each of length 1."""


@dataclass(frozen=True)
class Sense:
    """A cluster of occurrences."""

    number: int
    """Counted from 1, the largest first."""
    members: list[Occurrence]
    """Its occurrences, the most typical first: those nearest to the centre."""
    typical: list[Occurrence]
    """The first few, no sentence twice."""


@dataclass(frozen=True)
class Senses:
    """What was found out about a word."""

    word: str
    senses: list[Sense]
    silhouette: float | None
    """How well the clusters are apart, from -1 to 1; None for one cluster."""
    points: npt.NDArray[np.float64]
    """(N, 2) the map, in the order of `occurrences`."""
    occurrences: list[Occurrence]
    groups: list[int]
    """Number of each occurrence's sense."""


def occurrences_in_index(
    index: ContextIndex, word: str, *, any_case: bool = True, limit: int = MOST_OCCURRENCES
) -> Occurrences:
    """Gather the occurrences of a word; of more than ``limit`` every n-th is taken."""
    found = index.occurrences_of(_checked(word, limit), any_case=any_case)
    if len(found) > limit:
        found = [found[row] for row in np.linspace(0, len(found) - 1, limit).astype(int)]
    vectors = index.vectors[[one.row for one in found]].astype(np.float32)
    return Occurrences(word, found, _units(vectors))


def occurrences_in_corpus(
    corpus: Sequence[PathLike],
    word: str,
    *,
    elmo: Elmo,
    layers: Layers = "top",
    any_case: bool = True,
    limit: int = MOST_OCCURRENCES,
    field: str | None = None,
) -> Occurrences:
    """Gather the first ``limit`` occurrences of a word; other sentences are not embedded."""
    _checked(word, limit)
    wanted = word.casefold() if any_case else word
    found: list[Occurrence] = []
    sentences: list[list[str]] = []
    places: list[tuple[int, int]] = []
    for text in corpus_sentences(corpus, field=field):
        if wanted not in (text.casefold() if any_case else text):
            continue
        tokens = elmo.tokeniser(text)
        here = [
            place
            for place, token in enumerate(tokens)
            if (token.text.casefold() if any_case else token.text) == wanted
        ]
        for place in here[: limit - len(found)]:
            token = tokens[place]
            found.append(Occurrence(token.text, text, token.start, token.end, len(found)))
            places.append((len(sentences), place))
        if here:
            sentences.append([token.text for token in tokens])
        if len(found) >= limit:
            break
    if not found:
        return Occurrences(word, [], np.zeros((0, elmo.dim), np.float32))
    embedded = elmo.embed(sentences, layers=layers)
    vectors = np.stack([embedded[sentence][place] for sentence, place in places])
    return Occurrences(word, found, _units(vectors))


def gather_occurrences(
    corpus: Sequence[PathLike],
    word: str,
    *,
    model: str | None = None,
    layers: Layers | None = None,
    any_case: bool = True,
    limit: int = MOST_OCCURRENCES,
    field: str | None = None,
    device: str = "auto",
) -> Occurrences:
    """Gather the occurrences of a word in an index or a corpus, whichever ``corpus`` names."""
    path = Path(corpus[0]) if len(corpus) == 1 else None
    if path is not None and is_index(path):
        if layers is not None:
            raise InputError(
                f"layer: an index has vectors of one choice of layers already, found {layers!r}"
            )
        index = ContextIndex.open(path)
        return occurrences_in_index(index, word, any_case=any_case, limit=limit)
    return occurrences_in_corpus(
        corpus,
        word,
        elmo=load(model, device=device),
        layers="top" if layers is None else layers,
        any_case=any_case,
        limit=limit,
        field=field,
    )


def find_senses(occurrences: Occurrences, *, clusters: int | None = None) -> Senses:
    """Cluster occurrences, into as many clusters as are best apart where ``clusters`` is None."""
    word, found, vectors = occurrences
    if len(found) < 2:
        raise InputError(
            f"word: expected at least 2 occurrences of {word!r} in the text, found {len(found)}"
        )
    if clusters is not None and not 1 <= clusters <= len(found):
        raise InputError(
            f"clusters: expected 1 to {len(found)}, as many as {word!r} occurs, found {clusters}"
        )
    clustered = cluster(vectors, clusters)
    centres = centres_of(vectors, clustered.groups)  # (C, D)
    nearness = (vectors * centres[clustered.groups]).sum(axis=1)  # (N,)
    senses = []
    for number in range(len(centres)):
        rows = np.flatnonzero(clustered.groups == number)
        rows = rows[np.argsort(-nearness[rows], kind="stable")]
        members = [found[row] for row in rows]
        senses.append(Sense(number + 1, members, _distinct(members)[:TYPICAL]))
    return Senses(
        word=word,
        senses=senses,
        silhouette=clustered.silhouette,
        points=plane(vectors),
        occurrences=found,
        groups=[int(group) + 1 for group in clustered.groups],
    )


def draw_senses(senses: Senses, *, labels: bool = True) -> Any:
    """Give the chart of the map; the sentences show where the mouse is, in an HTML file."""
    from elmokit.plots import scatter_map

    names = {sense.number: _name(sense) for sense in senses.senses}
    typical = {id(sense.typical[0]): f"{sense.number}" for sense in senses.senses}
    order = np.argsort(senses.groups, kind="stable")  # the legend counts upwards
    found = [senses.occurrences[row] for row in order]
    return scatter_map(
        senses.points[order],
        groups=[names[senses.groups[row]] for row in order],
        texts=[occurrence.marked for occurrence in found],
        labels=[typical.get(id(occurrence), "") for occurrence in found] if labels else None,
        title=f"{senses.word}: {len(found)} occurrences",
        group_title="cluster, and its most typical sentence",
    )


def save_senses(senses: Senses, file: str | Path) -> None:
    """Draw the map into a ``.png``, ``.svg`` or ``.html`` file."""
    from elmokit.plots import save

    save(draw_senses(senses), file)


def _name(sense: Sense) -> str:
    text = sense.typical[0].marked
    return f"{sense.number}: {text if len(text) <= 60 else text[:57] + '...'}"


def _distinct(members: list[Occurrence]) -> list[Occurrence]:
    return list({member.sentence: member for member in reversed(members)}.values())[::-1]


def _units(vectors: Array) -> Array:
    units: Array = vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(min=1e-30)
    return units


def _checked(word: str, limit: int) -> str:
    if not isinstance(word, str) or not word.strip() or word.split() != [word]:
        raise InputError(f"word: expected one word, found {word!r}")
    if limit < 2:
        raise InputError(f"limit: expected at least 2 occurrences, found {limit}")
    return word
