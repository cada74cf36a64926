"""All spans of a document up to a width, and what stands for each of them.

A span is ``[x_first; x_last; head; width]``: the encoded tokens at its ends, a weighted sum of
its input vectors that is to find the head, and a vector for its width (Lee et al. 2017,
section 3.2). There are too many spans to write all these vectors down; `SpanParts` keeps what
they are made of, and `span_vectors` makes them for a few.

N tokens of the document, W width of the widest span, D size of an input vector,
E size of an encoded token, V size of a width's vector, K some of the spans
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from elmokit.tasks.blocks.masked import masked_softmax


class SpanParts(NamedTuple):
    """What the spans of a document are made of; span ``n * W + w`` is token n and w more."""

    encoded: Tensor
    """(N, E)."""
    inputs: Tensor
    """(N, D)."""
    widths: Tensor
    """(W, V)."""
    head_weights: Tensor
    """(N, W, W): for each span, how much each of its tokens is its head; each sums to 1."""
    last: Tensor
    """(N, W): the last token of each span; also, token after token, what stands in it."""
    exists: Tensor
    """(N, W): False where the span would leave its sentence."""


class SpanReader(nn.Module):
    """Looks for the heads of spans, and knows widths."""

    def __init__(self, *, encoded_dim: int, widest: int, feature_dim: int, dropout: float) -> None:
        super().__init__()
        self.head = nn.Linear(encoded_dim, 1)
        self.widths = nn.Parameter(torch.empty(widest, feature_dim))
        nn.init.xavier_uniform_(self.widths)
        self.dropout = nn.Dropout(dropout)

    def forward(self, encoded: Tensor, inputs: Tensor, sentences: Tensor) -> SpanParts:
        """Take (N, E), (N, D), and the number of each token's sentence (N,)."""
        count, widest = len(sentences), len(self.widths)
        steps = torch.arange(widest, device=sentences.device)  # (W,)
        last = torch.arange(count, device=sentences.device)[:, None] + steps  # (N, W)
        inside = last < count
        last = last.clamp(max=count - 1)
        exists = inside & (sentences[last] == sentences[:, None])
        scores = self.head(encoded).float()[last, 0]  # (N, W)
        covered = steps[None, :] <= steps[:, None]  # (W, W): a span of width w has steps 0..w
        head_weights = masked_softmax(scores[:, None, :], covered)  # (N, W, W)
        return SpanParts(encoded, inputs, self.dropout(self.widths), head_weights, last, exists)


def span_vectors(parts: SpanParts, spans: Tensor) -> Tensor:
    """Give the vectors (K, 2E + D + V) of spans (K,)."""
    widest = len(parts.widths)
    first, width = spans // widest, spans % widest
    tokens = parts.last[first]  # (K, W)
    weights = parts.head_weights.flatten(0, 1).index_select(0, spans)  # (K, W)
    inputs = embedding(tokens, parts.inputs)  # (K, W, D)
    heads = torch.einsum("kw,kwd->kd", weights.to(inputs.dtype), inputs)  # (K, D)
    return torch.cat(
        [
            embedding(first, parts.encoded),
            embedding(first + width, parts.encoded),
            heads,
            embedding(width, parts.widths),
        ],
        dim=-1,
    )
