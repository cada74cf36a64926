"""Text files to a folder that a training reads: words once, ids in memory-mapped shards.

The text is read once. Blocks of lines go to worker processes, which leave ids of words that are
distinct in the block (`spill`). Their sorted lists of words are merged, the merged words are
counted and ordered, and the ids are written anew with the final numbers. Nothing depends on how
many processes there are or how the text was cut into blocks. Memory holds a few blocks and about
40 bytes for each distinct word of the corpus, whatever its length; the disk holds about
6 bytes for each word while the work goes on, beside the result.
"""

import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from elmokit.corpus.layout import (
    CORPUS_FILE,
    CORPUS_FILES,
    FORMAT_VERSION,
    MARKS,
)
from elmokit.corpus.merge import merge
from elmokit.corpus.problems import Problems
from elmokit.corpus.report import PrepareReport
from elmokit.corpus.sources import PathLike, find_sources
from elmokit.corpus.spill_corpus import Progress, spill_corpus
from elmokit.corpus.split_corpus import DUPLICATES, plan_splits
from elmokit.corpus.write_corpus import write_corpus
from elmokit.errors import InputError
from elmokit.files import exists, is_file, replacing_folder, write_json, write_manifest
from elmokit.text.tokenise import tokeniser_named

DEFAULT_VOCABULARY_SIZE = 100_000
DEFAULT_HELD_OUT = 0.01
DEFAULT_LONGEST_LINE = 1_000_000
DEFAULT_SHARD_TOKENS = 2**27

_BLOCK_BYTES = 2**22
_SHORTEST_LINE = 16


def prepare(
    corpus: PathLike | Sequence[PathLike],
    folder: PathLike,
    *,
    valid: PathLike | Sequence[PathLike] = (),
    held_out: float | None = None,
    field: str | None = None,
    tokeniser: str = "words",
    vocabulary_size: int = DEFAULT_VOCABULARY_SIZE,
    min_count: int = 1,
    duplicates: str = "keep",
    longest_line: int = DEFAULT_LONGEST_LINE,
    processes: int | None = None,
    strict: bool = False,
    overwrite: bool = False,
    progress: Progress | None = None,
    shard_tokens: int = DEFAULT_SHARD_TOKENS,
    block_bytes: int = _BLOCK_BYTES,
) -> PrepareReport:
    """Prepare a corpus for training; ``folder`` appears whole or not at all.

    ``corpus`` names text files (plain or compressed), files of JSON records with the text in
    ``field``, folders and patterns. A line is a sentence, a blank line ends a document. Held-out
    text comes from the files ``valid``, or else is the share ``held_out`` of the corpus.
    ``vocabulary_size`` counts the three marks; words that occur less than ``min_count`` times
    stay out of the vocabulary. With ``duplicates`` sentences that occurred before are counted
    (``report``) or left out (``drop``). With ``strict`` any problem is an error.
    """
    started = time.perf_counter()
    folder = Path(folder)
    valid = _as_list(valid)
    if valid and held_out is not None:
        raise InputError(
            f"held_out={held_out} and files of held-out text ({valid[0]}) exclude each other; "
            "give one of them"
        )
    share = 0.0 if valid else DEFAULT_HELD_OUT if held_out is None else held_out
    processes = _checked_processes(processes)
    _check_options(share, vocabulary_size, min_count, duplicates, longest_line, shard_tokens)
    tokeniser = tokeniser_named(tokeniser).name
    _check_destination(folder)
    problems = Problems()
    sources = find_sources(
        _as_list(corpus), valid, field=field, leave_out=folder, problems=problems
    )
    if strict:
        problems.check_none()
    report_progress = progress or (lambda stage, done, total: None)
    with replacing_folder(folder, overwrite=overwrite, replaceable=CORPUS_FILES) as partial:
        spilled = partial / "spilled"
        spilled.mkdir()
        text = spill_corpus(
            sources,
            spilled,
            tokeniser=tokeniser,
            field=field,
            longest_line=longest_line,
            hashes=share > 0 or duplicates != "keep",
            processes=processes,
            strict=strict,
            problems=problems,
            progress=report_progress,
            block_bytes=block_bytes,
        )
        report_progress("merging", 0, 1)
        plan, plan_facts = plan_splits(text, spilled, duplicates=duplicates, share=share)
        words, tables = merge(text.word_lists(), spilled)
        report_progress("merging", 1, 1)
        facts = write_corpus(
            partial,
            text,
            plan,
            words,
            tables,
            vocabulary_size=vocabulary_size,
            min_count=min_count,
            shard_tokens=shard_tokens,
            progress=report_progress,
        )
        shutil.rmtree(spilled)
        facts = {
            "format_version": FORMAT_VERSION,
            "tokeniser": tokeniser,
            **facts,
            "report": {
                "files": len(sources),
                "input_bytes": sum(source.size for source in sources),
                "lines": text.lines,
                "coverage": _coverage(facts["splits"]),
                "min_count": min_count,
                **plan_facts,
                "problems": problems.to_dict(),
            },
        }
        write_json(partial / CORPUS_FILE, facts)
        write_manifest(partial)
        folder_bytes = sum(file.stat().st_size for file in partial.iterdir())
    return PrepareReport(
        folder=str(folder),
        facts=facts,
        folder_bytes=folder_bytes,
        seconds=time.perf_counter() - started,
        processes=processes,
    )


def _as_list(paths: PathLike | Sequence[PathLike]) -> list[PathLike]:
    return [paths] if isinstance(paths, str | os.PathLike) else list(paths)


def _checked_processes(processes: int | None) -> int:
    if processes is None:
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1
    if processes < 1:
        raise InputError(f"processes is {processes}, expected at least 1")
    return processes


def _check_options(
    share: float,
    vocabulary_size: int,
    min_count: int,
    duplicates: str,
    longest_line: int,
    shard_tokens: int,
) -> None:
    if not 0 <= share < 1:
        raise InputError(f"held_out is {share}, expected a share from 0 to below 1")
    if vocabulary_size <= len(MARKS):
        raise InputError(
            f"vocabulary_size is {vocabulary_size}, expected more than the "
            f"{len(MARKS)} marks that it counts"
        )
    if min_count < 1:
        raise InputError(f"min_count is {min_count}, expected at least 1")
    if duplicates not in DUPLICATES:
        raise InputError(f"duplicates is {duplicates!r}, expected one of {', '.join(DUPLICATES)}")
    if shard_tokens < 1:
        raise InputError(f"shard_tokens is {shard_tokens}, expected at least 1")
    if longest_line < _SHORTEST_LINE:
        raise InputError(f"longest_line is {longest_line}, expected at least {_SHORTEST_LINE}")


def _check_destination(folder: Path) -> None:
    if folder.is_dir() and any(folder.iterdir()) and not is_file(folder / CORPUS_FILE):
        raise InputError(
            f"{folder} holds files but is no prepared corpus; it is not replaced: "
            "choose another place"
        )
    if exists(folder) and not folder.is_dir():
        raise InputError(f"{folder} is a file; choose another place for the folder")


def _coverage(splits: dict[str, Any]) -> dict[str, float]:
    return {
        name: round(1 - split["unknown_words"] / split["words"], 6)
        for name, split in splits.items()
    }
