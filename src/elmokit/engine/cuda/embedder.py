"""The biLM over batches of sentences on a GPU.

Work is only begun here, in one stream, and never waited for: the next batch is laid out while
this one is computed. Layers come back as tensors on the GPU.

B sentences, N tokens of all sentences, U distinct words, P size of a direction, L LSTM layers,
D directions
"""

from collections.abc import Callable, Sequence
from itertools import chain

import torch
from torch import Tensor

from elmokit.config import Marks
from elmokit.engine.cuda import kernels
from elmokit.engine.cuda.message import Numbers, send
from elmokit.engine.cuda.plan import DIRECTIONS, MOST_ROWS, Plan
from elmokit.engine.cuda.span import SpanRunner, SpanState
from elmokit.engine.cuda.tiling import input_tiles
from elmokit.engine.cuda.weights import layer_weights
from elmokit.engine.frozen_word_encoder import FrozenWordEncoder, Product
from elmokit.engine.marked import places_of_words, with_marks
from elmokit.engine.one_at_a_time import OneAtATime
from elmokit.engine.transfer import to_device
from elmokit.engine.undisturbed import undisturbed
from elmokit.engine.word_vectors import DEFAULT_CAPACITY_BYTES, WordVectors
from elmokit.nn.bilm import BiLM, BiLMState
from elmokit.nn.projected_lstm import LSTMState
from elmokit.text.token_indexer import TokenIndexer

PRECISIONS = {"float32": "tf32x3", "tf32": "tf32", "bfloat16": "ieee"}
"""How Triton is to multiply, for each precision; ``tf32x3`` has all digits of float32."""
FEW_ROWS = 64
"""Memory for so many rows is enough for short texts."""
GROUP_LENGTHS = (8, 17)
"""Lengths of words that go through the filters together: few, because launches cost time."""
WORDS_AT_ONCE = 4096
WINDOWS_AT_ONCE = 16 * 1024
"""Windows of words that go through the filters at once, within 128 MiB for 2048 filters."""

AtRows = Callable[[SpanRunner, Numbers], None]
"""Does something with the states of some sentences, which stand in the first rows."""


class CUDAEmbedder:
    """Runs a frozen float32 biLM; products are made in ``dtype``, sums in float32."""

    def __init__(
        self,
        bilm: BiLM,
        *,
        indexer: TokenIndexer,
        marks: Marks,
        dtype: str = "float32",
        cache_bytes: int = DEFAULT_CAPACITY_BYTES,
    ) -> None:
        self._dtype = torch.bfloat16 if dtype == "bfloat16" else torch.float32
        self._precision = PRECISIONS[dtype]
        self._skip_connections = bilm.forward_lstm.skip_connections
        self._marks = marks
        with torch.no_grad():
            self._layers = layer_weights(bilm, self._dtype)
            self.word_vectors = WordVectors(
                bilm.token_encoder,
                indexer,
                compute=FrozenWordEncoder(
                    bilm.token_encoder,
                    indexer,
                    product_with=_product_with,
                    group_lengths=GROUP_LENGTHS,
                    windows_at_once=WINDOWS_AT_ONCE,
                ),
                words_at_once=WORDS_AT_ONCE,
                capacity_bytes=cache_bytes,
            )
        self._spans: SpanRunner | None = None
        self.captured = 0
        """Graphs that were captured: one for each width that was met."""
        self._turn = OneAtATime()
        self._begun: tuple[BiLMState, SpanState] | None = None

    def __call__(self, sentences: Sequence[Sequence[str]], start: BiLMState) -> list[Tensor]:
        """See `Embedder`."""
        with self._turn, undisturbed(self._layers[0].bias):
            begun = self._after_marks(start)
            return self._run(sentences, lambda spans, some: spans.put(begun, len(some)))

    def carry(
        self, sentences: Sequence[Sequence[str]], state: BiLMState
    ) -> tuple[list[Tensor], BiLMState]:
        """See `Embedder`."""
        with self._turn, undisturbed(self._layers[0].bias):
            layers, state = self._run_from(with_marks(sentences, self._marks), state)
            places = to_device(places_of_words(sentences), layers[0].device)
            return [layer[places] for layer in layers], state

    def _run_from(
        self, sentences: Sequence[Sequence[str]], state: BiLMState
    ) -> tuple[list[Tensor], BiLMState]:
        """Run each sentence from its row of ``state``, and give the state after it."""
        given = _stacked(state)
        after = SpanState(*(torch.empty_like(part) for part in given))

        def put(spans: SpanRunner, some: Numbers) -> None:
            rows = to_device(some, given.cell.device)
            spans.put(SpanState(*(part[:, :, rows] for part in given)), len(some))

        def take(spans: SpanRunner, some: Numbers) -> None:
            rows = to_device(some, given.cell.device)
            for part, found in zip(after, spans.state(len(some)), strict=True):
                part[:, :, rows] = found.to(part.dtype)

        layers = self._run(sentences, put, take)
        directions = (
            LSTMState(*(part[:, direction] for part in after)) for direction in range(DIRECTIONS)
        )
        return layers, BiLMState(*directions)

    def _run(
        self, sentences: Sequence[Sequence[str]], put: AtRows, take: AtRows | None = None
    ) -> list[Tensor]:
        """Give the layers; ``put`` the states before some sentences and ``take`` those after."""
        table, rows, words = self.word_vectors.look_up(list(chain.from_iterable(sentences)))
        plans = _plans([len(sentence) for sentence in sentences])
        weights = self._layers[0]
        outputs = table.new_empty(
            len(self._layers) + 1, len(words), DIRECTIONS, weights.recurrent.shape[1]
        )  # (L + 1, N, D, P)
        gates = weights.input.new_empty(len(rows), DIRECTIONS, weights.input.shape[2])  # (U, D, 4H)
        message = send(plans, rows=rows, words=words, gates=gates, outputs=outputs[1:])
        vectors = table.index_select(0, message.rows)  # (U, P)
        outputs[0] = vectors.index_select(0, message.words)[:, None]
        self._write_gates(vectors, gates)
        first = 0
        for plan, header in zip(plans, message.headers, strict=True):
            spans = self._span_runner(len(plan.order))
            put(spans, first + plan.order)
            spans.begin(header)
            for width in plan.widths:
                self.captured += spans(width)
            if take is not None:
                take(spans, first + plan.order)
            first += len(plan.order)
        return list(outputs.flatten(2))

    def _write_gates(self, vectors: Tensor, gates: Tensor) -> None:
        """Write what word vectors (U, P) add to the gates of the first layer (U, D, 4H)."""
        weights = self._layers[0]
        kernels.run_product(
            vectors.to(self._dtype)[None],
            weights.input,
            weights.bias,
            out=gates.transpose(0, 1)[None],
            precision=self._precision,
            tiles=input_tiles(self._dtype),
        )

    def _span_runner(self, rows: int) -> SpanRunner:
        if self._spans is None or self._spans.capacity < rows:
            self._spans = None  # gives its memory back first
            self._spans = SpanRunner(
                self._layers,
                skip_connections=self._skip_connections,
                precision=self._precision,
                capacity=FEW_ROWS if rows <= FEW_ROWS else MOST_ROWS,
            )
        return self._spans

    def _after_marks(self, start: BiLMState) -> SpanState:
        """Give the state after the mark that each direction reads first: always the same."""
        if self._begun is None or self._begun[0] is not start:
            _, ahead = self._run_from([[self._marks.begin]], start)
            _, behind = self._run_from([[self._marks.end]], start)
            self._begun = (start, _stacked(BiLMState(ahead.forward, behind.backward)))
        return self._begun[1]


def _product_with(weight: Tensor, bias: Tensor | None) -> Product:
    """Multiply in float32, each row in the same order whatever the number of rows.

    A library's product is summed in another order for other numbers of rows, and LSTM layers make
    much of differences in the last digit.
    """
    factors = weight.t().contiguous()[None]  # (1, I, O)
    bias = None if bias is None else bias[None]

    def product(rows: Tensor) -> Tensor:
        out = rows.new_empty(1, 1, len(rows), factors.shape[2])
        kernels.run_product(
            rows.contiguous()[None],
            factors,
            bias,
            out=out,
            precision=PRECISIONS["float32"],
            tiles=input_tiles(torch.float32),
        )
        return out[0, 0]

    return product


def _plans(lengths: Sequence[int]) -> list[Plan]:
    plans, tokens = [], 0
    for first in range(0, len(lengths), MOST_ROWS):
        some = lengths[first : first + MOST_ROWS]
        plans.append(Plan(some, first=tokens))
        tokens += sum(some)
    return plans


def _stacked(state: BiLMState) -> SpanState:
    return SpanState(
        torch.stack([part.cell for part in state], dim=1),
        torch.stack([part.hidden for part in state], dim=1),
    )
