"""ELMo inside a task model: a module with trainable mixes over a frozen or trainable biLM.

B sentences, T tokens of the longest one, C characters, P size of a direction, D = 2P
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from elmokit.embed.elmo import Elmo, model_tensors
from elmokit.embed.sentences import check_sentences, token_lists
from elmokit.engine.build import bilm_from_tensors
from elmokit.engine.runner import Runner, expand_state
from elmokit.errors import InputError
from elmokit.nn.bilm import BiLMOutput, BiLMState
from elmokit.nn.projected_lstm import LSTMState
from elmokit.nn.scalar_mix import Form, ScalarMix


class ElmoLayerOutput(NamedTuple):
    """What a task model gets for a batch."""

    representations: list[Tensor]
    """One (B, T, D) per mix, after dropout; zero at padding."""
    mask: Tensor
    """(B, T), True where there is a token."""


class ElmoLayer(nn.Module):
    """Weighted mixes of a biLM's layers as a PyTorch module.

    Call it with a list of token lists, with character ids (B, T, C) as AllenNLP's
    ``batch_to_ids`` makes them (0 for padding), or, for word models, with word ids (B, T)
    counted from 1 (0 for padding). Sentence marks are added and taken away inside.

    The biLM is frozen unless ``trainable``; gradients reach the mix weights always. The layer
    shares the memory of ``model``'s weights while frozen and has its own copy when trainable.
    ``weights`` are starting values of each mix before the softmax, fixed with
    ``train_mix=False``. Add `penalty` to the loss when ``l2`` is not 0.
    """

    def __init__(
        self,
        model: Elmo,
        mixes: int = 2,
        dropout: float = 0.5,
        *,
        trainable: bool = False,
        layer_norm: bool = False,
        form: Form = "layers",
        weights: Sequence[float] | None = None,
        train_mix: bool = True,
        l2: float = 0.0,
    ) -> None:
        super().__init__()
        if not isinstance(model, Elmo):
            raise InputError(f"model: expected what elmokit.load gives, found {model!r}")
        if not isinstance(mixes, int) or mixes < 1:
            raise InputError(f"mixes: expected a whole number above 0, found {mixes!r}")
        if not isinstance(dropout, int | float) or not 0.0 <= dropout < 1.0:
            raise InputError(f"dropout: expected 0 or more and less than 1, found {dropout!r}")
        if model.start == "carry":
            raise InputError(
                "model: a layer of a task model must not depend on earlier batches; load the "
                "model with start='warm' or 'zeros', found start='carry'"
            )
        tensors = {
            name: tensor.clone() if trainable else tensor
            for name, tensor in model.bilm.state_dict().items()
        }
        self.bilm = bilm_from_tensors(model.config, tensors).requires_grad_(trainable)
        self.trainable = trainable
        self.dropout = nn.Dropout(dropout)
        self.mixes = nn.ModuleList(
            ScalarMix(
                layers=model.layer_count,
                form=form,
                layer_norm=layer_norm,
                weights=weights,
                trainable=train_mix,
                l2=l2,
            )
            for _ in range(mixes)
        )
        self.mixes.to(model.device)
        self.output_dim = model.dim
        self._start = model.start
        self._facts = model.facts
        self._dtype = model.dtype
        self._marks = model.config.marks
        self._runner = Runner(self.bilm, indexer=model.indexer, marks=model.config.marks)
        start = model.runner.zero_state(1) if model.start == "zeros" else model.warm_state
        for direction in ("forward", "backward"):
            for part, tensor in getattr(start, direction)._asdict().items():
                self.register_buffer(f"_start_{direction}_{part}", tensor, persistent=False)

        self.register_load_state_dict_pre_hook(_own_weights)  # type: ignore[no-untyped-call]
        self.register_load_state_dict_post_hook(_forget_words)  # type: ignore[no-untyped-call]

    def train(self, mode: bool = True) -> Self:
        """Switch dropout; a frozen biLM stays as it is."""
        super().train(mode)
        if not self.trainable:
            self.bilm.eval()
        return self

    def penalty(self) -> Tensor:
        """Give the L2 penalty on all mix weights, to be added to the loss."""
        return torch.stack([mix.penalty() for mix in self._scalar_mixes()]).sum()

    def mix_weights(self) -> list[Tensor]:
        """Give the weights ``s = softmax(w)`` of each mix, for looking at."""
        return [mix.normalised_weights().detach() for mix in self._scalar_mixes()]

    def to_elmo(self) -> Elmo:
        """Give an `Elmo` with copies of this layer's biLM and start state."""
        tensors = {
            name: tensor.clone()
            for name, tensor in model_tensors(self.bilm, self._start_state()).items()
        }
        device = next(self.bilm.parameters()).device
        return Elmo(
            replace(self._facts, tensors=tensors),
            device=str(device),
            dtype=self._dtype,
            start=self._start,
        )

    def character_ids(self, sentences: Sequence[Sequence[str]]) -> Tensor:
        """Give character ids (B, T, C) for token lists, counted from 1, 0 for padding."""
        alphabet = self._runner.indexer.alphabet
        if alphabet is None:
            raise InputError("this model reads words, not characters; pass token lists")
        rows = [torch.from_numpy(alphabet.encode(s)).long() + 1 for s in self._tokens(sentences)]
        if not rows:
            return torch.zeros(0, 0, alphabet.max_characters, dtype=torch.long)
        return nn.utils.rnn.pad_sequence(rows, batch_first=True)

    def forward(self, inputs: Tensor | Sequence[Sequence[str]]) -> ElmoLayerOutput:
        """Give ``mixes`` representations (B, T, D) and the mask (B, T)."""
        layers, mask = self.layers(inputs)
        representations = [
            self.dropout(mix(layers, mask) * mask[:, :, None]) for mix in self._scalar_mixes()
        ]
        return ElmoLayerOutput(representations, mask)

    def layers(self, inputs: Tensor | Sequence[Sequence[str]]) -> tuple[list[Tensor], Tensor]:
        """Give the layers (B, T, D) before they are mixed, zero at padding, and the mask (B, T)."""
        with torch.set_grad_enabled(self.trainable and torch.is_grad_enabled()):
            output, lengths = self._run(inputs)
        # Ids keep the width they were padded to, so that labels padded alike still fit.
        longest = inputs.shape[1] if isinstance(inputs, Tensor) else int(lengths.max())
        missing = longest + 2 - output.layers[0].shape[1]
        device = output.layers[0].device
        mask = torch.arange(longest, device=device) < lengths.to(device)[:, None]  # (B, T)
        layers = [
            F.pad(layer, (0, 0, 0, missing))[:, 1 : longest + 1] * mask[:, :, None]
            for layer in output.layers
        ]
        return layers, mask

    def _run(self, inputs: Any) -> tuple[BiLMOutput, Tensor]:
        """Run the biLM; the outputs include the marks, the lengths do not."""
        sentences = inputs if isinstance(inputs, Tensor) else self._tokens(inputs)
        if not len(sentences):
            raise InputError("inputs: expected at least one sentence, found an empty batch")
        if isinstance(sentences, Tensor):
            vectors, lengths = self._vectors_of_ids(sentences)
            marks = self._runner.word_vectors.compute([self._marks.begin, self._marks.end])
            rows = [
                torch.cat([marks[:1], row[: int(length)], marks[1:]])
                for row, length in zip(vectors, lengths, strict=True)
            ]
            token_vectors = nn.utils.rnn.pad_sequence(rows, batch_first=True)  # (B, T + 2, P)
            lengths = lengths + 2
        else:
            token_vectors, lengths = self._runner.token_vectors(
                sentences, cached=not self.trainable
            )
        start = expand_state(self._start_state(), len(sentences))
        return self.bilm(token_vectors, lengths, start), lengths - 2

    def _vectors_of_ids(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Give token vectors (B, T, P) and lengths (B,) on the CPU for padded ids."""
        indexer, encoder = self._runner.indexer, self.bilm.token_encoder
        alphabet = indexer.alphabet
        by_characters = alphabet is not None
        if by_characters and indexer.vocabulary is not None:
            raise InputError("inputs: this model reads characters and words; pass token lists")
        wanted = "(B, T, characters)" if by_characters else "(B, T)"
        numbers = not (ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool)
        if ids.ndim != (3 if by_characters else 2) or not numbers:
            raise InputError(
                f"inputs: expected whole numbers of shape {wanted} or token lists, "
                f"found {ids.dtype} of shape {tuple(ids.shape)}"
            )
        if alphabet is not None and ids.shape[2] != alphabet.max_characters:
            raise InputError(
                f"inputs: expected {alphabet.max_characters} characters a token, "
                f"found shape {tuple(ids.shape)}"
            )
        ids = ids.long()
        present = (ids > 0).any(dim=2) if by_characters else ids > 0  # (B, T)
        lengths = present.sum(dim=1)
        left_aligned = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
        if not torch.equal(present, left_aligned):
            raise InputError("inputs: padding (0) must stand after the tokens of a sentence")
        table = encoder.characters.embedding if encoder.characters else encoder.words
        assert isinstance(table, nn.Embedding)
        if ids.numel() and (int(ids.max()) > table.num_embeddings or int(ids.min()) < 0):
            raise InputError(
                f"inputs: expected ids of 0 to {table.num_embeddings}, found "
                f"{int(ids.min())} to {int(ids.max())}"
            )
        device = table.weight.device
        flat = ids[present].to(device) - 1
        if by_characters:
            if bool((flat < 0).any()):
                raise InputError("inputs: expected no 0 (padding) among the characters of a token")
            distinct, inverse = torch.unique(flat, dim=0, return_inverse=True)
            known = encoder(distinct, None)
        else:
            distinct, inverse = torch.unique(flat, return_inverse=True)
            known = encoder(None, distinct)
        vectors = known.new_zeros(*present.shape, known.shape[1])
        vectors = vectors.index_put((present.to(device),), known[inverse])
        return vectors, lengths.cpu()

    def _tokens(self, sentences: Any) -> list[list[str]]:
        check_sentences(sentences)

        def refuse(text: str) -> list[str]:
            raise InputError(f"inputs: expected token lists, found the raw string {text!r}")

        return list(token_lists(sentences, refuse))

    def _start_state(self) -> BiLMState:
        def direction(name: str) -> LSTMState:
            return LSTMState(
                getattr(self, f"_start_{name}_cell"), getattr(self, f"_start_{name}_hidden")
            )

        return BiLMState(direction("forward"), direction("backward"))

    def _scalar_mixes(self) -> list[ScalarMix]:
        return [mix for mix in self.mixes if isinstance(mix, ScalarMix)]


def _own_weights(layer: ElmoLayer, *_: object) -> None:
    """Before weights are loaded in place: let go of the memory that is shared with the `Elmo`."""
    for parameter in layer.bilm.parameters():
        parameter.data = parameter.data.clone()


def _forget_words(layer: ElmoLayer, _: object) -> None:
    """After weights were loaded: the vectors of known words are out of date."""
    layer._runner.word_vectors.clear()
