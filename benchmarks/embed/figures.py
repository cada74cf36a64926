"""From seconds to figures: medians, ratios within a group, latencies, the share of a product."""

import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np

from embed.contenders import Contender


class Figures:
    """The figures of one size, from what `measure_size` gave."""

    def __init__(
        self, measured: dict[str, Any], contenders: Sequence[Contender], lengths: Sequence[int]
    ) -> None:
        """``lengths`` are the tokens of each sentence of the text."""
        self._groups: list[dict[str, Any]] = measured["groups"]
        self._products: dict[str, list[float]] = measured["products"]
        self._lengths = lengths
        present = {name for group in self._groups for name in group}
        self.contenders = [one for one in contenders if one.name in present]
        ours = [one.name for one in self.contenders if one.is_ours]
        self._reference = ours[0] if ours else None

    def record(self, name: str) -> dict[str, Any]:
        """Give what was measured of a contender, in the first group that it was in."""
        record: dict[str, Any] = self._groups[self._group_of(name)][name]
        return record

    def rate(self, name: str, setting: str) -> float | None:
        """Give the median of tokens per second, or None for what was not run.

        ``batch-32-new`` and its like are computed where a cache is filled before: the whole
        text at the measured rate after the words of the whole text.
        """
        return self._rate(self._group_of(name), name, setting)

    def ratio(self, ours: str, setting: str, peer: str, peer_setting: str) -> float | None:
        """Give how many times as fast the first is; in two groups by way of the reference.

        The reference ties groups together one sentence at a time for single sentences, else with
        its own batches.
        """
        first, second = self._group_of(ours), self._group_of(peer)
        mine, theirs = self.rate(ours, setting), self.rate(peer, peer_setting)
        if mine is None or theirs is None:
            return None
        if peer in self._groups[first]:
            return mine / theirs
        if self._reference is None:
            return None
        tie = "single" if setting.startswith("single") else "own"
        here = self._rate(first, self._reference, tie)
        there = self._rate(second, self._reference, tie)
        if here is None or there is None:
            return None
        return mine / here * there / theirs

    def latency(self, name: str, setting: str = "single") -> dict[str, float] | None:
        """Give percentiles of the milliseconds of one sentence, over all rounds."""
        rounds = self.record(name)["calls"].get(setting)
        if not rounds:
            return None
        milliseconds = 1e3 * np.array([seconds for calls in rounds for seconds in calls])
        return {f"p{p}": float(np.percentile(milliseconds, p)) for p in (50, 95)}

    def products(self) -> dict[str, dict[int, float]]:
        """Give the median rate of the recurrent product by number type and rows."""
        table: dict[str, dict[int, float]] = {}
        for key, rates in self._products.items():
            dtype, rows = key.split()
            table.setdefault(dtype, {})[int(rows)] = statistics.median(rates)
        return table

    def operations_per_token(self, *, first_input: bool = True) -> float | None:
        """Count the operations of the LSTMs' products, input, recurrent and projection.

        The first layer's input product can be done once per distinct word; ``first_input=False``
        leaves it out.
        """
        if self._reference is None:
            return None
        facts: dict[str, int] = self.record(self._reference)["facts"]
        cell, projection = facts["cell"], facts["projection"]
        all_products = facts["layers"] * (4 * cell * 2 * projection + cell * projection)
        left_out = 0 if first_input else 4 * cell * projection
        return 2.0 * 2 * (all_products - left_out)

    def as_dict(self) -> dict[str, Any]:
        """Give the figures as JSON holds them."""
        return {
            one.name: {
                "tokens_per_second": {
                    setting: self.rate(one.name, setting)
                    for setting in self.record(one.name)["calls"]
                },
                "latency_ms": self.latency(one.name),
                "latency_new_words_ms": self.latency(one.name, "single-new"),
            }
            for one in self.contenders
        }

    def _group_of(self, name: str) -> int:
        return next(number for number, group in enumerate(self._groups) if name in group)

    def _rate(self, group: int, name: str, setting: str) -> float | None:
        record = self._groups[group].get(name)
        if record is None:
            return None
        cache_seconds: float | None = record["facts"].get("cache_seconds")
        if setting.endswith("-new") and cache_seconds is not None:
            known = self._rate(group, name, setting.removesuffix("-new"))
            total = sum(self._lengths)
            return None if known is None else total / (cache_seconds + total / known)
        rounds: list[list[float]] = record["calls"].get(setting, [])
        if not rounds:
            return None
        sample: list[int] = record["samples"][setting]
        tokens = sum(self._lengths[index] for index in sample)
        return statistics.median(tokens / sum(calls) for calls in rounds)
