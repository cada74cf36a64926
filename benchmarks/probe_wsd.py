"""Word senses by the nearest neighbour: does one layer tell the meanings of a word apart?

After Melamud et al. (2016), as in the ELMo paper: each sense is the mean vector of its
occurrences in SemCor, and an occurrence in the tests gets the sense of its lemma that is nearest
by cosine. A lemma that SemCor does not have gets no sense and counts as wrong, so that F1 is the
share of right answers; with WordNet's first sense to fall back on, scores would be higher.

L layers, D size of a vector, S senses
"""

from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

import elmokit
from probe_data import Example, examples, token_vectors

TRAINING = "semcor.train"
TESTS = ("senseval2", "senseval3", "semeval2007", "semeval2013", "semeval2015")
ALL = "all five"
BASELINE = "most frequent sense"

Array = npt.NDArray[np.float32]
Lemma = tuple[str, str]


@dataclass(frozen=True)
class Senses:
    """The senses of SemCor, each of which has a number."""

    numbers: dict[str, int]
    """Number of each sense key."""
    of_lemma: dict[Lemma, list[int]]
    """Senses of a lemma and part of speech, the most frequent first."""


def probe(
    elmo: elmokit.Elmo, data: Path, *, limit: int | None = None, batch_tokens: int = 4096
) -> dict[str, dict[str, float]]:
    """Give F1 in percent on each test and on all five joined for each layer."""
    training = examples(data / "wsd" / f"{TRAINING}.jsonl.xz", limit)
    tests = {name: examples(data / "wsd" / f"eval_{name}.jsonl.xz", limit) for name in TESTS}
    senses = count_senses(training)
    means = _means(elmo, training, senses, batch_tokens)  # (L, S, D), of length 1
    scores = {BASELINE: most_frequent_sense(tests, senses), "answered": _answered(tests, senses)}
    right = {
        name: _answers(elmo, text, means, senses, batch_tokens) for name, text in tests.items()
    }
    for layer in range(elmo.layer_count):
        scores[f"layer {layer}"] = _percent({name: found[layer] for name, found in right.items()})
    return scores


def count_senses(training: list[Example]) -> Senses:
    """Gather the senses of the training text, the most frequent of each lemma first."""
    counts: dict[Lemma, Counter[str]] = defaultdict(Counter)
    for line in training:
        for instance in line["instances"]:
            for key in instance["keys"]:
                counts[instance["lemma"], instance["pos"]][key] += 1
    keys = sorted({key for found in counts.values() for key in found})
    numbers = {key: number for number, key in enumerate(keys)}
    return Senses(
        numbers,
        {
            lemma: [numbers[key] for key, _ in found.most_common()]
            for lemma, found in counts.items()
        },
    )


def most_frequent_sense(tests: dict[str, list[Example]], senses: Senses) -> dict[str, float]:
    """Score the sense that SemCor has most often for each lemma."""
    return _percent(
        {
            name: [
                _is_right(senses, instance, senses.of_lemma.get(_lemma(instance), [None])[0])
                for line in text
                for instance in line["instances"]
            ]
            for name, text in tests.items()
        }
    )


def _answered(tests: dict[str, list[Example]], senses: Senses) -> dict[str, float]:
    return _percent(
        {
            name: [_lemma(i) in senses.of_lemma for line in text for i in line["instances"]]
            for name, text in tests.items()
        }
    )


def _means(elmo: elmokit.Elmo, training: list[Example], senses: Senses, batch_tokens: int) -> Array:
    sums = np.zeros((elmo.layer_count, len(senses.numbers), elmo.dim), dtype=np.float32)
    lines = [line for line in training if line["instances"]]
    vectors = token_vectors(elmo, (x["tokens"] for x in lines), batch_tokens=batch_tokens)
    for line, found in zip(lines, vectors, strict=True):
        for instance in line["instances"]:
            for key in instance["keys"]:
                sums[:, senses.numbers[key]] += found[:, instance["i"]]
    # The cosine does not see by how many a sum is divided.
    sums /= np.linalg.norm(sums, axis=2, keepdims=True).clip(min=1e-30)
    return sums


def _answers(
    elmo: elmokit.Elmo, text: list[Example], means: Array, senses: Senses, batch_tokens: int
) -> list[list[bool]]:
    """Say for each layer which instances got a right sense."""
    right: list[list[bool]] = [[] for _ in means]
    vectors = token_vectors(elmo, (x["tokens"] for x in text), batch_tokens=batch_tokens)
    for line, found in zip(text, vectors, strict=True):
        for instance in line["instances"]:
            candidates = senses.of_lemma.get(_lemma(instance))
            for layer, answers in enumerate(right):
                if candidates is None:
                    answers.append(False)
                    continue
                # The vector's own length is the same for all candidates.
                cosines = means[layer, candidates] @ found[layer, instance["i"]]
                best = candidates[int(cosines.argmax())]
                answers.append(_is_right(senses, instance, best))
    return right


def _lemma(instance: Example) -> Lemma:
    return instance["lemma"], instance["pos"]


def _is_right(senses: Senses, instance: Example, answer: int | None) -> bool:
    return answer is not None and answer in {senses.numbers.get(key) for key in instance["keys"]}


def _percent(right: dict[str, list[bool]]) -> dict[str, float]:
    joined = [answer for answers in right.values() for answer in answers]
    return {name: 100 * float(np.mean(a)) for name, a in [*right.items(), (ALL, joined)]}
