"""Flair: frozen `TokenEmbeddings`, alone or stacked with others.

n tokens of a sentence, D size of a representation
"""

from typing import TYPE_CHECKING, Any

import torch

from elmokit.embed.layer_choice import LayerChoice, Layers
from elmokit.errors import InputError, MissingExtraError
from elmokit.integrations.loaded_models import LoadedModel, loaded_model

if TYPE_CHECKING:
    from flair.data import Sentence

try:
    import flair
    from flair.embeddings.base import TokenEmbeddings, register_embeddings
except ImportError as error:
    raise MissingExtraError("flair", "flair", "ElmoEmbeddings") from error


@register_embeddings("elmokit.ElmoEmbeddings")
class ElmoEmbeddings(TokenEmbeddings):  # type: ignore[misc]
    """Gives each token its contextual vector (D,), computed on Flair's device.

    A saved tagger refers to the model by ``model``, a name or a folder, and by ``identity``, a
    digest of its weights that is filled in by itself: a model with other weights is an error.
    Import this module before a tagger is loaded.
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        layers: Layers = "average",
        dtype: str = "float32",
        identity: str | None = None,
    ) -> None:
        self.name = f"elmo-{model or 'bundled'}-{layers}"
        self.static_embeddings = True  # Flair then keeps them from epoch to epoch
        super().__init__()
        self.model, self.layers, self.dtype, self.identity = model, layers, dtype, identity
        elmo = self._loaded().elmo
        if len(LayerChoice(layers, count=elmo.layer_count, dim=elmo.dim).shape(0)) != 2:
            raise InputError(f"layers: expected a choice of one vector per token, found {layers!r}")
        self._length = elmo.dim

    @property
    def embedding_length(self) -> int:
        """Size D of a vector."""
        return self._length

    def _add_embeddings_internal(self, sentences: "list[Sentence]") -> None:
        words = [[token.text for token in sentence] for sentence in sentences]
        with self._loaded().computing() as elmo:
            embedded = elmo.embed(words, layers=self.layers)
        for sentence, vectors in zip(sentences, embedded, strict=True):
            rows = torch.from_numpy(vectors).to(flair.device)  # (n, D)
            for token, row in zip(sentence, rows, strict=True):
                token.set_embedding(self.name, row)

    def to_params(self) -> dict[str, Any]:
        """Give what a saved tagger needs to make these embeddings again."""
        layers = self.layers if isinstance(self.layers, str | int) else list(self.layers)
        return {
            "model": self.model,
            "layers": layers,
            "dtype": self.dtype,
            "identity": self.identity,
        }

    @classmethod
    def from_params(cls, params: dict[str, Any]) -> "ElmoEmbeddings":
        """Make embeddings from what `to_params` gave."""
        return cls(**params)

    def _loaded(self) -> LoadedModel:
        found = loaded_model(
            self.model, device=str(flair.device), dtype=self.dtype, expected=self.identity
        )
        self.identity = found.identity
        return found
