"""Spilling blocks in several processes, with results in the order of the blocks."""

from collections import deque
from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace
from itertools import chain

from elmokit.corpus.blocks import Block
from elmokit.corpus.spill import Spill, SpillTask, spill
from elmokit.processes.pool import ProcessPool

Result = tuple[tuple[Block, ...], Spill]

# With less text than this, starting processes takes longer than doing the work.
_ENOUGH_BYTES = 2**21
_ENOUGH_TASKS = 100


def spill_in_order(tasks: Iterable[SpillTask], *, processes: int) -> Generator[Result, None, None]:
    """Work through tasks; results come with the blocks they are of, whose text is gone by then.

    Tasks are taken only a few ahead of the results, so that memory stays bounded.
    """
    stream = iter(tasks)
    if processes > 1:
        first = _enough(stream)
        stream = chain(first, stream)
        if not first or (_size(first) < _ENOUGH_BYTES and len(first) < _ENOUGH_TASKS):
            processes = 1
    if processes == 1:
        for task in stream:
            yield _described(task), spill(task)
        return
    described: deque[tuple[Block, ...]] = deque()

    def asked() -> Iterator[SpillTask]:
        for task in stream:
            described.append(_described(task))
            yield task

    with start_workers(processes) as workers:
        for spilled in workers.ask(asked(), ahead=processes + 1):
            yield described.popleft(), spilled


def start_workers(count: int) -> ProcessPool:
    """Start processes that spill the tasks they are asked to."""
    return ProcessPool(
        "elmokit.corpus.worker",
        [[]] * count,
        advice="try fewer processes (processes, --processes in the shell)",
    )


def _enough(tasks: Iterator[SpillTask]) -> list[SpillTask]:
    """Take tasks until there is enough work for several processes, or no more."""
    taken: list[SpillTask] = []
    for task in tasks:
        taken.append(task)
        if _size(taken) >= _ENOUGH_BYTES or len(taken) >= _ENOUGH_TASKS:
            break
    return taken


def _size(tasks: Iterable[SpillTask]) -> int:
    return sum(len(block.data) for task in tasks for block in task.blocks)


def _described(task: SpillTask) -> tuple[Block, ...]:
    return tuple(replace(block, data=b"") for block in task.blocks)
