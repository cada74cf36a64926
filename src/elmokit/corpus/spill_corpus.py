"""All files of a corpus to spill files, in the order of the text."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from elmokit.corpus.blocks import Block, read_blocks
from elmokit.corpus.layout import TRAIN, VALID
from elmokit.corpus.merge import WordList
from elmokit.corpus.problems import Problems
from elmokit.corpus.sources import Source
from elmokit.corpus.spill import Spill, SpillTask
from elmokit.corpus.workers import spill_in_order
from elmokit.errors import InputError

Progress = Callable[[str, int, int], None]
"""Is told a stage (``reading``, ``merging``, ``writing``), how much is done, how much there is."""

# However small the files are.
_MOST_BLOCKS = 1000


@dataclass(frozen=True)
class SpilledCorpus:
    """The spilled text of all files."""

    spills: list[Spill]
    """One for each block, in the order of the text."""
    train: range
    """Numbers of the spills of the corpus itself."""
    valid: range
    """Numbers of the spills of held-out files, which come last."""
    lines: int
    """Lines of all files."""

    def word_lists(self) -> list[WordList]:
        """Give the sorted words of each spill."""
        return [WordList(spill.file, 0, spill.words_bytes, spill.types) for spill in self.spills]


def spill_corpus(
    sources: Sequence[Source],
    folder: Path,
    *,
    tokeniser: str,
    field: str | None,
    longest_line: int,
    hashes: bool,
    processes: int,
    strict: bool,
    problems: Problems,
    progress: Progress,
    block_bytes: int,
) -> SpilledCorpus:
    """Read and tokenise all files; what is wrong is added to ``problems`` in their order."""

    def tasks() -> Iterator[SpillTask]:
        blocks = read_blocks(sources, block_bytes=block_bytes, longest_line=longest_line)
        for number, group in enumerate(_grouped(blocks, block_bytes)):
            yield SpillTask(
                blocks=group,
                file=folder / f"spill-{number}",
                tokeniser=tokeniser,
                field=field,
                longest_line=longest_line,
                hashes=hashes,
            )

    total = sum(source.size for source in sources)
    spills: list[Spill] = []
    train_count = lines = 0
    progress("reading", 0, total)
    # Closed at once if anything fails, so that no worker writes where others clean up.
    with closing(spill_in_order(tasks(), processes=processes)) as results:
        for blocks, spill in results:
            problems.extend(spill.problem_counts, spill.problems)
            if strict:
                problems.check_none()
            spills.append(replace(spill, problem_counts={}, problems=()))
            train_count += blocks[0].source.split == TRAIN
            lines += sum(block.lines for block in blocks)
            progress("reading", blocks[-1].read_bytes, total)
    train, valid = range(train_count), range(train_count, len(spills))
    _check_words(spills, train, "the corpus", problems)
    if any(source.split == VALID for source in sources):
        _check_words(spills, valid, "the held-out text", problems)
    return SpilledCorpus(spills, train, valid, lines)


def _grouped(blocks: Iterator[Block], block_bytes: int) -> Iterator[tuple[Block, ...]]:
    """Put blocks of small files together; a group is of one split."""
    group: list[Block] = []
    size = 0
    for block in blocks:
        other_split = group and group[0].source.split != block.source.split
        if other_split or size + len(block.data) > block_bytes or len(group) == _MOST_BLOCKS:
            if group:
                yield tuple(group)
            group, size = [], 0
        group.append(block)
        size += len(block.data)
    if group:
        yield tuple(group)


def _check_words(spills: list[Spill], numbers: range, what: str, problems: Problems) -> None:
    if any(spills[number].sentences for number in numbers):
        return
    found = [str(examples[0]) for examples in problems.examples.values()]
    raise InputError(f"{what} holds no words" + (f": {'; '.join(found)}" if found else ""))
