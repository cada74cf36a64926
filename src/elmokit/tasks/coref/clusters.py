"""From each span's best antecedent to clusters."""

from collections.abc import Sequence

from elmokit.tasks.coref.data import Mention

NONE = -1


def linked_clusters(
    spans: Sequence[Mention], antecedents: Sequence[int], alone: Sequence[bool]
) -> list[list[Mention]]:
    """Give the clusters of spans, which come in order; an antecedent is the place of a span before.

    A span that is linked with none (`NONE`), nor any with it, is a cluster where ``alone`` says so.
    """
    home: list[list[Mention]] = []
    for span, antecedent in zip(spans, antecedents, strict=True):
        if antecedent == NONE:
            home.append([span])
        else:
            home[antecedent].append(span)
            home.append(home[antecedent])
    begins = [antecedent == NONE for antecedent in antecedents]
    return [
        cluster
        for cluster, is_new, counts in zip(home, begins, alone, strict=True)
        if is_new and (counts or len(cluster) > 1)
    ]
