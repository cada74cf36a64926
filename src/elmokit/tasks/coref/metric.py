"""How well clusters agree: MUC, B³, CEAFφ4 and their mean, as the CoNLL-2012 scorer counts them.

Everything follows from how many mentions each gold cluster shares with each one found. Over
several documents the counts are added up before they are divided. Mentions match when both ends
do; nothing is done about mentions of one side that the other lacks (Pradhan et al. 2014), and
singletons count like other clusters wherever they are given.

G gold clusters, F clusters found
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from elmokit.errors import MissingExtraError
from elmokit.tasks.coref.data import Mention

AnyClusters = Sequence[Sequence[Mention]]
Counts = npt.NDArray[np.float64]
"""For recall its numerator and denominator, for precision the same: four numbers."""

MEASURES = ("muc", "b3", "ceaf", "mention")


def coref_scores(gold: Sequence[AnyClusters], found: Sequence[AnyClusters]) -> dict[str, float]:
    """Give all figures over documents in per cent; the clusters of a document are disjoint.

    ``f1`` is the mean of ``muc_f1``, ``b3_f1`` and ``ceaf_f1``. Each of these, and finding the
    mentions alone (``mention``), also has a ``_precision`` and a ``_recall``.
    """
    totals = {measure: np.zeros(4) for measure in MEASURES}
    for gold_clusters, found_clusters in zip(gold, found, strict=True):
        for measure, counts in document_counts(gold_clusters, found_clusters).items():
            totals[measure] += counts
    scores = {}
    for measure, (right, wanted, right_too, given) in totals.items():
        recall, precision = _share(right, wanted), _share(right_too, given)
        scores[f"{measure}_precision"] = 100 * precision
        scores[f"{measure}_recall"] = 100 * recall
        scores[f"{measure}_f1"] = 100 * _share(2 * precision * recall, precision + recall)
    mean = sum(scores[f"{measure}_f1"] for measure in ("muc", "b3", "ceaf")) / 3
    return {"f1": mean, **scores}


def document_counts(gold: AnyClusters, found: AnyClusters) -> Mapping[str, Counts]:
    """Count for each measure in one document."""
    shared = _shared(gold, found)  # (G, F)
    gold_sizes = np.array([len(cluster) for cluster in gold], dtype=np.float64)  # (G,)
    found_sizes = np.array([len(cluster) for cluster in found], dtype=np.float64)  # (F,)
    both, wanted, given = shared.sum(), gold_sizes.sum(), found_sizes.sum()
    # Vilain et al. 1995: links that a cluster keeps when the other side cuts it into pieces. Each
    # pair of clusters that share something is a piece, seen from either side.
    links = both - np.count_nonzero(shared)
    # Bagga and Baldwin 1998: for each mention, how much of its cluster is shared.
    squares = shared**2
    return {
        "muc": np.array([links, wanted - len(gold), links, given - len(found)]),
        "b3": np.array(
            [
                (squares / gold_sizes[:, None]).sum(),
                wanted,
                (squares / found_sizes[None, :]).sum(),
                given,
            ]
        ),
        "ceaf": _ceaf(shared, gold_sizes, found_sizes),
        "mention": np.array([both, wanted, both, given]),
    }


def _ceaf(shared: Counts, gold_sizes: Counts, found_sizes: Counts) -> Counts:
    """Luo 2005: the best pairing of clusters, each pair worth twice the share of its mentions."""
    try:
        from scipy.optimize import linear_sum_assignment
    except ImportError as error:
        raise MissingExtraError("scipy", "tasks", "scoring coreference (CEAF)") from error
    alike = 2 * shared / (gold_sizes[:, None] + found_sizes[None, :])  # (G, F)
    pairs = linear_sum_assignment(alike, maximize=True)
    common = alike[pairs].sum()
    return np.array([common, len(gold_sizes), common, len(found_sizes)])


def _shared(gold: AnyClusters, found: AnyClusters) -> Counts:
    """Count the mentions that each two clusters share: (G, F)."""
    home = {mention: place for place, cluster in enumerate(found) for mention in cluster}
    shared = np.zeros((len(gold), len(found)))
    for place, cluster in enumerate(gold):
        for mention in cluster:
            if mention in home:
                shared[place, home[mention]] += 1
    return shared


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0
