"""MiniLM-L6 through sentence-transformers, with its trained weights: one vector per sentence."""

from typing import Any

from embed.protocol import Sentences, Settings, Vectors, serve_contender, versions_of
from embed.torch_device import peak_bytes, set_threads, wait
from embed.worker_bert import PIECES_PACKAGE, model_folder


class MiniLMContender:
    """A `SentenceTransformer`; it sorts by length and cuts batches itself."""

    def __init__(self, settings: Settings) -> None:
        from sentence_transformers import (  # type: ignore[import-not-found]
            SentenceTransformer,
        )

        set_threads(settings)
        self._device = settings.device
        self._model = SentenceTransformer(str(model_folder(PIECES_PACKAGE)), device=settings.device)

    def embed(self, sentences: Sentences, batch: int | None) -> None:
        """Embed in one call."""
        texts = [" ".join(sentence) for sentence in sentences]
        self._model.encode(texts, batch_size=batch or 32, show_progress_bar=False)
        wait(self._device)

    def vectors(self, sentences: Sentences) -> list[Vectors]:
        """Refuse: there is nothing that they could agree with."""
        raise NotImplementedError

    def device_bytes(self) -> int | None:
        """Give the peak of the GPU's memory."""
        return peak_bytes(self._device)

    def facts(self) -> dict[str, Any]:
        """Name the versions."""
        return {"versions": versions_of("sentence-transformers", "transformers", "torch")}


def _imports() -> None:
    import sentence_transformers  # noqa: F401


if __name__ == "__main__":
    serve_contender(_imports, MiniLMContender)
