"""Parts of speech by a linear classifier on each layer (section 5.3 of the ELMo paper, table 6).

K layers, N tokens, D size of a vector
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from elmokit.analysis.probes.linear_tagger import LinearRecipe, LinearTagger, fit
from elmokit.analysis.probes.tagged_text import TaggedSentence
from elmokit.analysis.probes.vector_source import VectorSource
from elmokit.errors import InputError

BASELINE = "most frequent tag"
MIX = "mix"


@dataclass(frozen=True, kw_only=True)
class TagScore:
    """How well one representation of tokens does."""

    name: str
    """The model's, or that of the baseline."""
    layer: int | str | None = None
    """A layer's number, ``"mix"``, or None for what has no layers."""
    accuracy: float
    """Percent of the test part, or of dev where there is no test part."""
    dev_accuracy: float | None = None
    mix: tuple[float, ...] | None = None
    """Weights of the layers in a learnt mix."""


@dataclass(frozen=True, kw_only=True)
class TagReport:
    """What the probe found."""

    tags: int
    train_tokens: int
    tokens: int
    """That ``accuracy`` counts."""
    scores: tuple[TagScore, ...]

    def facts(self) -> dict[str, Any]:
        """Give what JSON has: ``layers`` and ``baselines`` apart."""
        return {
            "tags": self.tags,
            "train_tokens": self.train_tokens,
            "tokens": self.tokens,
            "layers": [_plain(score) for score in self.scores if score.layer is not None],
            "baselines": [_plain(score) for score in self.scores if score.layer is None],
        }


class _Part(NamedTuple):
    """The tokens of one file that have tags."""

    vectors: Tensor
    """(K, N, D), in half precision to save memory"""
    classes: Tensor
    """(N,); -1 for a tag that training does not have, which is never right"""


def probe_pos(
    sources: Sequence[VectorSource],
    *,
    train: Sequence[TaggedSentence],
    dev: Sequence[TaggedSentence] | None = None,
    test: Sequence[TaggedSentence] | None = None,
    layers: Sequence[int | str] | None = None,
    recipe: LinearRecipe | None = None,
    device: str | torch.device = "cpu",
) -> TagReport:
    """Train a linear tagger on each layer of each source; the weights see nothing but ``train``.

    ``layers`` are numbers and ``"mix"``, a learnt mix of all the layers that a source gives;
    default: each layer. Each source's vectors are computed once and kept in float16: 2 bytes x
    tokens x layers x size, 1.1 GB for UD English EWT and three layers of 704.
    """
    parts = {"train": train}
    parts |= {name: part for name, part in (("dev", dev), ("test", test)) if part is not None}
    if len(parts) == 1:
        raise InputError("test: expected sentences to test on, found neither test nor dev")
    names = sorted({tag for sentence in train for tag in sentence.tags if tag is not None})
    numbers = {name: number for number, name in enumerate(names)}
    judged = "test" if test is not None else "dev"
    scores = [_scored(BASELINE, None, _most_frequent(parts), judged)]
    for source in sources:
        made = {name: _part(source, part, numbers, device) for name, part in parts.items()}
        for layer, rows in _choices(source.layers, layers):
            few = {name: _Part(p.vectors[rows], p.classes) for name, p in made.items()}  # views
            tagger = fit(
                few["train"].vectors,
                few["train"].classes,
                count=len(names),
                recipe=recipe or LinearRecipe(),
            )
            found = {name: _accuracy(tagger, few[name]) for name in parts if name != "train"}
            weights = tuple(tagger.mix.tolist()) if layer == MIX else None
            scores.append(_scored(source.name, layer, found, judged, weights))
    return TagReport(
        tags=len(names),
        train_tokens=_count(train),
        tokens=_count(parts[judged]),
        scores=tuple(scores),
    )


def _choices(
    given: tuple[int | None, ...], wanted: Sequence[int | str] | None
) -> list[tuple[int | str | None, slice]]:
    """Give the name and the rows of each representation that a tagger is trained on."""
    if wanted is None or given == (None,):
        return [(layer, slice(row, row + 1)) for row, layer in enumerate(given)]
    found: list[tuple[int | str | None, slice]] = []
    for layer in wanted:
        if layer == MIX:
            found.append((MIX, slice(None)))
        elif isinstance(layer, int) and layer in given:
            row = given.index(layer)
            found.append((layer, slice(row, row + 1)))
        else:
            raise InputError(f"layer: expected one of {list(given)} or {MIX!r}, found {layer!r}")
    return found


def _part(
    source: VectorSource,
    sentences: Sequence[TaggedSentence],
    numbers: dict[str, int],
    device: str | torch.device,
) -> _Part:
    count = _count(sentences)
    vectors = np.empty((len(source.layers), count, source.dim), dtype=np.float16)  # (K, N, D)
    end = 0
    embedded = source.vectors(sentence.tokens for sentence in sentences)
    for sentence, found in zip(sentences, embedded, strict=True):
        places = [place for place, tag in enumerate(sentence.tags) if tag is not None]
        start, end = end, end + len(places)
        vectors[:, start:end] = found[:, places]
    classes = [
        numbers.get(tag, -1) for sentence in sentences for tag in sentence.tags if tag is not None
    ]
    return _Part(torch.from_numpy(vectors).to(device), torch.tensor(classes, device=device))


def _accuracy(tagger: LinearTagger, part: _Part) -> float:
    return 100 * float((tagger.predict(part.vectors) == part.classes).double().mean())


def _most_frequent(parts: dict[str, Sequence[TaggedSentence]]) -> dict[str, float]:
    """Each word's most frequent tag, and the most frequent of all for new words."""
    of_word: dict[str, Counter[str]] = defaultdict(Counter)
    of_all: Counter[str] = Counter()
    for token, tag in _tagged(parts["train"]):
        of_word[token][tag] += 1
        of_all[tag] += 1
    usual = of_all.most_common(1)[0][0]
    best = {token: tags.most_common(1)[0][0] for token, tags in of_word.items()}
    return {
        name: 100
        * float(np.mean([best.get(token, usual) == tag for token, tag in _tagged(sentences)]))
        for name, sentences in parts.items()
        if name != "train"
    }


def _tagged(sentences: Sequence[TaggedSentence]) -> list[tuple[str, str]]:
    return [
        (token, tag)
        for sentence in sentences
        for token, tag in zip(sentence.tokens, sentence.tags, strict=True)
        if tag is not None
    ]


def _count(sentences: Sequence[TaggedSentence]) -> int:
    return sum(tag is not None for sentence in sentences for tag in sentence.tags)


def _scored(
    name: str,
    layer: int | str | None,
    found: dict[str, float],
    judged: str,
    weights: tuple[float, ...] | None = None,
) -> TagScore:
    return TagScore(
        name=name,
        layer=layer,
        accuracy=found[judged],
        dev_accuracy=found.get("dev"),
        mix=weights,
    )


def _plain(score: TagScore) -> dict[str, Any]:
    return {key: value for key, value in asdict(score).items() if value is not None}
