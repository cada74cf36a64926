"""Words as a transformer sees them, through sentence-transformers: means of their pieces.

n tokens, w words in them, p pieces of a batch's longest sentence (marks included), D size
"""

from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from elmokit.analysis.probes.vector_source import token_means, word_counts, words_of
from elmokit.embed.layer_choice import Vectors
from elmokit.errors import InputError, MissingExtraError

BATCH_SIZE = 32


def load_transformer(
    source: str, *, name: str | None = None, device: str = "cpu"
) -> "TransformerWords":
    """Load a model of sentence-transformers by its name or folder.

    In tables it is called ``name``, or what stands after the last slash of ``source``.
    """
    try:
        library = import_module("sentence_transformers")
    except ImportError as error:
        raise MissingExtraError(
            "sentence-transformers", "compare", "comparing with a transformer"
        ) from error
    try:
        model = library.SentenceTransformer(source, device=device)
    except Exception as error:  # a missing folder, no network, a model of another kind: any of them
        raise InputError(f"transformer: cannot load {source!r} ({error})") from error
    return TransformerWords(model, name=name or Path(source).name)


class TransformerWords:
    """The last layer of a transformer; a word is the mean of its pieces.

    Words past the model's longest input have no piece: their vectors are zeros.
    """

    layers: tuple[int | None, ...] = (None,)

    def __init__(self, model: Any, *, name: str) -> None:
        """``model`` is a `sentence_transformers.SentenceTransformer` with a fast tokenizer."""
        self.name = name
        self._model = model
        # Not the size of a sentence's vector, which a last layer of the model may change.
        self.dim: int = next(self._embed([["a"]])).shape[1]

    def vectors(self, sentences: Iterable[Sequence[str]]) -> Iterator[Vectors]:
        """Give (1, n, D) for each sentence."""
        rest = iter(sentences)
        while batch := list(islice(rest, BATCH_SIZE)):
            words = [words_of(tokens) for tokens in batch]
            for tokens, found in zip(batch, self._embed(words), strict=True):
                yield token_means(found[None], word_counts(tokens))

    def _embed(self, sentences: list[list[str]]) -> Iterator[Vectors]:
        """Give (w, D) for each sentence of words."""
        encoded = self._model.tokenizer(
            sentences,
            is_split_into_words=True,
            padding=True,
            truncation=True,
            max_length=self._model.max_seq_length,
            return_tensors="pt",
        )
        features = {
            key: value.to(self._model.device)
            for key, value in encoded.items()
            if isinstance(value, Tensor)
        }
        with torch.no_grad():
            pieces = self._model(features)["token_embeddings"].float().cpu().numpy()  # (B, p, D)
        for row, words in enumerate(sentences):
            word_of_piece = encoded.word_ids(row)
            places = [place for place, word in enumerate(word_of_piece) if word is not None]
            owners = [word for word in word_of_piece if word is not None]
            total = np.zeros((len(words), pieces.shape[2]), dtype=np.float32)  # (w, D)
            np.add.at(total, owners, pieces[row, places])
            counts = np.bincount(owners, minlength=len(words)).clip(min=1)  # (w,)
            total /= counts[:, None].astype(np.float32)
            yield total
