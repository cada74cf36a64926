"""How good static vectors are: analogies answered, and similarities ranked as people rank them.

A word that the vectors lack is tried in lower case, since many vectors know nothing else.

Q questions, V words, D size of a vector
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from elmokit.baselines.static_vectors import StaticVectors
from elmokit.errors import FormatError, InputError
from elmokit.lm.text_file import read_lines

_QUESTIONS_AT_ONCE = 512


@dataclass(frozen=True)
class AnalogyScore:
    """The answers to one section of questions."""

    section: str
    correct: int
    answered: int
    """Questions whose four words all have vectors."""
    left_out: int
    """Questions with a word that has none."""

    @property
    def accuracy(self) -> float | None:
        """Share of the answered questions that are right; None where there are none."""
        return self.correct / self.answered if self.answered else None


@dataclass(frozen=True)
class PairScore:
    """How similarities of pairs agree with people's."""

    spearman: float
    pairs: int
    """Pairs whose words both have vectors."""
    left_out: int


def evaluate_analogies(vectors: StaticVectors, file: str | Path) -> list[AnalogyScore]:
    """Answer a file in the format of ``questions-words.txt``, section by section.

    A line ``: name`` begins a section; ``Athens Greece Oslo Norway`` asks for the word nearest to
    Greece - Athens + Oslo, the three themselves left out.
    """
    return [_answered(vectors, section, questions) for section, questions in _read_questions(file)]


def all_sections(scores: Sequence[AnalogyScore]) -> AnalogyScore:
    """Add up the sections."""
    return AnalogyScore(
        "all",
        sum(score.correct for score in scores),
        sum(score.answered for score in scores),
        sum(score.left_out for score in scores),
    )


def evaluate_pairs(vectors: StaticVectors, file: str | Path) -> PairScore:
    """Rank pairs by cosine and compare with the scores in a file.

    A line is ``word1 word2 score``, parted by tabs, commas or spaces; ``#`` begins a comment.
    """
    cosines, scores, left_out = [], [], 0
    for number, line in enumerate(read_lines(file), start=1):
        fields = line.replace("\t", " ").replace(",", " ").split()
        if not fields or fields[0].startswith("#"):
            continue
        try:
            first, second, score = fields[0], fields[1], float(fields[2])
        except (IndexError, ValueError) as error:
            if number == 1:  # a line that names the columns
                continue
            raise FormatError(
                file, f"line {number}: expected two words and a number, found {line[:60]!r}"
            ) from error
        one, two = vectors.find(first), vectors.find(second)
        if one is None or two is None:
            left_out += 1
        else:
            cosines.append(float(vectors.units[one] @ vectors.units[two]))
            scores.append(score)
    if len(scores) < 2:
        raise InputError(
            f"{file}: {len(scores)} of {len(scores) + left_out} pairs have vectors, "
            "expected at least 2"
        )
    return PairScore(spearman(cosines, scores), len(scores), left_out)


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """Give Spearman's correlation: Pearson's of the ranks, equal values sharing their mean rank."""
    if len(first) != len(second) or len(first) < 2:
        raise InputError(
            f"expected two lists of the same length from 2 up, found {len(first)}, {len(second)}"
        )
    one, two = _ranks(first), _ranks(second)
    one, two = one - one.mean(), two - two.mean()
    spread = float(np.sqrt((one @ one) * (two @ two)))
    return float(one @ two) / spread if spread else float("nan")


def _ranks(values: Sequence[float]) -> npt.NDArray[np.float64]:
    _, places, counts = np.unique(
        np.asarray(values, dtype=np.float64), return_inverse=True, return_counts=True
    )
    last = np.cumsum(counts)  # the highest rank of each distinct value
    mean: npt.NDArray[np.float64] = (last - (counts - 1) / 2)[places]
    return mean


def _read_questions(file: str | Path) -> Iterator[tuple[str, list[list[str]]]]:
    section, questions, any_found = "", list[list[str]](), False
    for number, line in enumerate(read_lines(file), start=1):
        fields = line.split()
        if not fields:
            continue
        if fields[0].startswith(":"):
            if questions:
                yield section, questions
            section, questions = line.lstrip(": ").strip(), []
        elif len(fields) == 4:
            questions.append(fields)
            any_found = True
        else:
            raise FormatError(
                file, f"line {number}: expected four words or ': section', found {line[:60]!r}"
            )
    if questions:
        yield section, questions
    if not any_found:
        raise FormatError(file, "holds no questions")


def _answered(vectors: StaticVectors, section: str, questions: list[list[str]]) -> AnalogyScore:
    found = [[vectors.find(word) for word in question] for question in questions]
    known = [places for places in found if None not in places]
    correct = 0
    for start in range(0, len(known), _QUESTIONS_AT_ONCE):
        places = np.array(known[start : start + _QUESTIONS_AT_ONCE])  # (Q, 4)
        less, first, more, wanted = places.T
        units = vectors.units
        target = units[first] - units[less] + units[more]  # (Q, D)
        cosines = target @ units.T  # (Q, V), up to the length of the target
        np.put_along_axis(cosines, places[:, :3], -np.inf, axis=1)
        correct += int((cosines.argmax(axis=1) == wanted).sum())
    return AnalogyScore(section, correct, len(known), len(questions) - len(known))
