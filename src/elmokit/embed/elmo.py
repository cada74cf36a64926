"""The object people hold: text in, contextual vectors out.

B sentences, T tokens (marks included), n tokens of a sentence, D = 2P size of a representation
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from elmokit.embed.batching import batch_tokens_of, check_batch_tokens
from elmokit.embed.device import checked_dtype, device_named, weight_type
from elmokit.embed.embed_window import cut, embed_window, windows
from elmokit.embed.fetch import begin_fetch
from elmokit.embed.layer_choice import LayerChoice, Layers, Vectors
from elmokit.embed.progress import track
from elmokit.embed.sentences import Sentence, check_sentences, token_lists
from elmokit.embed.similarity import cosines, normalised
from elmokit.embed.start_state import CarriedState, Start, checked_start
from elmokit.embed.word_cache_file import FILE_NAME, read_words, write_words
from elmokit.embed.workers import Workers
from elmokit.engine.build import bilm_from_tensors
from elmokit.engine.embedder import Embedder, embedder_for
from elmokit.engine.runner import Runner
from elmokit.errors import InputError
from elmokit.formats import native
from elmokit.formats.checkpoint import START_STATE_PARTS, Checkpoint
from elmokit.lm.gap import TextWithGap, find_gap
from elmokit.lm.language_model import LanguageModel, LanguageStart
from elmokit.lm.output_layer import PREFIX as SOFTMAX_PREFIX
from elmokit.lm.output_layer import output_layer
from elmokit.lm.score import Direction, SentenceScore, checked_direction, score
from elmokit.lm.substitutes import DEFAULT_COUNT, DEFAULT_PRIOR, Substitute, fill, substitutes
from elmokit.nn.bilm import BiLM, BiLMState
from elmokit.nn.projected_lstm import LSTMState
from elmokit.text.token_indexer import TokenIndexer
from elmokit.text.tokenise import Token, tokeniser_named


class Elmo:
    """A loaded biLM that embeds text; make one with `elmokit.load`."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        *,
        device: str = "auto",
        dtype: str = "float32",
        start: Start = "warm",
        read_again: Callable[[], Checkpoint] | None = None,
    ) -> None:
        """``read_again`` reads the same model with its softmax, where ``checkpoint`` has none."""
        self.config = replace(checkpoint.config, softmax_size=None)
        self.facts = replace(checkpoint, config=self.config, tensors={})
        """The model's checkpoint without its tensors and its softmax."""
        self.metadata = checkpoint.metadata
        self.vocabulary = checkpoint.vocabulary
        self.characters = checkpoint.characters
        self.source_format = checkpoint.source_format
        self.start = checked_start(start)
        self.device = device_named(device)
        self.dtype = checked_dtype(dtype, self.device)
        bilm = bilm_from_tensors(checkpoint.config, checkpoint.tensors)
        self.bilm = bilm.to(self.device, weight_type(dtype))
        self.indexer = TokenIndexer.for_model(
            checkpoint.config, vocabulary=checkpoint.vocabulary, characters=checkpoint.characters
        )
        self.runner = Runner(self.bilm, indexer=self.indexer, marks=self.config.marks)
        self.tokeniser = tokeniser_named(self.config.tokeniser)
        self.state = CarriedState()
        """The state that ``start="carry"`` carries on where no other is passed."""
        self._stored_state = self._stored_start_state(checkpoint)
        self._warm_state = self._stored_state
        self._read_again = read_again
        self._softmax_checkpoint = replace(
            checkpoint,
            tensors={
                name: tensor
                for name, tensor in checkpoint.tensors.items()
                if name.startswith(SOFTMAX_PREFIX)
            },
        )
        self._language_model: LanguageModel | None = None
        self._workers: Workers | None = None

    def __repr__(self) -> str:
        name = self.metadata.get("name", self.source_format)
        return (
            f"Elmo({name!r}, layers={self.layer_count}, dim={self.dim}, start={self.start!r}, "
            f"device={str(self.device)!r}, dtype={self.dtype!r})"
        )

    @property
    def dim(self) -> int:
        """Size of a token's vector in one layer: both directions together."""
        return self.bilm.output_dim

    @property
    def layer_count(self) -> int:
        """Number of layers that a token has, the one before context included."""
        return self.bilm.depth + 1

    def tokenise(self, text: str) -> list[Token]:
        """Cut raw text as the model expects it; each token knows its place in the text."""
        if not isinstance(text, str):
            raise InputError(f"text: expected a string, found {text!r}")
        return self.tokeniser(text)

    def embed(
        self,
        sentences: Iterable[Sentence],
        *,
        layers: Layers = "average",
        batch_tokens: int | None = None,
        progress: bool = False,
        state: CarriedState | None = None,
        workers: int | None = None,
        device: Sequence[str] | None = None,
    ) -> list[Vectors]:
        """Give one float32 array per sentence.

        Sentences are raw strings or token lists. ``layers`` is ``"average"``, ``"top"``, a layer's
        number or a list of weights, for arrays (n, D), or ``"all"`` for (L+1, n, D). The answer
        depends on the sentence alone, unless the model was loaded with ``start="carry"``.
        ``batch_tokens``, how many tokens are computed at once, bounds the memory that is used.

        With ``workers`` so many processes share the work, each with a part of the cores; with
        ``device``, a list as ``["cuda:0", "cuda:1"]``, there is one for each device.
        """
        check_sentences(sentences)
        sentences = list(sentences)
        embedded = self.embed_iter(
            sentences,
            layers=layers,
            batch_tokens=batch_tokens,
            state=state,
            workers=workers,
            device=device,
        )
        if progress:
            embedded = track(embedded, "Embedding", total=len(sentences))
        return list(embedded)

    def embed_iter(
        self,
        sentences: Iterable[Sentence],
        *,
        layers: Layers = "average",
        batch_tokens: int | None = None,
        state: CarriedState | None = None,
        workers: int | None = None,
        device: Sequence[str] | None = None,
    ) -> Iterator[Vectors]:
        """Give the same arrays one by one, for streams that do not fit in memory."""
        tokens = token_lists(_checked(sentences), self._words)
        if workers is not None or device is not None:
            self._layer_choice(layers)
            check_batch_tokens(batch_tokens)
            devices = self._worker_devices(workers, device, state)
            if batch_tokens is None:
                batch_tokens = min(map(batch_tokens_of, devices))
            return self._embed_in_processes(tokens, layers, batch_tokens, devices)
        return self._embed_tokens(
            tokens,
            self._layer_choice(layers),
            batch_tokens=batch_tokens,
            batch_rows=None,
            state=state,
        )

    def encode(
        self,
        sentences: Sentence | Iterable[Sentence],
        batch_size: int = 32,
        show_progress_bar: bool | None = None,
        output_value: Literal["sentence_embedding", "token_embeddings"] = "sentence_embedding",
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        normalize_embeddings: bool = False,
        *,
        layers: Layers = "average",
        pooling: Literal["mean", "max"] = "mean",
    ) -> Any:
        """Give one pooled vector per sentence, in the manner of sentence-transformers.

        A single string gives (D,), a list (B, D): a numpy array, a tensor with
        ``convert_to_tensor``, or a list of tensors with ``convert_to_numpy=False``. A sentence
        without tokens gives zeros. ``output_value="token_embeddings"`` gives a list of (n, D).
        """
        if pooling not in ("mean", "max"):
            raise InputError(f"pooling: expected 'mean' or 'max', found {pooling!r}")
        if output_value not in ("sentence_embedding", "token_embeddings"):
            raise InputError(
                "output_value: expected 'sentence_embedding' or 'token_embeddings', "
                f"found {output_value!r}"
            )
        if isinstance(layers, str) and layers == "all":
            raise InputError("layers: encode pools one vector per token, found 'all'")
        if not isinstance(batch_size, int) or batch_size < 1:
            raise InputError(f"batch_size: expected a whole number above 0, found {batch_size!r}")
        alone = isinstance(sentences, str)
        given = [cast(Sentence, sentences)] if alone else list(_checked(sentences))
        embedded = self._embed_tokens(
            token_lists(given, self._words),
            self._layer_choice(layers),
            batch_tokens=None,
            batch_rows=batch_size,
            state=None,
        )
        if show_progress_bar:
            embedded = track(embedded, "Encoding", total=len(given))
        if output_value == "token_embeddings":
            tokens = [torch.from_numpy(vectors) for vectors in embedded]
            return tokens[0] if alone else tokens
        pooled = np.zeros((len(given), self.dim), dtype=np.float32)
        for row, vectors in enumerate(embedded):
            if len(vectors):
                pooled[row] = vectors.mean(axis=0) if pooling == "mean" else vectors.max(axis=0)
        if normalize_embeddings:
            pooled = normalised(torch.from_numpy(pooled)).numpy()
        if convert_to_tensor:
            tensor = torch.from_numpy(pooled)
            return tensor[0] if alone else tensor
        if not convert_to_numpy:
            rows = list(torch.from_numpy(pooled))
            return rows[0] if alone else rows
        return pooled[0] if alone else pooled

    def score(
        self,
        sentences: Iterable[Sentence],
        *,
        direction: Direction = "both",
        start: LanguageStart | None = None,
    ) -> list[SentenceScore]:
        """Give the log-probability of each sentence and of each of its tokens.

        Sentences are raw strings or token lists. Each is scored alone, from ``start``: ``"warm"``
        or ``"zeros"``, by default as the model was loaded (``"warm"`` where that is ``"carry"``).
        """
        checked_direction(direction)
        tokens = list(token_lists(_checked(sentences), self._words))
        return score(
            self.language_model, tokens, direction=direction, start=self._language_start(start)
        )

    def substitutes(
        self,
        text: TextWithGap,
        *,
        word: str | None = None,
        candidates: Iterable[Sentence] | None = None,
        count: int = DEFAULT_COUNT,
        prior: float = DEFAULT_PRIOR,
        rescore: bool = True,
        direction: Direction = "both",
        start: LanguageStart | None = None,
    ) -> list[Substitute]:
        """Give the words that fit the gap ``___`` of a text best, the best first.

        ``text`` is a raw string or a list of tokens with a gap, ``(tokens, index)``, or a text
        with the ``word`` to replace. With ``candidates``, of one word or several, these are
        compared and all of them are given; else ``count`` words of the vocabulary, found by
        `elmokit.lm.substitutes.substitutes` with ``prior`` and ``rescore``.
        """
        gap = find_gap(text, tokenise=self.tokeniser, word=word)
        start = self._language_start(start)
        if candidates is None:
            if direction != "both":
                raise InputError(f"direction: one alone needs candidates, found {direction!r}")
            return substitutes(
                self.language_model, gap, count=count, prior=prior, rescore=rescore, start=start
            )
        check_sentences(candidates)
        return fill(
            self.language_model,
            gap,
            list(token_lists(candidates, self._words)),
            direction=direction,
            start=start,
        )

    @property
    def language_model(self) -> LanguageModel:
        """The biLM with its softmax, which is read from the model's files on first use."""
        if self._language_model is None:
            checkpoint = self._softmax_checkpoint
            if self._read_again is not None and checkpoint.config.softmax_size is None:
                checkpoint = self._read_again()
            softmax, vocabulary = output_layer(checkpoint)
            if replace(checkpoint.config, softmax_size=None) != self.config:
                raise InputError("model: its files have changed since it was loaded; load it again")
            # Log-probabilities of narrow numbers would be too coarse to compare.
            dtype = torch.float64 if self.dtype == "float64" else torch.float32
            self._language_model = LanguageModel(
                runner=self.runner,
                softmax=softmax.to(self.device, dtype),
                vocabulary=vocabulary,
                warm_state=self._stored_state,
            )
        return self._language_model

    @staticmethod
    def similarity(
        first: npt.ArrayLike | Tensor | Sequence[Tensor],
        second: npt.ArrayLike | Tensor | Sequence[Tensor],
    ) -> Tensor:
        """Give the cosine of every vector of ``first`` with every vector of ``second``."""
        return cosines(first, second)

    def save(
        self, folder: str | Path, *, overwrite: bool = False, word_cache: bool = False
    ) -> None:
        """Write the model as a native folder, its warm start state included.

        The language model's softmax is left out; `elmo convert` keeps it. With ``word_cache`` the
        vectors before context of all words met so far lie beside, and `elmokit.load` reads them.
        """
        native.write(self.checkpoint(), Path(folder), overwrite=overwrite)
        if word_cache:
            write_words(
                self.embedder.word_vectors, self.bilm.token_encoder, Path(folder) / FILE_NAME
            )

    def read_word_cache(self, file: str | Path) -> None:
        """Take over the vectors of words that ``save(..., word_cache=True)`` wrote."""
        known = read_words(Path(file), self.bilm.token_encoder)
        if known is not None:
            self.embedder.word_vectors.learn(*known)

    def checkpoint(self) -> Checkpoint:
        """Give the model as formats write it, its warm start state included."""
        return replace(self.facts, tensors=model_tensors(self.bilm, self.warm_state))

    @property
    def warm_state(self) -> BiLMState:
        """The fixed one-row state of ``start="warm"``, stored with the model or computed once."""
        if self._warm_state is None:
            self._warm_state = self.runner.warm_state()
        return self._warm_state

    def _words(self, text: str) -> list[str]:
        return self.tokeniser.words(text)

    def _language_start(self, start: LanguageStart | None) -> LanguageStart:
        if start is not None:
            return start
        return "warm" if self.start == "carry" else self.start

    def _layer_choice(self, layers: Layers) -> LayerChoice:
        return LayerChoice(layers, count=self.layer_count, dim=self.dim)

    def _embed_tokens(
        self,
        sentences: Iterator[list[str]],
        choice: LayerChoice,
        *,
        batch_tokens: int | None,
        batch_rows: int | None,
        state: CarriedState | None,
    ) -> Iterator[Vectors]:
        check_batch_tokens(batch_tokens)
        if state is not None and not isinstance(state, CarriedState):
            raise InputError(f"state: expected a CarriedState, found {state!r}")
        if self.start == "carry":
            return self._embed_carrying(sentences, choice, state or self.state)
        if state is not None:
            raise InputError(f"state: only start='carry' carries one, found start={self.start!r}")
        if batch_tokens is None:
            batch_tokens = batch_tokens_of(self.device.type)
        return self._embed_purely(sentences, choice, batch_tokens, batch_rows)

    def _embed_purely(
        self,
        sentences: Iterator[list[str]],
        choice: LayerChoice,
        batch_tokens: int,
        batch_rows: int | None,
    ) -> Iterator[Vectors]:
        for window in windows(sentences, batch_tokens):
            yield from embed_window(
                self.embedder,
                window,
                start=self._start_state,
                choice=choice,
                batch_tokens=batch_tokens,
                batch_rows=batch_rows,
            )

    def _worker_devices(
        self, workers: int | None, device: Sequence[str] | None, state: CarriedState | None
    ) -> tuple[str, ...]:
        if self.start == "carry" or state is not None:
            raise InputError(
                "workers: a state that is carried from sentence to sentence cannot be shared; "
                f"load the model with start='warm' or 'zeros', found {self.start!r}"
            )
        if device is None:
            if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
                raise InputError(f"workers: expected a whole number above 0, found {workers!r}")
            return (str(self.device),) * workers
        if isinstance(device, str) or not device:
            raise InputError(f"device: expected a list of devices to share, found {device!r}")
        if workers is not None and workers != len(device):
            raise InputError(
                f"workers, device: expected one worker for each device, found {workers} and "
                f"{len(device)}"
            )
        return tuple(str(device_named(name)) for name in device)

    def _embed_in_processes(
        self,
        sentences: Iterator[list[str]],
        layers: Layers,
        batch_tokens: int,
        devices: tuple[str, ...],
    ) -> Iterator[Vectors]:
        if self._workers is None or self._workers.devices != devices:
            if self._workers is not None:
                self._workers.close()
            self._workers = Workers(self, devices)
        found = self._workers.embed(
            windows(sentences, batch_tokens), layers=layers, batch_tokens=batch_tokens
        )
        for window in found:
            yield from window

    def _embed_carrying(
        self, sentences: Iterator[list[str]], choice: LayerChoice, state: CarriedState
    ) -> Iterator[Vectors]:
        while batch := list(islice(sentences, state.rows)):
            layers, after = self.embedder.carry(batch, state.take(self.bilm, len(batch)))
            state.put(after)
            yield from cut(begin_fetch(choice.pick(layers))(), batch)

    @cached_property
    def embedder(self) -> Embedder:
        """The engine; made when it is first needed, because it holds weights of its own."""
        return embedder_for(self.runner, dtype=self.dtype)

    @cached_property
    def _start_state(self) -> BiLMState:
        """The one-row state from which every sentence is read."""
        return self.runner.zero_state(1) if self.start == "zeros" else self.warm_state

    def _stored_start_state(self, checkpoint: Checkpoint) -> BiLMState | None:
        if "start_state.forward.cell" not in checkpoint.tensors:
            return None
        directions = (
            LSTMState(
                *(
                    checkpoint.tensors[f"start_state.{direction}.{part}"][:, None].to(
                        self.device, weight_type(self.dtype)
                    )
                    for part in START_STATE_PARTS
                )
            )
            for direction in ("forward", "backward")
        )
        return BiLMState(*directions)


def model_tensors(bilm: BiLM, start_state: BiLMState) -> dict[str, Tensor]:
    """Give the tensors of a checkpoint, in float32 on the CPU."""
    tensors = bilm.state_dict()
    for direction, state in start_state._asdict().items():
        for part, tensor in state._asdict().items():
            tensors[f"start_state.{direction}.{part}"] = tensor[:, 0]
    return {
        name: tensor.detach().to("cpu", torch.float32).contiguous()
        for name, tensor in tensors.items()
    }


def _checked(sentences: Any) -> Iterable[Sentence]:
    check_sentences(sentences)
    return cast(Iterable[Sentence], sentences)
