"""The sentences of a corpus as it lies on disk: files, packed files, folders, JSON records."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from elmokit.corpus.blocks import read_blocks
from elmokit.corpus.problems import Problem, Problems
from elmokit.corpus.sentences import sentences_of
from elmokit.corpus.sources import PathLike, find_sources
from elmokit.files import exists

DEMO = "demo"
DEMO_FILE = Path(__file__).parent / "demo_text.txt"

_BLOCK_BYTES = 2**18
_LONGEST_LINE = 100_000


def corpus_sentences(
    corpus: Sequence[PathLike],
    *,
    field: str | None = None,
    leave_out: Path | None = None,
    problems: Problems | None = None,
) -> Iterator[str]:
    """Give the sentences of a corpus, one a line, without empty ones.

    ``corpus`` names files, folders, patterns, or ``demo`` for the text of the package. Text in
    JSON records is taken from ``field``. What is wrong with a line is counted in ``problems``.
    """
    problems = Problems() if problems is None else problems
    named = [DEMO_FILE if is_demo(path) else path for path in corpus]
    nowhere = Path(__file__)  # no folder of a corpus
    sources = find_sources(
        named, (), field=field, leave_out=leave_out or nowhere, problems=problems
    )
    for block in read_blocks(sources, block_bytes=_BLOCK_BYTES, longest_line=_LONGEST_LINE):
        for problem in block.problems:
            problems.add(problem)

        def note(
            kind: str,
            detail: str,
            line: int,
            name: str = block.source.name,
            before: int = block.first_line - 1,
        ) -> None:
            problems.add(Problem(kind, detail, before + line, name))

        for _, text in sentences_of(block, field=field, longest_line=_LONGEST_LINE, note=note):
            if text:
                yield text


def is_demo(path: PathLike) -> bool:
    """Whether somebody means the text of the package: a path that exists is none."""
    return path == DEMO and not exists(Path(DEMO))
