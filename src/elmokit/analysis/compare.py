"""One table: static vectors, the layers of a biLM and a transformer on the same probes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from elmokit.analysis.probes.pos import TagScore, probe_pos
from elmokit.analysis.probes.sense_text import Lemma, SenseSentence
from elmokit.analysis.probes.tagged_text import TaggedSentence
from elmokit.analysis.probes.vector_source import VectorSource
from elmokit.analysis.probes.wic import PairScore, probe_wic
from elmokit.analysis.probes.word_pairs import WordPair
from elmokit.analysis.probes.wsd import SenseScore, probe_wsd
from elmokit.errors import InputError


class TagData(NamedTuple):
    """What the probe for parts of speech reads."""

    train: Sequence[TaggedSentence]
    test: Sequence[TaggedSentence]


class SenseData(NamedTuple):
    """What the probe for senses reads."""

    train: Sequence[SenseSentence]
    tests: Mapping[str, Sequence[SenseSentence]]
    first_senses: Mapping[Lemma, str] | None = None


class PairData(NamedTuple):
    """What the probe for pairs of uses reads."""

    train: Sequence[WordPair]
    dev: Sequence[WordPair]


@dataclass(frozen=True)
class ComparedRow:
    """One baseline, or one representation of words, and its figures in percent."""

    name: str
    layer: int | None
    figures: dict[str, float]
    """``pos``: accuracy; ``wsd``: F1; ``wsd_neighbour``: F1 without a prior; ``wic``: accuracy."""

    def facts(self) -> dict[str, Any]:
        """Give what JSON has."""
        layer = {} if self.layer is None else {"layer": self.layer}
        return {"name": self.name, **layer, **self.figures}


def compare(
    sources: Sequence[VectorSource],
    *,
    pos: TagData | None = None,
    wsd: SenseData | None = None,
    wic: PairData | None = None,
    device: str | torch.device = "cpu",
) -> list[ComparedRow]:
    """Run the probes that have data on every source; the probes' own baselines come first."""
    if pos is None and wsd is None and wic is None:
        raise InputError("data: expected those of at least one probe (pos, wsd or wic), found none")
    names = [source.name for source in sources]
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"name: expected a different one for each source, found {name!r} twice"
            )
    figures: dict[tuple[str, int | None], dict[str, float]] = {}

    def put(score: TagScore | SenseScore | PairScore, found: dict[str, float]) -> None:
        assert not isinstance(score.layer, str)  # no mix was asked for
        figures.setdefault((score.name, score.layer), {}).update(found)

    if pos is not None:
        for tagged in probe_pos(sources, train=pos.train, test=pos.test, device=device).scores:
            put(tagged, {"pos": tagged.accuracy})
    if wsd is not None:
        report = probe_wsd(sources, train=wsd.train, tests=wsd.tests, first_senses=wsd.first_senses)
        for sensed in report.scores:
            plain = sensed.f1 if sensed.neighbour_f1 is None else sensed.neighbour_f1
            put(sensed, {"wsd": sensed.f1, "wsd_neighbour": plain})
    if wic is not None:
        for paired in probe_wic(sources, train=wic.train, dev=wic.dev).scores:
            put(paired, {"wic": paired.accuracy})
    rows = [ComparedRow(name, layer, found) for (name, layer), found in figures.items()]
    return sorted(rows, key=lambda row: row.name in names)
