"""elmokit, in the precision and from the start state that the options name."""

import gc
from typing import TYPE_CHECKING, Any

from embed.protocol import Sentences, Settings, Vectors, chunks, serve_contender, versions_of
from embed.torch_device import device_name, peak_bytes, set_threads, wait

if TYPE_CHECKING:
    from elmokit import Elmo

# Words that no text has, so that a warm-up with them leaves every word of the text unknown.
MADE_UP = "qzx"
WARM_UP_SENTENCES = 64


class ElmokitContender:
    """An `elmokit.Elmo`, by its public calls alone."""

    def __init__(self, settings: Settings) -> None:
        set_threads(settings)
        self._settings = settings
        self._elmo: Elmo | None = _load(settings)

    @property
    def elmo(self) -> "Elmo":
        """The loaded model."""
        assert self._elmo is not None
        return self._elmo

    def embed(self, sentences: Sentences, batch: int | None) -> None:
        """Embed in one call, or with ``batch`` sentences in each."""
        for chunk in chunks(sentences, batch or len(sentences)):
            self.elmo.embed(chunk, layers="all")
        wait(self._settings.device)

    def vectors(self, sentences: Sentences) -> list[Vectors]:
        """Give all layers."""
        return list(self.elmo.embed(sentences, layers="all"))

    def forget_words(self) -> None:
        """Load the model afresh and warm it up on words that are not in the text."""
        self._elmo = None
        gc.collect()
        self._elmo = _load(self._settings)
        text = self._settings.sentences()
        if self._settings.device == "cpu":  # a GPU has many shapes to get ready and is fast
            text = text[:WARM_UP_SENTENCES]
        self.elmo.embed([[MADE_UP + word for word in sentence] for sentence in text], layers="all")

    def device_bytes(self) -> int | None:
        """Give the peak of the GPU's memory."""
        return peak_bytes(self._settings.device)

    def facts(self) -> dict[str, Any]:
        """Name the sizes, from which the parent counts operations."""
        import elmokit

        config = self.elmo.config
        return {
            "model": repr(self.elmo),
            "device": device_name(self._settings.device),
            "layers": config.layers,
            "cell": config.lstm_dim,
            "projection": config.projection_dim,
            "versions": {"elmokit": elmokit.__version__} | versions_of("torch"),
        }


def _load(settings: Settings) -> "Elmo":
    import elmokit

    return elmokit.load(settings.model, device=settings.device, **settings.options)


def _imports() -> None:
    import elmokit

    _ = elmokit.load  # the package imports its parts when they are first named


if __name__ == "__main__":
    serve_contender(_imports, ElmokitContender)
