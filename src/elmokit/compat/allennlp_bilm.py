"""AllenNLP's ``_ElmoBiLm``: character ids in, the activations of all layers out.

B sentences, T tokens, S = T + 2 with marks, C characters, P size of a direction
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from elmokit.compat.allennlp_files import model_of
from elmokit.compat.allennlp_names import entries, from_allennlp, to_allennlp
from elmokit.compat.allennlp_state import RowStates
from elmokit.embed.elmo import Elmo
from elmokit.embed.start_state import Start
from elmokit.engine.build import bilm_from_tensors
from elmokit.engine.runner import expand_state
from elmokit.errors import InputError
from elmokit.nn.bilm import BiLM, BiLMState
from elmokit.nn.projected_lstm import LSTMState


class BiLmOutput(TypedDict):
    """What AllenNLP calls the output of a biLM."""

    activations: list[Tensor]
    """One (B, S, 2P) a layer, zero at padding; the marks are inside."""
    mask: Tensor
    """(B, S), 1 where there is a token or a mark."""


class ElmoBiLm(nn.Module):
    """A biLM with AllenNLP's arguments, answers and names of weights.

    ``start`` is what every sentence begins with: ``"zeros"``, ``"warm"``, or with ``"carry"``
    what the sentence before it in the same row of the batch has left behind, as in AllenNLP.
    """

    def __init__(
        self,
        options_file: str | Path | None,
        weight_file: str | Path | None,
        requires_grad: bool = False,
        vocab_to_cache: Sequence[str] | None = None,
        *,
        start: Start = "zeros",
    ) -> None:
        super().__init__()
        model = model_of(options_file, weight_file, start=start)
        if model.config.words is not None or model.characters is not None:
            raise InputError(
                "weight_file: AllenNLP's names are for models that read bytes, found one that "
                "reads words or a dictionary of characters; use elmokit.ElmoLayer"
            )
        self.start = start
        self.bilm = _with_forget_bias_inside(model).requires_grad_(requires_grad)
        self.num_layers = model.layer_count
        self.states = RowStates()
        """What ``start="carry"`` carries on."""
        self._config = replace(model.config, forget_bias=0.0)
        self._word_embedding: nn.Embedding | None = None
        self._register_constants(model)
        self.register_state_dict_post_hook(_write_allennlp_names)  # type: ignore[no-untyped-call]
        self.register_load_state_dict_pre_hook(_read_allennlp_names)  # type: ignore[no-untyped-call]
        self.register_load_state_dict_post_hook(_name_missing)  # type: ignore[no-untyped-call]
        if vocab_to_cache is not None:
            self.create_cached_cnn_embeddings(vocab_to_cache)

    def get_output_dim(self) -> int:
        """Give the size of a representation: both directions together."""
        return self.bilm.output_dim

    def reset_states(self) -> None:
        """Forget what ``start="carry"`` has carried."""
        self.states.reset()

    def create_cached_cnn_embeddings(self, tokens: Sequence[str]) -> None:
        """Compute the vectors of words once; their ids are their places, where 0 is padding."""
        if isinstance(tokens, str) or not all(isinstance(token, str) for token in tokens):
            raise InputError(f"vocab_to_cache: expected a list of words, found {tokens!r}")
        if self._is_trained():
            warnings.warn(
                "vocab_to_cache: the biLM is trained, and the vectors of cached words do not "
                "follow the character convolutions",
                stacklevel=2,
            )
        ids = torch.from_numpy(self._alphabet.encode(list(tokens))).long()
        with torch.no_grad():
            vectors = self.bilm.token_encoder(ids.to(self._mark_ids.device), None)
        vectors[:1] = 0
        self._word_embedding = nn.Embedding(
            len(vectors), vectors.shape[1], padding_idx=0, _weight=vectors
        )
        self._word_embedding.requires_grad_(self._is_trained())

    def forward(self, inputs: Tensor | None, word_inputs: Tensor | None = None) -> BiLmOutput:
        """Run character ids (B, T, 50), or ids (B, T) of cached words where all are known."""
        # Nothing of a frozen biLM is kept for a backward pass.
        with torch.set_grad_enabled(self._is_trained() and torch.is_grad_enabled()):
            vectors, lengths = self._token_vectors(inputs, word_inputs)
            rows, width = vectors.shape[:2]
            output = self.bilm(self._marked(vectors, lengths), lengths + 2, self._start(rows))
            if self.start == "carry":
                self.states.put(output.state)
        missing = width + 2 - output.layers[0].shape[1]
        activations = [F.pad(layer, (0, 0, 0, missing)) for layer in output.layers]
        places = torch.arange(width + 2, device=vectors.device)
        mask = (places < lengths.to(vectors.device)[:, None] + 2).long()
        return {"activations": activations, "mask": mask}

    def _is_trained(self) -> bool:
        return any(parameter.requires_grad for parameter in self.bilm.parameters())

    def _register_constants(self, model: Elmo) -> None:
        alphabet = model.indexer.alphabet
        assert alphabet is not None
        self._alphabet = alphabet
        marks = alphabet.encode([model.config.marks.begin, model.config.marks.end])
        self.register_buffer("_mark_ids", torch.from_numpy(marks).long(), persistent=False)
        self._mark_ids: Tensor  # (2, C)
        carried = model.start == "carry"
        state = model.runner.zero_state(1) if carried else model.start_state
        for direction, parts in state._asdict().items():
            for part, tensor in parts._asdict().items():
                self.register_buffer(f"_start_{direction}_{part}", tensor, persistent=False)

    def _start(self, rows: int) -> BiLMState:
        if self.start == "carry":
            return self.states.take(self.bilm, rows)
        directions = (
            LSTMState(getattr(self, f"_start_{name}_cell"), getattr(self, f"_start_{name}_hidden"))
            for name in BiLMState._fields
        )
        return expand_state(BiLMState(*directions), rows)

    def _marked(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """Put the marks' vectors around sentences (B, T, P), up to the longest one's end."""
        begin, end = self.bilm.token_encoder(self._mark_ids, None)
        longest = int(lengths.max())
        room = vectors.new_zeros(len(vectors), 1, vectors.shape[2])
        first = begin.expand_as(room)
        longer = torch.cat([first, vectors[:, :longest], room], dim=1)
        places = torch.arange(longest + 2, device=vectors.device)
        at_end = places == lengths.to(vectors.device)[:, None] + 1
        return torch.where(at_end[:, :, None], end, longer)

    def _token_vectors(
        self, inputs: Tensor | None, word_inputs: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Give token vectors (B, T, P), zero at padding, and lengths (B,) on the CPU."""
        words = self._word_embedding
        if words is not None and word_inputs is not None:
            # A word that is not in the cache: the characters know it.
            known = not word_inputs.numel() or int(word_inputs.max()) < words.num_embeddings
            if known or inputs is None:
                if not known:
                    raise InputError(
                        f"word_inputs: expected ids below {words.num_embeddings}, found "
                        f"{int(word_inputs.max())} and no character ids to go back to"
                    )
                lengths = _lengths(word_inputs > 0)
                return words(word_inputs.to(words.weight.device)), lengths
        if inputs is None:
            raise InputError("inputs: expected character ids, found None and no cached words")
        self._check(inputs)
        ids = inputs.to(self._mark_ids.device).long()
        present = (ids > 0).any(dim=2)  # (B, T)
        distinct, numbers = torch.unique(ids[present] - 1, dim=0, return_inverse=True)
        if bool((distinct < 0).any()):
            raise InputError("inputs: expected no 0 (padding) among the characters of a token")
        known_vectors = self.bilm.token_encoder(distinct, None)
        vectors = known_vectors.new_zeros(*present.shape, known_vectors.shape[1])
        return vectors.index_put((present,), known_vectors[numbers]), _lengths(present)

    def _check(self, inputs: Tensor) -> None:
        width, most = self._mark_ids.shape[1], self._character_count()
        whole = not (inputs.is_floating_point() or inputs.is_complex())
        if inputs.ndim != 3 or inputs.shape[2] != width or not whole:
            raise InputError(
                f"inputs: expected whole numbers of shape (sentences, tokens, {width}) as "
                f"batch_to_ids makes them, found {inputs.dtype} of shape {tuple(inputs.shape)}"
            )
        if not len(inputs):
            raise InputError("inputs: expected at least one sentence, found an empty batch")
        if inputs.numel() and (int(inputs.min()) < 0 or int(inputs.max()) > most):
            raise InputError(
                f"inputs: expected ids of 0 to {most}, found {int(inputs.min())} to "
                f"{int(inputs.max())}"
            )

    def _character_count(self) -> int:
        characters = self.bilm.token_encoder.characters
        assert characters is not None
        return characters.embedding.num_embeddings


def _with_forget_bias_inside(model: Elmo) -> BiLM:
    """Give a biLM with the same answers whose weights are those that AllenNLP holds."""
    config, tensors = model.config, dict(model.bilm.state_dict())
    for name, tensor in tensors.items():
        if "_lstm." in name and name.endswith(".bias"):
            bias = tensor.clone()
            bias[config.lstm_dim : 2 * config.lstm_dim] += config.forget_bias
            tensors[name] = bias
    return bilm_from_tensors(replace(config, forget_bias=0.0), tensors)


def _lengths(present: Tensor) -> Tensor:
    """Count the tokens of each sentence (B,) on the CPU; padding comes after them."""
    lengths = present.sum(dim=1)
    left_aligned = torch.arange(present.shape[1], device=present.device) < lengths[:, None]
    if not torch.equal(present, left_aligned):
        raise InputError("inputs: padding (0) must stand after the tokens of a sentence")
    return lengths.cpu()


def _write_allennlp_names(module: ElmoBiLm, state: dict[str, Any], prefix: str, _: object) -> None:
    to_allennlp(entries(module._config), state, ours=f"{prefix}bilm.", theirs=prefix)


def _read_allennlp_names(module: ElmoBiLm, state: dict[str, Any], prefix: str, *_: object) -> None:
    from_allennlp(entries(module._config), state, ours=f"{prefix}bilm.", theirs=prefix)


def _name_missing(module: ElmoBiLm, keys: Any) -> None:
    """Report weights that were not there by the names that they should have had."""
    names = {
        f"bilm.{own}": entry.name for entry in entries(module._config) for own in entry.tensors
    }
    missing = {}
    for key in keys.missing_keys:
        place = key.find("bilm.")
        known = names.get(key[place:]) if place >= 0 else None
        missing[key if known is None else key[:place] + known] = True
    keys.missing_keys[:] = list(missing)
