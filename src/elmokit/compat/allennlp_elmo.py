"""AllenNLP's ``Elmo``: mixes of a biLM's layers as a module.

B sentences, T tokens, D size of a representation
"""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict, cast

from torch import Tensor, nn

from elmokit.compat.allennlp_bilm import ElmoBiLm
from elmokit.compat.allennlp_mix import ScalarMix
from elmokit.embed.start_state import Start
from elmokit.errors import InputError


class ElmoOutput(TypedDict):
    """What AllenNLP's module gives."""

    elmo_representations: list[Tensor]
    """One (B, T, D) per mix, after dropout; zero at padding."""
    mask: Tensor
    """(B, T) of whole numbers, 1 where there is a token."""


class Elmo(nn.Module):
    """Mixes of a biLM's layers, with AllenNLP's arguments, answers and names of weights.

    ``module`` takes the place of the two files: it has ``num_layers`` and gives a dictionary of
    ``activations`` and ``mask``, marks included. What is not AllenNLP's is ``start``: see
    `ElmoBiLm`.
    """

    def __init__(
        self,
        options_file: str | Path | None,
        weight_file: str | Path | None,
        num_output_representations: int,
        requires_grad: bool = False,
        do_layer_norm: bool = False,
        dropout: float = 0.5,
        vocab_to_cache: Sequence[str] | None = None,
        keep_sentence_boundaries: bool = False,
        scalar_mix_parameters: Sequence[float] | None = None,
        module: nn.Module | None = None,
        *,
        start: Start = "zeros",
    ) -> None:
        super().__init__()
        if not isinstance(num_output_representations, int) or num_output_representations < 0:
            raise InputError(
                "num_output_representations: expected a whole number, found "
                f"{num_output_representations!r}"
            )
        if module is None:
            self._elmo_lstm: nn.Module = ElmoBiLm(
                options_file,
                weight_file,
                requires_grad=requires_grad,
                vocab_to_cache=vocab_to_cache,
                start=start,
            )
        elif options_file is not None or weight_file is not None:
            raise InputError(
                "module: given with options_file or weight_file, which it takes the place of; "
                "pass None for both"
            )
        else:
            self._elmo_lstm = module
        self._has_cached_vocab = vocab_to_cache is not None
        self._keep_sentence_boundaries = keep_sentence_boundaries
        self._dropout = nn.Dropout(dropout)
        self._count = num_output_representations
        for number in range(num_output_representations):
            mix = ScalarMix(
                cast(int, self._elmo_lstm.num_layers),
                do_layer_norm=do_layer_norm,
                initial_scalar_parameters=scalar_mix_parameters,
                trainable=scalar_mix_parameters is None,
            )
            self.add_module(f"scalar_mix_{number}", mix)

    def get_output_dim(self) -> int:
        """Give the size of a representation."""
        return cast(ElmoBiLm, self._elmo_lstm).get_output_dim()

    def reset_states(self) -> None:
        """Forget what ``start="carry"`` has carried."""
        cast(ElmoBiLm, self._elmo_lstm).reset_states()

    def forward(self, inputs: Tensor | None, word_inputs: Tensor | None = None) -> ElmoOutput:
        """Mix character ids (B, T, 50), or (B, ..., T, 50), whose further dimensions come back.

        ``word_inputs`` (B, T) are ids of ``vocab_to_cache`` and save the character convolutions.
        """
        leading = None if inputs is None else inputs.shape[:-2]
        if word_inputs is not None:
            if self._has_cached_vocab:
                leading = word_inputs.shape[:-1]
                word_inputs = word_inputs.reshape(-1, word_inputs.shape[-1])
            else:
                warnings.warn(
                    "word_inputs: without vocab_to_cache there are no words to look up; the "
                    "character ids are used",
                    stacklevel=2,
                )
                word_inputs = None
        if inputs is not None and inputs.ndim > 3:
            inputs = inputs.reshape(-1, *inputs.shape[-2:])
        output = self._elmo_lstm(inputs, word_inputs)
        activations, mask = output["activations"], output["mask"]
        representations = []
        for number in range(self._count):
            mixed = getattr(self, f"scalar_mix_{number}")(activations, mask)
            if not self._keep_sentence_boundaries:
                mixed = _without_marks(mixed, mask)
            representations.append(self._dropout(mixed))
        if not self._keep_sentence_boundaries:
            mask = _inner(mask)
        if leading is not None and len(leading) > 1:
            mask = mask.reshape(*leading, -1)
            representations = [
                one.reshape(*leading, mask.shape[-1], one.shape[-1]) for one in representations
            ]
        return {"elmo_representations": representations, "mask": mask}


def _inner(mask: Tensor) -> Tensor:
    """From the mask with marks (B, T + 2) to the tokens' (B, T)."""
    # A sentence with marks is two longer than without, so its mask shifted by two is the other.
    return mask[:, 2:]


def _without_marks(mixed: Tensor, mask: Tensor) -> Tensor:
    """From (B, T + 2, D) to (B, T, D), zero where there is no token."""
    return mixed[:, 1:-1] * _inner(mask).unsqueeze(-1)
