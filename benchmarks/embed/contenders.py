"""Who takes part, with what each needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Size = Literal["original", "small", "bundled"]
SIZES: tuple[Size, ...] = ("original", "small", "bundled")
PRECISIONS = {"cpu": ("float32", "bfloat16", "int8"), "cuda": ("float32", "tf32", "bfloat16")}


@dataclass(frozen=True, kw_only=True)
class Contender:
    """One line of the tables."""

    name: str
    """What options and JSON call it."""
    title: str
    """What tables call it."""
    worker: str
    """Module of its worker."""
    gigabytes: Mapping[str, float]
    """Memory to reserve for it, by size; it takes part in these sizes."""
    environment: str | None = None
    """Environment that it runs in; None: the one that runs the comparison."""
    weights: Literal["bilm", "many_langs", "own"] = "own"
    """Which of the weights it loads; ``own``: those that it comes with."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What its worker has to know."""
    is_elmo: bool = True
    """Whether its vectors can agree with ours."""
    is_ours: bool = False
    """Whether it is elmokit, which chooses batches itself and forgets words when told."""
    shapes_cost: bool = False
    """Whether the first batch of a new shape is slow, so that all must be seen before timing."""


def ours(precisions: Sequence[str]) -> list[Contender]:
    """Give elmokit in each precision."""
    return [
        Contender(
            name=f"elmokit-{precision}",
            title=f"elmokit {precision}",
            worker="worker_elmokit",
            gigabytes={"original": 2.0, "small": 1.0, "bundled": 1.5},
            weights="bilm",
            options={"dtype": precision},
            is_ours=True,
        )
        for precision in precisions
    ]


PEERS = (
    Contender(
        name="allennlp",
        title="AllenNLP 0.9",
        worker="worker_allennlp",
        gigabytes={"original": 5.0, "small": 4.0},
        environment="allen09",
        weights="bilm",
    ),
    Contender(
        name="allennlp-cache",
        title="AllenNLP 0.9, token cache",
        worker="worker_allennlp",
        gigabytes={"original": 2.5, "small": 2.0},
        environment="allen09",
        weights="bilm",
        options={"cache": True},
    ),
    Contender(
        name="many-langs",
        title="ELMoForManyLangs",
        worker="worker_many_langs",
        gigabytes={"original": 5.0, "small": 4.0},
        environment="efml",
        weights="many_langs",
    ),
    Contender(
        name="simple-elmo",
        title="simple_elmo",
        worker="worker_simple_elmo",
        gigabytes={"original": 8.0, "small": 5.0},
        environment="tf",
        weights="bilm",
        shapes_cost=True,
    ),
    Contender(
        name="bilm-tf",
        title="bilm-tf",
        worker="worker_bilm_tf",
        gigabytes={"original": 8.0, "small": 5.0},
        environment="tf",
        weights="bilm",
        shapes_cost=True,
    ),
    Contender(
        name="minilm",
        title="MiniLM-L6 (sentence-transformers)",
        worker="worker_minilm",
        gigabytes={"bundled": 2.0},
        environment="modern",
        is_elmo=False,
    ),
    Contender(
        name="bert-base",
        title="BERT-base (transformers, random weights)",
        worker="worker_bert",
        gigabytes={"bundled": 2.5},
        environment="modern",
        is_elmo=False,
    ),
)


def groups(
    contenders: Sequence[Contender], *, size: Size, gigabytes: float
) -> list[list[Contender]]:
    """Put those together that fit in memory at once; the first of ours is in every group."""
    taking_part = [one for one in contenders if size in one.gigabytes]
    reference = [one for one in taking_part if one.is_ours][:1]
    packed: list[list[Contender]] = []
    for one in taking_part:
        if one in reference:
            continue
        for group in packed:
            if sum(other.gigabytes[size] for other in [*group, one]) <= gigabytes:
                group.append(one)
                break
        else:
            packed.append([*reference, one])
    return packed or ([reference] if reference else [])
