"""Word senses by the nearest neighbour: does a layer tell the meanings of a word apart?

As in the ELMo paper (section 5.3, table 5), after Melamud et al. (2016): each sense is the mean
vector of its training occurrences, and an occurrence in a test gets the sense of its lemma and
part of speech that is nearest by cosine. To the cosine the logarithm of the sense's share of the
lemma's training occurrences is added, weighted by ``prior``, so that rare senses need a better
reason; ``prior=0`` is the paper's rule, and both are scored.

K layers, S senses, I instances of a test, D size of a vector
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from elmokit.analysis.probes.sense_inventory import SenseInventory
from elmokit.analysis.probes.sense_text import Lemma, SenseInstance, SenseSentence
from elmokit.analysis.probes.vector_source import VectorSource
from elmokit.embed.layer_choice import Vectors
from elmokit.errors import InputError

MOST_FREQUENT = "most frequent sense"
FIRST_IN_WORDNET = "first sense in WordNet"
PRIOR = 0.06
"""Chosen on documents of SemCor that were held out (benchmarks/results/probes.md)."""

Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class SenseScore:
    """How well one representation of words does, in percent.

    Every word gets an answer or counts as wrong, so precision, recall and F1 are one number.
    """

    name: str
    layer: int | None = None
    """A layer's number, or None for what has no layers."""
    f1: float
    """Of all tests together."""
    neighbour_f1: float | None = None
    """The same with no prior: the nearest mean alone, the paper's rule."""
    tests: dict[str, float]
    """F1 of each test."""
    parts_of_speech: dict[str, float]
    """F1 of each part of speech, of all tests together."""


@dataclass(frozen=True, kw_only=True)
class SenseReport:
    """What the probe found."""

    senses: int
    instances: int
    untrained: int
    """Instances of the tests whose lemma has no occurrence in training."""
    fallback: str
    """What those got."""
    prior: float
    scores: tuple[SenseScore, ...]

    def facts(self) -> dict[str, Any]:
        """Give what JSON has: ``layers`` and ``baselines`` apart."""
        facts = {key: value for key, value in asdict(self).items() if key != "scores"}
        rows = [
            {key: value for key, value in asdict(score).items() if value is not None}
            for score in self.scores
        ]
        return {
            **facts,
            "layers": [row for row in rows if "layer" in row],
            "baselines": [row for row in rows if "layer" not in row],
        }


def probe_wsd(
    sources: Sequence[VectorSource],
    *,
    train: Sequence[SenseSentence],
    tests: Mapping[str, Sequence[SenseSentence]],
    first_senses: Mapping[Lemma, str] | None = None,
    prior: float = PRIOR,
) -> SenseReport:
    """Score each layer of each source on each test.

    A lemma without training occurrences gets the sense of ``first_senses`` (WordNet's); without
    one it counts as wrong. Vectors are streamed; what is kept is the means, 4 bytes x senses x
    layers x size: 0.3 GB for SemCor and three layers of 704.
    """
    if not tests:
        raise InputError("tests: expected at least one, found none")
    if not prior >= 0:
        raise InputError(f"prior: expected a number from 0 up, found {prior!r}")
    fallback = first_senses or {}
    inventory = SenseInventory(train)
    marks = [
        (name, instance)
        for name, sentences in tests.items()
        for sentence in sentences
        for instance in sentence.instances
    ]
    usual = [inventory.most_frequent(instance, fallback) in instance.keys for _, instance in marks]
    scores = [_score(MOST_FREQUENT, None, marks, np.array(usual))]
    if first_senses is not None:
        first = [fallback.get(instance.lemma) in instance.keys for _, instance in marks]
        scores.append(_score(FIRST_IN_WORDNET, None, marks, np.array(first)))
    text = [sentence for sentences in tests.values() for sentence in sentences]
    for source in sources:
        means = sense_means(source, train, inventory)  # (K, S, D)
        right = _right(source, text, means, inventory, fallback, prior)  # (2, K, I)
        for row, layer in enumerate(source.layers):
            scores.append(_score(source.name, layer, marks, right[0, row], right[1, row]))
    return SenseReport(
        senses=inventory.size,
        instances=len(marks),
        untrained=sum(instance.lemma not in inventory.of_lemma for _, instance in marks),
        fallback=FIRST_IN_WORDNET if first_senses is not None else "none: counted as wrong",
        prior=prior,
        scores=tuple(scores),
    )


def sense_means(
    source: VectorSource, train: Sequence[SenseSentence], inventory: SenseInventory
) -> Vectors:
    """Give the direction of each sense's mean vector: (K, S, D), of length 1."""
    sums = np.zeros((len(source.layers), inventory.size, source.dim), dtype=np.float32)
    for instance, vector in _instances(source, train):
        for number in inventory.numbers_of(instance):
            sums[:, number] += vector
    # The cosine does not see by how many a sum is divided.
    sums /= np.linalg.norm(sums, axis=2, keepdims=True).clip(min=1e-30)
    return sums


def _instances(
    source: VectorSource, sentences: Sequence[SenseSentence]
) -> Iterator[tuple[SenseInstance, Vectors]]:
    """Give each instance with its vectors (K, D)."""
    embedded = source.vectors(sentence.tokens for sentence in sentences)
    for sentence, vectors in zip(sentences, embedded, strict=True):
        for instance in sentence.instances:
            yield instance, vectors[:, instance.place]


def _right(
    source: VectorSource,
    text: Sequence[SenseSentence],
    means: Vectors,
    inventory: SenseInventory,
    first_senses: Mapping[Lemma, str],
    prior: float,
) -> Booleans:
    """Say which instances got a right sense: (2, K, I), with the prior and without."""
    found = []
    for instance, vector in _instances(source, text):
        senses = inventory.of_lemma.get(instance.lemma)
        if senses is None:
            right = first_senses.get(instance.lemma) in instance.keys
            found.append(np.full((2, len(means)), right))
            continue
        length = np.linalg.norm(vector, axis=1).clip(min=1e-30)  # (K,)
        cosines = np.einsum("ksd,kd->ks", means[:, senses.numbers], vector) / length[:, None]
        # Of equally near senses the first is taken, which is the most frequent.
        best = np.stack([cosines + prior * senses.log_prior, cosines]).argmax(axis=2)  # (2, K)
        is_right = np.array([key in instance.keys for key in senses.keys])
        found.append(is_right[best])
    return np.stack(found, axis=2)


def _score(
    name: str,
    layer: int | None,
    marks: Sequence[tuple[str, SenseInstance]],
    right: Booleans,
    neighbour_right: Booleans | None = None,
) -> SenseScore:
    tests = np.array([test for test, _ in marks])
    parts = np.array([instance.lemma.part_of_speech for _, instance in marks])
    return SenseScore(
        name=name,
        layer=layer,
        f1=_percent(right),
        neighbour_f1=None if neighbour_right is None else _percent(neighbour_right),
        tests={test: _percent(right[tests == test]) for test in dict.fromkeys(tests.tolist())},
        parts_of_speech={
            part: _percent(right[parts == part]) for part in sorted(set(parts.tolist()))
        },
    )


def _percent(right: Booleans) -> float:
    return 100 * float(right.mean())
