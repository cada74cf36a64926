"""The biLM's layers of all texts of a data set, computed once and kept in float16.

N tokens of all texts, L layers, D size of a vector, B texts of a batch, T tokens of the longest
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from elmokit.embed.elmo import Elmo
from elmokit.embed.elmo_identity import elmo_identity
from elmokit.errors import InputError
from elmokit.files import replacing_file
from elmokit.tasks.inputs.turns import taking_turns

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

    def add(self, texts: Iterable[Sequence[str]]) -> None:
        """Compute the layers of texts that are not known yet."""
        new = [text for text in dict.fromkeys(map(tuple, texts)) if text not in self._places]
        if not new:
            return
        found = self._found(new)  # (n, L, D)
        begin = len(self._layers)
        for text in new:
            self._places[text] = begin
            begin += len(text)
        self._layers = self._joined(found)

    def place(self, text: Sequence[str]) -> int:
        """Say where the first token of a text is."""
        return self._places[tuple(text)]

    def rows(self, places: Tensor) -> Tensor:
        """Give the layers of tokens (B, T) by their place: (B, T, L, D) where the places are."""
        if self._layers.device == places.device:
            return self._layers[places]
        return self._layers[places.cpu()].to(places.device)

    def _joined(self, found: Tensor) -> Tensor:
        """Put layers behind those that are kept, on the GPU if there is room for all."""
        count = len(self._layers) + len(found)
        device = self._place(count * found[:1].numel() * found.element_size())
        if device.type == "cpu" and not len(self._layers):
            return found  # a file stays a file
        joined = torch.empty(count, *found.shape[1:], dtype=found.dtype, device=device)
        joined[: len(self._layers)] = self._layers
        joined[len(self._layers) :] = found
        return joined

    def _place(self, size: int) -> torch.device:
        """Say where so many bytes are kept."""
        if self.device.type == "cuda":
            free, _ = torch.cuda.mem_get_info(self.device)
            if size < SHARE_OF_FREE_MEMORY * free:
                return self.device
        return torch.device("cpu")

    def _found(self, texts: list[tuple[str, ...]]) -> Tensor:
        shape = (sum(map(len, texts)), self.elmo.layer_count, self.elmo.dim)
        if self.folder is None:
            layers = np.empty(shape, dtype=np.float16)
            begin = 0
            for of_text in self._computed(texts):
                layers[begin : begin + len(of_text)] = of_text
                begin += len(of_text)
            return torch.from_numpy(layers)
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / f"layers-{self._identity(texts)}.npy"
        if not file.exists():
            with taking_turns(file):
                if not file.exists():
                    self._write(file, texts, shape)
        try:
            # Copy on write: torch wants memory that it could write to.
            layers = np.load(file, mmap_mode="c", allow_pickle=False)
        except (OSError, EOFError, ValueError) as error:
            raise InputError(f"{file}: cannot be read ({error}); delete this file") from error
        if layers.shape != shape or layers.dtype != np.float16:
            raise InputError(
                f"{file}: expected float16 of shape {shape}, found {layers.dtype} of shape "
                f"{layers.shape}; delete this file"
            )
        return torch.from_numpy(layers)

    def _write(self, file: Path, texts: list[tuple[str, ...]], shape: tuple[int, ...]) -> None:
        """Write a file text by text, so that memory need not hold all of it."""
        header = {"descr": "<f2", "fortran_order": False, "shape": shape}
        with replacing_file(file) as beside, beside.open("wb") as stream:
            np.lib.format.write_array_header_1_0(stream, header)
            for of_text in self._computed(texts):
                stream.write(of_text.astype("<f2").tobytes())

    def _computed(self, texts: list[tuple[str, ...]]) -> Iterator[npt.NDArray[np.float32]]:
        """Give the layers of each text, (n, L, D), within the bounds of float16."""
        for vectors in self.elmo.embed_iter(texts, layers="all"):
            np.clip(vectors, -LARGEST_HALF, LARGEST_HALF, out=vectors)
            yield vectors.transpose(1, 0, 2)

    def _identity(self, texts: list[tuple[str, ...]]) -> str:
        """Name layers by the model, its precision and start, and the texts."""
        digest = hashlib.sha256(elmo_identity(self.elmo).encode())
        digest.update(f"{self.elmo.dtype} {self.elmo.start} {self.elmo.device.type}".encode())
        for text in texts:
            digest.update(json.dumps(text).encode())
        return digest.hexdigest()[:24]
