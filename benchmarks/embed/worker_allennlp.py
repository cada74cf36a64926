"""AllenNLP 0.9: `_ElmoBiLm`, which all of its ELMo classes run, with or without a token cache."""

import time
from pathlib import Path
from typing import Any

import numpy as np

from embed.protocol import Sentences, Settings, Vectors, chunks, serve_contender, versions_of
from embed.torch_device import peak_bytes, set_threads, wait

# Word 0 is padding: AllenNLP masks it.
PADDING = "@@PADDING@@"


class AllenNLPContender:
    """The module on character ids, or on word ids where the words of the text are cached."""

    def __init__(self, settings: Settings) -> None:
        import torch
        from allennlp.modules.elmo import _ElmoBiLm  # type: ignore[import-not-found]

        set_threads(settings)
        folder = Path(str(settings.model))
        self._device = settings.device
        self._bilm = _ElmoBiLm(str(folder / "options.json"), str(folder / "weights.hdf5"))
        self._bilm = self._bilm.to(settings.device).eval()
        self._words: dict[str, int] = {}
        self._cache_seconds: float | None = None
        if settings.options.get("cache"):
            words = [PADDING, *sorted({word for s in settings.sentences() for word in s})]
            self._words = {word: index for index, word in enumerate(words)}
            started = time.perf_counter()
            with torch.no_grad():
                self._bilm.create_cached_cnn_embeddings(words)
            wait(self._device)
            self._cache_seconds = time.perf_counter() - started

    def embed(self, sentences: Sentences, batch: int | None) -> None:
        """Run batch after batch; the layers stay on the device."""
        for chunk in chunks(sentences, batch or len(sentences)):
            self._layers(chunk)
        wait(self._device)

    def vectors(self, sentences: Sentences) -> list[Vectors]:
        """Give all layers, without the sentence marks."""
        layers = np.stack([layer.cpu().numpy() for layer in self._layers(sentences)], axis=1)
        return [layers[row, :, 1 : len(s) + 1] for row, s in enumerate(sentences)]

    def device_bytes(self) -> int | None:
        """Give the peak of the GPU's memory."""
        return peak_bytes(self._device)

    def facts(self) -> dict[str, Any]:
        """Name the versions and what the cache cost."""
        found = {"versions": versions_of("allennlp", "torch")}
        if self._cache_seconds is None:
            return found
        return found | {"cache_seconds": self._cache_seconds, "cache_words": len(self._words)}

    def _layers(self, sentences: Sentences) -> list[Any]:
        import torch
        from allennlp.modules.elmo import batch_to_ids

        with torch.no_grad():
            if not self._words:
                output = self._bilm(batch_to_ids(sentences).to(self._device))
            else:
                longest = max(map(len, sentences))
                numbers = np.zeros((len(sentences), longest), dtype=np.int64)
                for row, sentence in enumerate(sentences):
                    numbers[row, : len(sentence)] = [self._words[word] for word in sentence]
                # Characters are read only where a word is not in the cache, and all are.
                output = self._bilm(None, torch.from_numpy(numbers).to(self._device))
        layers: list[Any] = output["activations"]
        return layers


def _imports() -> None:
    from allennlp.modules import elmo  # type: ignore[import-not-found]  # noqa: F401


if __name__ == "__main__":
    serve_contender(_imports, AllenNLPContender)
