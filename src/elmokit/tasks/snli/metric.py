"""How many pairs were understood, all together and by kind."""

from collections import Counter
from collections.abc import Sequence

from elmokit.tasks.classification import MOST_FIGURES, Choice, class_scores
from elmokit.tasks.snli.data import SnliExample


def pair_scores(examples: Sequence[SnliExample], predictions: Sequence[Choice]) -> dict[str, float]:
    """Give ``accuracy``, ``macro_f1``, ``f1/<class>`` and ``accuracy/<kind>``, in per cent.

    Kinds are those of the examples that have one, the `MOST_FIGURES` most frequent.
    """
    scores = class_scores(examples, predictions)
    counts, hits = Counter[str](), Counter[str]()
    for example, prediction in zip(examples, predictions, strict=True):
        if example.kind is not None:
            counts[example.kind] += 1
            hits[example.kind] += example.label == prediction.label
    named = sorted(kind for kind, _ in counts.most_common(MOST_FIGURES))
    return scores | {f"accuracy/{kind}": 100 * hits[kind] / counts[kind] for kind in named}
