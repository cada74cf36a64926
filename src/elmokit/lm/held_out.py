"""How well a model predicts the held-out text of a prepared corpus."""

import numpy as np

from elmokit.config import Marks
from elmokit.corpus.layout import BEGIN
from elmokit.corpus.prepared import PreparedCorpus, Split
from elmokit.lm.evaluate import Evaluation, evaluate
from elmokit.lm.language_model import LanguageModel
from elmokit.lm.numbered_text import Document, NumberedText
from elmokit.training.journal import LiveLine


def evaluate_held_out(
    model: LanguageModel, corpus: PreparedCorpus, line: LiveLine
) -> Evaluation | None:
    """Evaluate with each document's context carried; None where nothing is held out."""
    split = corpus.split("valid")
    if split is None or len(split.tokens) == 0:
        return None
    text = held_out_text(corpus, split, model.marks)
    done = 0

    def advance(tokens: int) -> None:
        nonlocal done
        done += tokens
        line.show(f"held-out text: {done / text.tokens / 2:.0%}")

    return evaluate(model, text, start="zeros", advance=advance)


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
