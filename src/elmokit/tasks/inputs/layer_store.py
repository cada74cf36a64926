"""The biLM's layers of all texts of a data set, computed once and kept in float16.

N tokens of all texts, L layers, D size of a vector, B texts of a batch, T tokens of the longest
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from elmokit.embed.elmo import Elmo
from elmokit.errors import InputError
from elmokit.files import replacing_file
from elmokit.tasks.inputs.elmo_identity import elmo_identity

# Of a GPU's free memory, the share that may be taken up by layers.
SHARE_OF_FREE_MEMORY = 0.6
LARGEST_HALF = float(np.finfo(np.float16).max)


class LayerStore:
    """Layers by text; texts that are equal are computed once."""

    def __init__(self, elmo: Elmo, *, device: torch.device, folder: Path | None = None) -> None:
        """With ``folder`` layers are kept there in files, for other runs on the same texts."""
        self.elmo = elmo
        self.device = device
        self.folder = folder
        self._places: dict[tuple[str, ...], int] = {}
        self._layers = torch.empty(0, elmo.layer_count, elmo.dim, dtype=torch.float16)

    @property
    def tokens(self) -> int:
        """Number of tokens whose layers are kept."""
        return len(self._layers)

    @property
    def is_on_gpu(self) -> bool:
        """Whether layers are looked up without the CPU."""
        return self._layers.device.type == "cuda"

    def add(self, texts: Iterable[Sequence[str]], *, progress: bool = False) -> None:
        """Compute the layers of texts that are not known yet."""
        new = [text for text in dict.fromkeys(map(tuple, texts)) if text not in self._places]
        if not new:
            return
        found = self._found(new, progress=progress)  # (n, L, D)
        begin = len(self._layers)
        for text in new:
            self._places[text] = begin
            begin += len(text)
        joined = torch.cat([self._layers.cpu(), found]) if len(self._layers) else found
        self._layers = self._placed(joined)

    def place(self, text: Sequence[str]) -> int:
        """Say where the first token of a text is."""
        return self._places[tuple(text)]

    def rows(self, places: Tensor) -> Tensor:
        """Give the layers of tokens (B, T) by their place: (B, T, L, D) where the places are."""
        if self._layers.device == places.device:
            return self._layers[places]
        return self._layers[places.cpu()].to(places.device)

    def _placed(self, layers: Tensor) -> Tensor:
        """Bring layers to the GPU if there is room for them."""
        if self.device.type == "cuda":
            free, _ = torch.cuda.mem_get_info(self.device)
            if layers.numel() * layers.element_size() < SHARE_OF_FREE_MEMORY * free:
                return layers.to(self.device)
        return layers

    def _found(self, texts: list[tuple[str, ...]], *, progress: bool) -> Tensor:
        if self.folder is None:
            return torch.from_numpy(self._computed(texts, progress=progress))
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / f"layers-{self._identity(texts)}.npy"
        if not file.exists():
            with replacing_file(file) as beside, beside.open("wb") as stream:
                np.save(stream, self._computed(texts, progress=progress))
        try:
            # Copy on write: torch wants memory that it could write to.
            layers = np.load(file, mmap_mode="c", allow_pickle=False)
        except (OSError, EOFError, ValueError) as error:
            raise InputError(f"{file}: cannot be read ({error}); delete this file") from error
        expected = (sum(map(len, texts)), self.elmo.layer_count, self.elmo.dim)
        if layers.shape != expected or layers.dtype != np.float16:
            raise InputError(
                f"{file}: expected float16 of shape {expected}, found {layers.dtype} of shape "
                f"{layers.shape}; delete this file"
            )
        return torch.from_numpy(layers)

    def _computed(
        self, texts: list[tuple[str, ...]], *, progress: bool
    ) -> "np.ndarray[tuple[int, ...], np.dtype[np.float16]]":
        layers = np.empty(
            (sum(map(len, texts)), self.elmo.layer_count, self.elmo.dim), dtype=np.float16
        )
        begin = 0
        for text, vectors in zip(
            texts, self.elmo.embed(texts, layers="all", progress=progress), strict=True
        ):
            end = begin + len(text)
            np.clip(vectors, -LARGEST_HALF, LARGEST_HALF, out=vectors)
            layers[begin:end] = vectors.transpose(1, 0, 2)
            begin = end
        return layers

    def _identity(self, texts: list[tuple[str, ...]]) -> str:
        """Name layers by the model, its precision and start, and the texts."""
        digest = hashlib.sha256(elmo_identity(self.elmo).encode())
        digest.update(f"{self.elmo.dtype} {self.elmo.start} {self.elmo.device.type}".encode())
        for text in texts:
            digest.update(json.dumps(text).encode())
        return digest.hexdigest()[:24]
