"""Contenders that are loaded at the same time: compared, warmed up, timed round by round."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from embed.agreement import agreement
from embed.contenders import Contender, Size
from embed.environments import MissingEnvironmentError
from embed.plan import Plan, Setting, settings_of
from embed.process import WorkerError, WorkerProcess
from embed.protocol import Settings
from embed.sentences import spread
from embed.weights import Weights

# A padded batch costs what its longest sentence costs; a single one says little.
FEWEST_BATCHES = 2
PRODUCT_DTYPES = ("float32", "bfloat16")
PRODUCT_ROWS = (32, 64, 128, 256, 512)


@dataclass
class Record:
    """What is known of a contender in a group; all of it goes into JSON."""

    facts: dict[str, Any]
    """What its worker said when it was ready."""
    first_call_seconds: float | None = None
    """Its first call, on the sentences of the agreement."""
    agreement: dict[str, Any] | None = None
    """How its vectors differ from ours in float32."""
    samples: dict[str, list[int]] = field(default_factory=dict)
    """Which sentences each setting runs over."""
    calls: dict[str, list[list[float]]] = field(default_factory=dict)
    """Seconds of each call, by setting and round."""
    memory: dict[str, int | None] = field(default_factory=dict)
    """Its peak."""


class Group:
    """The workers of one group; use it in a ``with`` block, which ends them."""

    def __init__(
        self,
        contenders: Sequence[Contender],
        *,
        size: Size,
        plan: Plan,
        weights: Weights,
        references: Mapping[str, Path],
        absent: dict[str, str],
        is_first: bool,
    ) -> None:
        """``references`` are files of vectors; who fails is noted in ``absent``."""
        self._contenders = [one for one in contenders if one.name not in absent]
        self._size, self._plan, self._weights = size, plan, weights
        self._references, self._absent, self._is_first = references, absent, is_first
        self._workers: dict[str, WorkerProcess] = {}
        self._product: WorkerProcess | None = None
        self._settings: dict[str, list[Setting]] = {}
        self.records: dict[str, Record] = {}
        self.products: dict[str, list[float]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for worker in [*self._workers.values(), *filter(None, [self._product])]:
            worker.close()

    def measure(self) -> None:
        """Fill the records."""
        for one in self._contenders:
            with self._or_drop(one):
                self._load(one)
        for one in self._loaded():
            with self._or_drop(one):
                self._compare(one)
        for one in self._loaded():
            with self._or_drop(one):
                self._warm_up(one)
        for number in range(self._plan.rounds):
            self._round(number)
        for one in self._loaded():
            with self._or_drop(one):
                self.records[one.name].memory = self._workers[one.name].ask("memory")

    @contextmanager
    def _or_drop(self, one: Contender) -> Iterator[None]:
        """Let a failure be the end of one contender and of nobody else."""
        try:
            yield
        except (WorkerError, MissingEnvironmentError, ValueError) as error:
            self.records.pop(one.name, None)
            worker = self._workers.pop(one.name, None)
            if worker is not None:
                worker.close()
            self._absent[one.name] = str(error)
            say(f"{self._size}: {one.name} is absent: {error}")

    def _loaded(self) -> list[Contender]:
        return [one for one in self._contenders if one.name in self._workers]

    def _load(self, one: Contender) -> None:
        plan = self._plan
        settings = Settings(
            text=str(plan.text_file),
            model=None if one.weights == "own" else getattr(self._weights, one.weights),
            device=plan.device,
            threads=plan.threads,
            largest_batch=max(*plan.batches, plan.agreement_sentences),
            options=dict(one.options),
        )
        worker = WorkerProcess(
            plan.environments.python(one.environment),
            one.worker,
            settings,
            log=plan.work / f"{self._size}-{one.name}.log",
        )
        self._workers[one.name] = worker
        self.records[one.name] = Record(worker.facts)
        again = not self._is_first and one.is_ours and one is self._contenders[0]
        self._settings[one.name] = settings_of(one, plan.batches, again=again)

    def _compare(self, one: Contender) -> None:
        """Ask for vectors before anything else: peers carry their state from call to call."""
        if not one.is_elmo:
            return
        file = self._plan.work / f"{self._size}-{one.name}.npz"
        answer = self._workers[one.name].ask("vectors", indices=self._plan.compared, file=str(file))
        self.records[one.name].first_call_seconds = answer["seconds"]
        reference = self._references.get("ours" if one.is_ours else one.weights)
        if reference is not None:
            self.records[one.name].agreement = agreement(reference, file)

    def _warm_up(self, one: Contender) -> None:
        """Choose the sentences of each setting and run what must not be timed."""
        record = self.records[one.name]
        if one.is_ours:
            self._run(one, list(range(len(self._plan.text))), None)
        for setting in self._settings[one.name]:
            record.samples[setting.name] = self._sample(one, setting)
            record.calls[setting.name] = []
            if one.shapes_cost or (one.is_ours and not setting.forget):
                self._run(one, record.samples[setting.name], setting.batch)

    def _sample(self, one: Contender, setting: Setting) -> list[int]:
        total, batch = len(self._plan.text), setting.batch
        if batch is None:
            return list(range(total))
        if batch == 1:
            self._run(one, spread(total, count=3), 1)
            return spread(total, count=self._plan.singles)
        probe = spread(total, count=batch, block=batch)
        seconds = sum(self._run(one, probe, batch))
        if not self._plan.seconds:
            return list(range(total))
        affordable = int(len(probe) * self._plan.seconds / seconds)
        return spread(total, count=max(affordable, FEWEST_BATCHES * batch), block=batch)

    def _round(self, number: int) -> None:
        """Run every setting of everybody once, contender after contender within a setting."""
        if self._is_first and "products" not in self._absent:
            try:
                self._time_products()
            except WorkerError as error:
                self._absent["products"] = str(error)
        names = dict.fromkeys(s.name for settings in self._settings.values() for s in settings)
        for name in names:
            loaded = self._loaded()
            first = number % max(1, len(loaded))
            for one in loaded[first:] + loaded[:first]:
                for setting in self._settings[one.name]:
                    if setting.name == name:
                        with self._or_drop(one):
                            self._time(one, setting, number)

    def _time(self, one: Contender, setting: Setting, number: int) -> None:
        record = self.records[one.name]
        sample = record.samples[setting.name]
        calls = self._run(one, sample, setting.batch, forget=setting.forget)
        record.calls[setting.name].append(calls)
        tokens = sum(len(self._plan.text[index]) for index in sample)
        say(
            f"{self._size}: round {number + 1}: {one.title}: {setting.name}: "
            f"{tokens / sum(calls):,.0f} tokens/s in {sum(calls):.1f} s"
        )

    def _run(
        self, one: Contender, indices: list[int], batch: int | None, *, forget: bool = False
    ) -> list[float]:
        answer = self._workers[one.name].ask("time", indices=indices, batch=batch, forget=forget)
        calls: list[float] = answer["calls"]
        return calls

    def _time_products(self) -> None:
        """Measure the machine's rate at the recurrent shape of our model."""
        sizes = next((r.facts for r in self.records.values() if "cell" in r.facts), None)
        if sizes is None:
            return
        if self._product is None:
            self._product = WorkerProcess(
                Path(sys.executable),
                "worker_product",
                Settings(
                    device=self._plan.device,
                    threads=self._plan.threads,
                    options={"cell": sizes["cell"], "projection": sizes["projection"]},
                ),
                log=self._plan.work / "product.log",
            )
        for dtype in PRODUCT_DTYPES:
            for rows in PRODUCT_ROWS:
                answer = self._product.ask("rate", dtype=dtype, rows=rows)
                rates = self.products.setdefault(f"{dtype} {rows}", [])
                rates.append(answer["operations_per_second"])


def say(line: str) -> None:
    """Tell whoever waits what is going on."""
    print(line, file=sys.stderr, flush=True)
