"""Exact match and F1 of answers, as the official script of SQuAD 1.1 counts them."""

import re
import string
from collections import Counter
from collections.abc import Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
# Only ASCII: the official script keeps a dash or a quotation mark of Unicode.
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised(text: str) -> str:
    """Put into lower case; drop punctuation, then articles, then spaces more than one."""
    plain = text.lower().translate(_NO_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", plain).split())


def exact_match(prediction: str, answers: Sequence[str]) -> float:
    """Give 1 if any answer is the same after `normalised`, else 0."""
    return float(normalised(prediction) in map(normalised, answers))


def f1(prediction: str, answers: Sequence[str]) -> float:
    """Give the best F1 with any answer, 0 to 1, over words after `normalised`.

    Where nothing is left of both texts there is no common word and F1 is 0, though they match.
    """
    return max(_f1(normalised(prediction).split(), normalised(one).split()) for one in answers)


def _f1(predicted: list[str], wanted: list[str]) -> float:
    common = (Counter(predicted) & Counter(wanted)).total()
    return 2 * common / (len(predicted) + len(wanted)) if common else 0.0
