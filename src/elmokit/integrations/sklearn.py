"""scikit-learn: `ElmoVectorizer` turns each sentence into one row of numbers.

n sentences, D size of a representation
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from elmokit.embed.batching import check_batch_tokens
from elmokit.embed.layer_choice import LayerChoice, Layers
from elmokit.embed.sentences import Sentence, check_sentences
from elmokit.embed.start_state import Start
from elmokit.errors import InputError, MissingExtraError
from elmokit.integrations.loaded_models import LoadedModel, ModelName, loaded_model

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.utils.validation import check_is_fitted
except ImportError as error:
    raise MissingExtraError("scikit-learn", "sklearn", "ElmoVectorizer") from error

POOLINGS = ("mean", "max")


# scikit-learn has no types.
class ElmoVectorizer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Gives the pooled contextual vectors of sentences, as `Elmo.encode` does.

    ``model`` is a name or a folder, never a loaded model: a pickled pipeline holds that name and
    a digest of the weights, and loads the model where it is used. Elsewhere the folder may have
    another place (``set_params(model=...)``); other weights than those of ``fit`` are an error.
    A process loads a model once, whatever the number of clones.

    ``layers``, ``device``, ``dtype``, ``start`` and ``batch_tokens`` are those of `elmokit.load`
    and `Elmo.embed`; ``pooling`` is ``"mean"`` or ``"max"`` over the tokens of a sentence.
    """

    def __init__(
        self,
        model: ModelName = None,
        *,
        layers: Layers = "average",
        pooling: str = "mean",
        start: Start = "warm",
        device: str = "auto",
        dtype: str = "float32",
        batch_tokens: int | None = None,
    ) -> None:
        self.model = model
        self.layers = layers
        self.pooling = pooling
        self.start = start
        self.device = device
        self.dtype = dtype
        self.batch_tokens = batch_tokens

    def fit(self, X: Iterable[Sentence], y: object = None) -> "ElmoVectorizer":  # noqa: N803
        """Load the model and check the settings; nothing is learnt from the sentences."""
        del y
        _check_input(X)
        loaded = self._loaded(expected=None)
        self.model_identity_ = loaded.identity
        self.dim_ = loaded.elmo.dim
        return self

    def transform(self, X: Iterable[Sentence]) -> npt.NDArray[np.float32]:  # noqa: N803
        """Give (n, D): a row for each string or list of tokens; without tokens it is zeros."""
        check_is_fitted(self)
        _check_input(X)
        sentences = list(X)
        loaded = self._loaded(expected=self.model_identity_)
        rows = np.zeros((len(sentences), self.dim_), dtype=np.float32)
        with loaded.computing() as elmo:
            embedded = elmo.embed_iter(
                sentences, layers=self.layers, batch_tokens=self.batch_tokens
            )
            for row, vectors in zip(rows, embedded, strict=True):
                if len(vectors):
                    row[:] = vectors.mean(axis=0) if self.pooling == "mean" else vectors.max(axis=0)
        return rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.transformer_tags.preserves_dtype = []
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.dim_

    def _loaded(self, *, expected: str | None) -> LoadedModel:
        """Check the settings, which scikit-learn wants done here, and give the model."""
        if self.pooling not in POOLINGS:
            raise InputError(f"pooling: expected 'mean' or 'max', found {self.pooling!r}")
        if isinstance(self.layers, str) and self.layers == "all":
            raise InputError("layers: expected one vector per token to pool, found 'all'")
        if self.start not in ("warm", "zeros"):
            raise InputError(
                "start: expected 'warm' or 'zeros', with which a row depends on its sentence "
                f"alone, found {self.start!r}"
            )
        check_batch_tokens(self.batch_tokens)
        loaded = loaded_model(
            self.model, device=self.device, dtype=self.dtype, start=self.start, expected=expected
        )
        LayerChoice(self.layers, count=loaded.elmo.layer_count, dim=loaded.elmo.dim)
        return loaded


def _check_input(sentences: Any) -> None:
    """Refuse what is no list of sentences; tables would be read by the names of their columns."""
    check_sentences(sentences)
    shape = getattr(sentences, "shape", (0,))
    if len(shape) != 1:
        raise InputError(
            f"X: expected one column of sentences, found an array or table of shape {shape}; "
            'pick the column with the text, as in table["text"]'
        )
