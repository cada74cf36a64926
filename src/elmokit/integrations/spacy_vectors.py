"""Contextual vectors in a spaCy `Doc`: how they are computed, and how its parts find them.

n tokens of a Doc, D size of a representation
"""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

import numpy as np

from elmokit.embed.elmo import Elmo
from elmokit.embed.layer_choice import Layers, Vectors
from elmokit.errors import InputError

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token


def doc_vectors(
    elmo: Elmo, docs: Sequence["Doc"], *, layers: Layers, by_sentence: bool
) -> list[Vectors]:
    """Give (n, D) for each Doc; a token of white space has zeros, for no model has read any."""
    tensors: list[Vectors] = [np.zeros((len(doc), elmo.dim), dtype=np.float32) for doc in docs]
    places = [
        (tensor, [token.i for token in piece if not token.is_space])
        for doc, tensor in zip(docs, tensors, strict=True)
        for piece in _pieces(doc, by_sentence)
    ]
    words = [
        [token.text for token in piece if not token.is_space]
        for doc in docs
        for piece in _pieces(doc, by_sentence)
    ]
    for (tensor, rows), vectors in zip(places, elmo.embed_iter(words, layers=layers), strict=True):
        tensor[rows] = vectors
    return tensors


def _pieces(doc: "Doc", by_sentence: bool) -> Iterator[Iterable["Token"]]:
    """Give what is read at once: sentences where their bounds are known, else the whole Doc."""
    if by_sentence and len(doc) and doc.has_annotation("SENT_START"):
        yield from doc.sents
    else:
        yield doc


class ContextVectors(NamedTuple):
    """What `Doc.tensor` holds since the pipe ran; its methods are the hooks of the Doc."""

    identity: str
    """Digest of the model's weights."""
    settings: tuple[object, ...]
    """Whatever else decides on the vectors."""
    dim: int
    checksum: int
    """Of the tensor, which other components may replace."""

    @classmethod
    def attach(
        cls, doc: "Doc", tensor: Vectors, *, identity: str, settings: tuple[object, ...]
    ) -> None:
        """Put a tensor (n, D) into a Doc and let vectors and similarities come from it."""
        found = cls(identity, settings, tensor.shape[1], _checksum(tensor))
        doc.tensor = tensor  # type: ignore[assignment]  # spaCy's types say float64
        doc.user_hooks.update(
            vector=found.vector, has_vector=found.has_vector, similarity=found.similarity
        )
        doc.user_span_hooks.update(
            vector=found.vector, has_vector=found.has_vector, similarity=found.similarity
        )
        doc.user_token_hooks.update(
            vector=found.token_vector,
            has_vector=found.token_has_vector,
            similarity=found.similarity,
        )

    @staticmethod
    def of(doc: "Doc") -> Optional["ContextVectors"]:
        """Give what was attached to a Doc, if its tensor is still the same."""
        found = getattr(doc.user_hooks.get("vector"), "__self__", None)
        if not isinstance(found, ContextVectors) or found.checksum != _checksum(doc.tensor):
            return None
        return found

    def vector(self, part: "Doc | Span") -> Vectors:
        """Give the mean (D,) of a Doc's or a Span's tokens, white space left out."""
        rows = [token.i for token in part if not token.is_space]
        tensor = self._tensor(part.doc)
        mean: Vectors = tensor[rows].mean(axis=0) if rows else np.zeros(self.dim, np.float32)
        return mean

    def has_vector(self, part: "Doc | Span") -> bool:
        """Say whether there is anything but white space."""
        return any(not token.is_space for token in part)

    def token_vector(self, token: "Token") -> Vectors:
        """Give the vector (D,) of a token where it stands."""
        vector: Vectors = self._tensor(token.doc)[token.i]
        return vector

    def token_has_vector(self, token: "Token") -> bool:
        """Say whether a token is more than white space."""
        return not token.is_space

    def similarity(self, first: Any, second: Any) -> float:
        """Give the cosine of two vectors; what has no direction is like nothing."""
        left, right = first.vector, second.vector
        if left.shape != right.shape:
            raise InputError(
                f"similarity: expected two vectors of one size, found {left.shape[0]} and "
                f"{right.shape[0]}; both must come from the same elmo pipe"
            )
        lengths = float(np.linalg.norm(left)) * float(np.linalg.norm(right))
        return float(left @ right) / lengths if lengths else 0.0

    def _tensor(self, doc: "Doc") -> Vectors:
        tensor: Any = doc.tensor
        if tensor.shape != (len(doc), self.dim):
            raise InputError(
                f"Doc.tensor: expected ({len(doc)}, {self.dim}) from the elmo pipe, found "
                f"{tensor.shape}; another component has overwritten it: put 'elmo' after that one"
            )
        vectors: Vectors = tensor
        return vectors


def _checksum(tensor: Any) -> int:
    return zlib.crc32(np.ascontiguousarray(tensor).data)
