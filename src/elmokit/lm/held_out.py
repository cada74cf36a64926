"""Held-out text of a prepared corpus as the documents that `evaluate` reads."""

import numpy as np

from elmokit.config import Marks
from elmokit.corpus.prepared import BEGIN, PreparedCorpus, Split
from elmokit.lm.numbered_text import Document, NumberedText


def held_out_text(corpus: PreparedCorpus, split: Split, marks: Marks) -> NumberedText:
    """Cut a split's stream into documents and sentences again."""
    text = NumberedText(marks)
    ids = split.tokens.take(np.arange(len(split.tokens)))
    distinct, numbers = np.unique(ids[ids != BEGIN], return_inverse=True)
    text.words = text.words + [corpus.words[word] for word in distinct]
    places = np.zeros(len(ids), dtype=np.int32)
    places[ids != BEGIN] = numbers + len(text.words) - len(distinct)
    for document in np.split(places, split.documents[1:]):
        starts = np.flatnonzero(document == BEGIN)
        lengths = np.diff(np.append(starts, len(document))) - 1
        text.documents.append(Document(document[document != BEGIN], lengths.astype(np.int32)))
    text.bytes = int(split.facts["bytes"])
    return text
