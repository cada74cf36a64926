"""ELMoForManyLangs, on a model in its own format."""

import logging
from typing import Any

from embed.protocol import Sentences, Settings, Vectors, serve_contender, versions_of
from embed.torch_device import peak_bytes, set_threads, wait


class ManyLangsContender:
    """An `Embedder`; it sorts by length and cuts batches itself."""

    def __init__(self, settings: Settings) -> None:
        from elmoformanylangs import Embedder  # type: ignore[import-not-found]

        logging.disable(logging.INFO)
        set_threads(settings)
        self._device = settings.device
        self._embedder = Embedder(settings.model)
        if self._embedder.use_cuda != settings.device.startswith("cuda"):
            raise ValueError(f"it chooses its device itself, and not {settings.device!r}")

    def embed(self, sentences: Sentences, batch: int | None) -> None:
        """Embed in one call."""
        self._layers(sentences, batch)
        wait(self._device)

    def vectors(self, sentences: Sentences) -> list[Vectors]:
        """Give all layers."""
        return self._layers(sentences, None)

    def device_bytes(self) -> int | None:
        """Give the peak of the GPU's memory."""
        return peak_bytes(self._device)

    def facts(self) -> dict[str, Any]:
        """Name the versions."""
        return {"versions": versions_of("elmoformanylangs", "torch")}

    def _layers(self, sentences: Sentences, batch: int | None) -> list[Vectors]:
        import torch

        self._embedder.batch_size = batch or len(sentences)
        with torch.no_grad():  # which it leaves out
            vectors: list[Vectors] = self._embedder.sents2elmo(sentences, output_layer=-2)
        return vectors


def _imports() -> None:
    import elmoformanylangs  # noqa: F401


if __name__ == "__main__":
    serve_contender(_imports, ManyLangsContender)
