"""Vocabulary surgery: rows for the frequent new words of a domain, the old rows copied.

V words of the old vocabulary, N new words, P size of a direction
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from elmokit.corpus.layout import COUNTS_FILE, UNKNOWN
from elmokit.corpus.prepared import PreparedCorpus
from elmokit.errors import FormatError, InputError
from elmokit.formats.checkpoint import Checkpoint
from elmokit.text.vocabulary import Vocabulary

Counts = npt.NDArray[np.int64]

WEIGHT, BIAS, INPUT = "softmax.weight", "softmax.bias", "token_encoder.words.weight"

# A softmax that has learnt nothing yet starts near the plain frequencies of words.
FRESH_SCALE = 0.1


@dataclass(frozen=True, kw_only=True)
class Extended:
    """A model whose vocabulary has grown, before any training."""

    checkpoint: Checkpoint
    """The model with rows for all its words."""
    old_rows: npt.NDArray[np.int64]
    """(V,) where the rows of the old vocabulary are now."""
    new_rows: npt.NDArray[np.int64]
    """(N,) where the rows of the new words are."""


def word_counts(corpus: PreparedCorpus) -> Counts:
    """Read how often each distinct word stands in the text to train on."""
    file = corpus.folder / COUNTS_FILE
    try:
        counts = np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise FormatError(file, f"cannot be read ({error})", hint="prepare it again") from error
    if counts.shape != (corpus.type_count,) or counts.dtype.kind not in "ui":
        raise FormatError(
            file, "wrong content", found=f"{counts.dtype} {counts.shape}",
            expected=f"{corpus.type_count} counts", hint="prepare the corpus again",
        )  # fmt: skip
    return np.asarray(counts, np.int64)


def frequent_new_words(
    corpus: PreparedCorpus, counts: Counts, known: Vocabulary, *, most: int, min_count: int
) -> list[int]:
    """Choose the distinct words of a corpus, by number, that deserve rows of their own."""
    return [
        number
        for number in range(UNKNOWN + 1, corpus.type_count)
        if counts[number] >= min_count and corpus.words[number] not in known
    ][:most]


def with_new_words(
    parent: Checkpoint, corpus: PreparedCorpus, counts: Counts, chosen: Sequence[int]
) -> Extended:
    """Give rows to the words ``chosen`` and put all words in order of frequency.

    A new word begins as its share of the unknown word: it copies the unknown word's row, and
    its bias is lower by the log of how much of the corpus's unknown text it makes up; what is
    left is the unknown word's. So nothing else becomes more or less likely by the surgery, and
    the new words and the unknown one together are as likely as the unknown word was.
    """
    vocabulary = parent.vocabulary
    assert vocabulary is not None
    unknown = _unknown_id(vocabulary)
    old = len(vocabulary)
    is_unknown = vocabulary.ids(corpus.words) == unknown
    is_unknown[:UNKNOWN] = False  # a model may write the marks of sentences in another way
    all_unknown = int(counts[is_unknown].sum()) + 1
    own = counts[list(chosen)]
    shares = torch.tensor([(all_unknown - own.sum()), *own], dtype=torch.float64) / all_unknown
    places = torch.cat([torch.arange(old), torch.full((len(chosen),), unknown)])
    tensors = dict(parent.tensors)
    for name in (WEIGHT, BIAS, INPUT):
        if name in tensors:
            tensors[name] = tensors[name][places]
    tensors[BIAS] = tensors[BIAS].clone()
    pooled = parent.tensors[BIAS][unknown].double()
    tensors[BIAS][[unknown, *range(old, len(places))]] = (pooled + shares.log()).float()
    words = [*vocabulary.words, *(corpus.words[number] for number in chosen)]
    order = _by_frequency(words, vocabulary, corpus, counts)
    where = np.empty_like(order)
    where[order] = np.arange(len(order))
    for name in (WEIGHT, BIAS, INPUT):
        if name in tensors:
            tensors[name] = tensors[name][torch.from_numpy(order)].contiguous()
    return Extended(
        checkpoint=_with_vocabulary(parent, tensors, [words[place] for place in order]),
        old_rows=where[:old],
        new_rows=where[old:],
    )


def with_new_softmax(
    parent: Checkpoint, corpus: PreparedCorpus, counts: Counts, chosen: Sequence[int], *, seed: int
) -> Extended:
    """Give a model without a softmax one that knows how frequent words are, and no more.

    A model that reads words predicts those it reads, whatever ``chosen`` names.
    """
    marks = parent.config.marks
    if parent.config.words is not None:
        assert parent.vocabulary is not None
        words = list(parent.vocabulary.words)
    else:
        words = [marks.begin, marks.end, marks.unknown]
        words += [corpus.words[number] for number in chosen]
    vocabulary = Vocabulary(words, marks=marks)
    unknown = _unknown_id(vocabulary)
    numbers = vocabulary.ids([marks.begin, marks.end, marks.unknown, *corpus.words[UNKNOWN + 1 :]])
    frequencies = np.bincount(numbers, weights=counts, minlength=len(words))
    frequencies[vocabulary.ids([marks.begin, marks.end])] = counts[0]
    frequencies[unknown] += 1
    smoothed = torch.from_numpy((frequencies + 0.5) / (frequencies + 0.5).sum())
    generator = torch.Generator().manual_seed(seed)
    size = parent.config.projection_dim
    weight = torch.randn(len(words), size, generator=generator) * (FRESH_SCALE * size**-0.5)
    tensors = {**parent.tensors, WEIGHT: weight, BIAS: smoothed.log().float()}
    return Extended(
        checkpoint=_with_vocabulary(parent, tensors, words),
        old_rows=np.zeros(0, np.int64),
        new_rows=np.arange(len(words)),
    )


def in_old_order(tensor: Tensor, extended: Extended) -> Tensor:
    """Sort the rows of a grown softmax: the old vocabulary's first, then those of new words."""
    return tensor[torch.from_numpy(np.concatenate([extended.old_rows, extended.new_rows]))]


def _unknown_id(vocabulary: Vocabulary) -> int:
    mark = vocabulary.marks.unknown
    if mark not in vocabulary:
        raise InputError(
            f"vocabulary: lacks the mark {mark!r} of unknown words, without which other text "
            "cannot be learnt; pass the vocabulary that the model was trained with"
        )
    return int(vocabulary.ids([mark])[0])


def _by_frequency(
    words: Sequence[str], vocabulary: Vocabulary, corpus: PreparedCorpus, counts: Counts
) -> npt.NDArray[np.int64]:
    """Order words, marks first, as a sampled softmax and priors of words need them.

    How frequent a word is, is the mean of two guesses: its share of the corpus, and the share
    that a word with its old rank has under the log-uniform law of the sampler.
    """
    total = max(int(counts[UNKNOWN:].sum()), 1)
    in_corpus = dict(zip(corpus.words, (counts / total).tolist(), strict=True))
    old, scale = len(vocabulary), math.log(len(vocabulary) + 1)
    ranks = vocabulary.ids(words[:old])
    frequency = np.array([in_corpus.get(word, 0.0) for word in words])
    frequency[:old] += np.log1p(1 / (ranks + 1)) / scale
    marks = vocabulary.marks
    for place, mark in enumerate((marks.unknown, marks.end, marks.begin), start=3):
        frequency[[word == mark for word in words]] = place
    return np.argsort(-frequency, kind="stable")


def _with_vocabulary(
    parent: Checkpoint, tensors: dict[str, Tensor], words: Sequence[str]
) -> Checkpoint:
    config = replace(parent.config, softmax_size=len(words))
    if config.words is not None:
        config = replace(config, words=replace(config.words, vocabulary_size=len(words)))
    vocabulary = Vocabulary(words, marks=config.marks)
    return replace(parent, config=config, tensors=tensors, vocabulary=vocabulary)
