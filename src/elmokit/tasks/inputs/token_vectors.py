"""Input vectors of tokens: static vectors, characters and ELMo, in any combination.

B texts, T tokens of the longest one, U distinct forms, L layers, D size of a layer's vector
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from elmokit.errors import InputError
from elmokit.nn.char_cnn import CharacterCNN
from elmokit.nn.scalar_mix import ScalarMix
from elmokit.tasks.inputs.lexicon import ALPHABET_SIZE, UNKNOWN, Forms
from elmokit.tasks.inputs.text_batch import TextBatch
from elmokit.tasks.settings import InputSettings
from elmokit.tasks.task import TextVectors

LayerSource = Callable[[TextBatch], Tensor]
"""Gives the biLM's layers of a batch: (B, T, L, D), of any type."""


class TokenVectors(nn.Module):
    """Puts vectors together as settings say; what it needs to know of words comes with a batch."""

    def __init__(
        self,
        settings: InputSettings,
        *,
        static: Tensor | None,
        learnt_words: int,
        elmo_layers: int = 0,
        elmo_dim: int = 0,
    ) -> None:
        """``static`` (V, D) are vectors 1 to V, ``learnt_words`` more follow; 0 is for the rest."""
        super().__init__()
        self.settings = settings
        size = settings.vector_dim if static is None else static.shape[1]
        self.static = _Static(settings, static, learnt_words, size) if settings.vectors else None
        self.characters = (
            CharacterCNN(
                alphabet_size=ALPHABET_SIZE,
                embedding_dim=settings.character_dim,
                filters=settings.character_filters,
            )
            if settings.character_filters
            else None
        )
        if self.characters is not None:
            _initialise(self.characters)
        self.dropout = nn.Dropout(settings.dropout)
        self.elmo_dropout = nn.Dropout(settings.elmo_dropout)
        self.input_mix = self.output_mix = None
        if elmo_layers:
            self._chosen = _chosen(settings, elmo_layers)
            if settings.elmo_at in ("input", "both"):
                self.input_mix = self._mix()
            if settings.elmo_at in ("output", "both"):
                self.output_mix = self._mix()
        self.input_dim = (
            (size if self.static is not None else 0)
            + (0 if self.characters is None else self.characters.output_dim)
            + (0 if self.input_mix is None else elmo_dim)
        )
        self.output_dim = 0 if self.output_mix is None else elmo_dim
        if not self.input_dim:
            raise InputError(
                "inputs: a token needs static vectors, characters or ELMo at the input; found none"
            )

    def forward(self, batch: TextBatch, forms: Forms, layers: LayerSource | None) -> TextVectors:
        """Give the vectors of a batch; ``layers`` is where the biLM's layers come from."""
        mask = batch.forms >= 0  # (B, T)
        present = mask[:, :, None]
        numbers = batch.forms.clamp(min=0)
        parts = []
        if self.static is not None:
            parts.append(self.static(forms.vectors[numbers]))
        if self.characters is not None:
            parts.append(self._spelled(numbers, forms))
        if parts:
            parts = [self.dropout(torch.cat(parts, dim=2))]
        at_output = None
        if self.input_mix is not None or self.output_mix is not None:
            assert layers is not None
            found = layers(batch).float()
            chosen = [found[:, :, layer] * present for layer in self._chosen]
            if self.input_mix is not None:
                parts.append(self.elmo_dropout(self.input_mix(chosen, mask)))
            if self.output_mix is not None:
                at_output = self.elmo_dropout(self.output_mix(chosen, mask)) * present
        lowered = torch.where(mask, forms.lowered[numbers], -1)
        return TextVectors(torch.cat(parts, dim=2) * present, at_output, mask, lowered)

    def _spelled(self, numbers: Tensor, forms: Forms) -> Tensor:
        """Map (B, T) to what the characters say: (B, T, F)."""
        assert self.characters is not None
        if numbers.device.type == "cpu":
            distinct, places = torch.unique(numbers, return_inverse=True)
            found: Tensor = self.characters(forms.spellings[distinct])
            return found[places]
        # A GPU would have to wait for the number of distinct forms.
        return self.characters(forms.spellings[numbers.flatten()]).unflatten(0, numbers.shape)  # type: ignore[no-any-return]

    def penalty(self) -> Tensor:
        """Give the L2 penalty on the mix weights, to be added to the loss."""
        return torch.stack([mix.penalty() for mix in self._mixes().values()]).sum()

    def mix_weights(self) -> dict[str, list[float]]:
        """Give the normalised weights of the mixes by their place, and their scale last."""
        return {
            place: [*mix.normalised_weights().tolist(), float(mix.gamma.detach())]
            for place, mix in self._mixes().items()
        }

    @property
    def has_elmo(self) -> bool:
        """Whether any mix of a biLM's layers is there."""
        return bool(self._mixes())

    def _mixes(self) -> dict[str, ScalarMix]:
        mixes = {"input": self.input_mix, "output": self.output_mix}
        return {place: mix for place, mix in mixes.items() if mix is not None}

    def _mix(self) -> ScalarMix:
        settings = self.settings
        return ScalarMix(
            layers=len(self._chosen),
            form=settings.elmo_form,
            layer_norm=settings.elmo_layer_norm,
            weights=settings.elmo_weights,
            trainable=settings.elmo_weights is None,
            l2=settings.elmo_l2,
        )


class _Static(nn.Module):
    """Vectors of words: those of a file and learnt ones."""

    def __init__(
        self, settings: InputSettings, static: Tensor | None, learnt_words: int, size: int
    ) -> None:
        super().__init__()
        given = torch.zeros(0, size, dtype=torch.float16) if static is None else static
        # Learnt vectors begin as large as the given ones are.
        scale = float(given.float().std()) if len(given) else size**-0.5
        self.word_dropout = settings.word_dropout
        self.learnt = nn.Parameter(torch.randn(1 + learnt_words, size) * scale)
        """Vector 0, for unknown words, and those of the words that follow the given ones."""
        if settings.train_vectors:
            self.given = nn.Parameter(given.float())
        else:
            self.register_buffer("given", given)

    def forward(self, numbers: Tensor) -> Tensor:
        """Map (B, T) to (B, T, D)."""
        if self.training and self.word_dropout:
            dropped = torch.rand(numbers.shape, device=numbers.device) < self.word_dropout
            numbers = torch.where(dropped, UNKNOWN, numbers)
        count = len(self.given)
        is_given = (numbers >= 1) & (numbers <= count)
        own = torch.where(numbers > count, numbers - count, 0)
        learnt = F.embedding(torch.where(is_given, 0, own), self.learnt)
        if not count:
            return learnt
        found = F.embedding(torch.where(is_given, numbers - 1, 0), self.given).to(learnt.dtype)
        return torch.where(is_given[:, :, None], found, learnt)


def _chosen(settings: InputSettings, layers: int) -> tuple[int, ...]:
    """Give the layers that are mixed."""
    chosen = settings.elmo_layers or tuple(range(layers))
    for layer in chosen:
        if not -layers <= layer < layers:
            raise InputError(f"elmo_layers: this model has layers 0 to {layers - 1}, found {layer}")
    chosen = tuple(layer % layers for layer in chosen)
    if settings.elmo_form == "directions" and chosen[0] != 0:
        raise InputError(
            "elmo_layers: elmo_form 'directions' needs layer 0 first, as all layers do"
        )
    return chosen


def _initialise(characters: CharacterCNN) -> None:
    """Begin larger than bilm-tf's filters do, which have highways and a projection behind them."""
    for convolution in characters.convolutions:
        assert isinstance(convolution, nn.Conv1d)
        nn.init.xavier_uniform_(convolution.weight)
