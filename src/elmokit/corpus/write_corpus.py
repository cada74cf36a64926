"""The last step of preparing: words in their final order, and the streams of their ids."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from elmokit.corpus.arrays import ArrayWriter
from elmokit.corpus.layout import (
    BEGIN,
    COUNTS_FILE,
    MARKS,
    TRAIN,
    UNKNOWN,
    VALID,
    WORDS_FILE,
)
from elmokit.corpus.merge import PlaceTables, WordList
from elmokit.corpus.plan import IN_TRAIN, IN_VALID, Plan
from elmokit.corpus.shards import SplitWriter, count_words, write_stream
from elmokit.corpus.spill_corpus import Progress, SpilledCorpus
from elmokit.corpus.word_order import final_ids, order_by_count, write_words


def write_corpus(
    folder: Path,
    text: SpilledCorpus,
    plan: Plan,
    words: WordList,
    tables: PlaceTables,
    *,
    vocabulary_size: int,
    min_count: int,
    shard_tokens: int,
    progress: Progress,
) -> dict[str, Any]:
    """Write words, counts and shards; give the facts about them."""
    counts, unknown, sentences = count_words(
        text.spills, plan, tables, types=words.count, place=IN_TRAIN
    )
    order = order_by_count(counts)
    write_words(folder / WORDS_FILE, words, order)
    frequent = int(np.count_nonzero(counts >= min_count))
    vocabulary_size = min(vocabulary_size, len(MARKS) + frequent)
    writer = ArrayWriter(folder / COUNTS_FILE, "<i8")
    of_marks = np.zeros(len(MARKS), np.int64)
    of_marks[BEGIN], of_marks[UNKNOWN] = sentences, unknown
    writer.append(of_marks)
    writer.append(counts[order])
    writer.close()
    ids = final_ids(order)
    del counts, order

    types = len(MARKS) + words.count
    dtype = np.dtype("<u2" if types <= 2**16 else "<u4")
    names = {IN_TRAIN: TRAIN, IN_VALID: VALID}
    writers = {
        place: SplitWriter(
            folder, name, dtype, vocabulary_size=vocabulary_size, shard_tokens=shard_tokens
        )
        for place, name in names.items()
    }
    for number, spill in enumerate(text.spills):
        # What stands for the two local marks comes first.
        table = np.concatenate(([BEGIN, UNKNOWN], ids[tables.read(number)])).astype(dtype)
        write_stream(number, spill, plan, table, writers)
        spill.file.unlink()
        progress("writing", number + 1, len(text.spills))
    facts = {names[place]: asdict(writer.close()) for place, writer in writers.items()}
    return {
        "types": types,
        "vocabulary_size": vocabulary_size,
        "splits": {name: split for name, split in facts.items() if split["sentences"]},
    }
