"""The object people hold: text in, contextual vectors out.

B sentences, T tokens (marks included), n tokens of a sentence, D = 2P size of a representation
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast, overload

import numpy.typing as npt
import torch
from torch import Tensor

from elmokit.embed.batching import batch_tokens_of, check_batch_tokens
from elmokit.embed.device import checked_dtype, device_named, weight_type
from elmokit.embed.embed_tokens import embed_carrying, embed_purely
from elmokit.embed.embed_window import windows
from elmokit.embed.encode import check_encode, encoded
from elmokit.embed.hub import from_pretrained, push_to_hub, save_pretrained
from elmokit.embed.layer_choice import LayerChoice, Layers, Vectors
from elmokit.embed.progress import track
from elmokit.embed.sentences import Sentence, check_sentences, token_lists
from elmokit.embed.similarity import cosines
from elmokit.embed.start_state import CarriedState, Start, checked_start
from elmokit.embed.stored_start_state import stored_start_state
from elmokit.embed.tf_hub_outputs import tf_hub_outputs
from elmokit.embed.word_cache_file import FILE_NAME, read_words, write_words
from elmokit.embed.worker_devices import worker_devices
from elmokit.embed.workers import Workers
from elmokit.engine.build import bilm_from_tensors
from elmokit.engine.embedder import Embedder, embedder_for, reader_for
from elmokit.engine.runner import Runner
from elmokit.errors import InputError
from elmokit.formats import native
from elmokit.formats.checkpoint import Checkpoint
from elmokit.lm.gap import TextWithGap, find_gap
from elmokit.lm.language_model import LanguageModel, LanguageStart
from elmokit.lm.output_layer import PREFIX as SOFTMAX_PREFIX
from elmokit.lm.output_layer import output_layer
from elmokit.lm.score import Direction, SentenceScore, checked_direction, score
from elmokit.lm.substitutes import DEFAULT_COUNT, DEFAULT_PRIOR, Substitute, fill, substitutes
from elmokit.nn.bilm import BiLM, BiLMState
from elmokit.text.token_indexer import TokenIndexer
from elmokit.text.tokenise import Token, tokeniser_named


class Elmo:
    """A loaded biLM that embeds text; make one with `elmokit.load`."""

    save_pretrained = save_pretrained
    push_to_hub = push_to_hub
    from_pretrained = staticmethod(from_pretrained)

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
        self._stored_state = stored_start_state(
            checkpoint, device=self.device, dtype=weight_type(dtype)
        )
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

    @overload
    def embed(
        self,
        sentences: Iterable[Sentence],
        *,
        layers: Layers = "average",
        as_dict: Literal[False] = False,
        batch_tokens: int | None = None,
        progress: bool = False,
        state: CarriedState | None = None,
        workers: int | None = None,
        device: Sequence[str] | None = None,
    ) -> list[Vectors]: ...

    @overload
    def embed(
        self,
        sentences: Iterable[Sentence],
        *,
        as_dict: Literal[True],
        batch_tokens: int | None = None,
        progress: bool = False,
        state: CarriedState | None = None,
        workers: int | None = None,
        device: Sequence[str] | None = None,
    ) -> dict[str, npt.NDArray[Any]]: ...

    def embed(
        self,
        sentences: Iterable[Sentence],
        *,
        layers: Layers = "average",
        as_dict: bool = False,
        batch_tokens: int | None = None,
        progress: bool = False,
        state: CarriedState | None = None,
        workers: int | None = None,
        device: Sequence[str] | None = None,
    ) -> list[Vectors] | dict[str, npt.NDArray[Any]]:
        """Give one float32 array per sentence.

        Sentences are raw strings or token lists. ``layers`` is ``"average"``, ``"top"``, a layer's
        number or a list of weights, for arrays (n, D), or ``"all"`` for (L+1, n, D). The answer
        depends on the sentence alone, unless the model was loaded with ``start="carry"``.
        ``batch_tokens``, how many tokens are computed at once, bounds the memory that is used.

        With ``workers`` so many processes share the work, each with a part of the cores; with
        ``device``, a list as ``["cuda:0", "cuda:1"]``, there is one for each device.

        ``as_dict=True`` gives all layers side by side under the names of TensorFlow Hub's module:
        see `elmokit.embed.tf_hub_outputs`.
        """
        check_sentences(sentences)
        sentences = list(sentences)
        if as_dict:
            if layers != "average":
                raise InputError(f"layers: as_dict=True gives all of them, found {layers!r}")
            layers = "all"
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
        if as_dict:
            return tf_hub_outputs(list(embedded), layer_count=self.layer_count, dim=self.dim)
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
            devices = worker_devices(
                workers,
                device,
                own=self.device,
                start=self.start if state is None else "carry",
            )
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
        check_encode(
            layers=layers, pooling=pooling, output_value=output_value, batch_size=batch_size
        )
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
        found = encoded(
            embedded,
            dim=self.dim,
            pooling=None if output_value == "token_embeddings" else pooling,
            normalise=normalize_embeddings,
            as_tensor=convert_to_tensor,
            as_array=convert_to_numpy,
        )
        return found[0] if alone else found

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
            softmax, vocabulary = output_layer(self._read_softmax())
            # Log-probabilities of narrow numbers would be too coarse to compare.
            dtype = torch.float64 if self.dtype == "float64" else torch.float32
            self._language_model = LanguageModel(
                runner=self.runner,
                softmax=softmax.to(self.device, dtype),
                vocabulary=vocabulary,
                warm_state=self._stored_state,
                reader=reader_for(self.runner, dtype=self.dtype, embedder=lambda: self.embedder),
            )
        return self._language_model

    def _read_softmax(self) -> Checkpoint:
        """Give a checkpoint with the softmax, if the model has one."""
        checkpoint = self._softmax_checkpoint
        if self._read_again is not None and checkpoint.config.softmax_size is None:
            checkpoint = self._read_again()
            if replace(checkpoint.config, softmax_size=None) != self.config:
                raise InputError("model: its files have changed since it was loaded; load it again")
        return checkpoint

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

    def checkpoint(self, *, softmax: bool = False) -> Checkpoint:
        """Give the model as formats write it, its warm start state included.

        With ``softmax`` the language model's output layer comes along where the model has one.
        """
        whole = replace(self.facts, tensors=model_tensors(self.bilm, self.warm_state))
        read = self._read_softmax() if softmax else None
        if read is None or read.config.softmax_size is None:
            return whole
        output = {name: t for name, t in read.tensors.items() if name.startswith(SOFTMAX_PREFIX)}
        if self._stored_state is None:
            # Scoring has a warm state of its own, which a stored one would take the place of.
            whole = whole.without_start_state()
        return replace(
            whole,
            config=read.config,
            tensors=whole.tensors | output,
            vocabulary=read.vocabulary,
        )

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
            return embed_carrying(self, sentences, choice, state or self.state)
        if state is not None:
            raise InputError(f"state: only start='carry' carries one, found start={self.start!r}")
        if batch_tokens is None:
            batch_tokens = batch_tokens_of(self.device.type)
        return embed_purely(
            self, sentences, choice, batch_tokens=batch_tokens, batch_rows=batch_rows
        )

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

    @cached_property
    def embedder(self) -> Embedder:
        """The engine; made when it is first needed, because it holds weights of its own."""
        return embedder_for(self.runner, dtype=self.dtype)

    @cached_property
    def start_state(self) -> BiLMState:
        """The one-row state from which every sentence is read, unless state is carried."""
        return self.runner.zero_state(1) if self.start == "zeros" else self.warm_state


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
