"""AllenNLP's ``ElmoEmbedder``: token lists in, arrays out.

B sentences, T tokens of the longest, n tokens of a sentence, L LSTM layers, D size of a vector
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any

import h5py
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from elmokit.compat.allennlp_files import model_of
from elmokit.compat.allennlp_state import RowStates
from elmokit.embed.layer_choice import Vectors
from elmokit.embed.sentences import check_sentences, token_lists
from elmokit.embed.start_state import Start
from elmokit.errors import InputError
from elmokit.files import replacing_file

DEFAULT_BATCH_SIZE = 64
OUTPUT_FORMATS = ("all", "top", "average")
Batch = Sequence[Sequence[str]]


class ElmoEmbedder:
    """Arrays (L+1, n, D) for token lists, with AllenNLP's arguments and answers.

    What is not AllenNLP's is ``start``: ``"zeros"`` or ``"warm"`` begins every sentence anew, so
    that it always has the same vectors; ``"carry"`` carries state from call to call as AllenNLP.
    """

    def __init__(
        self,
        options_file: str | Path | None = None,
        weight_file: str | Path | None = None,
        cuda_device: int = -1,
        *,
        start: Start = "zeros",
    ) -> None:
        if not isinstance(cuda_device, int):
            raise InputError(
                "cuda_device: expected the number of a GPU, or -1 for the CPU, found "
                f"{cuda_device!r}"
            )
        self.cuda_device = cuda_device
        device = "cpu" if cuda_device < 0 else f"cuda:{cuda_device}"
        self.elmo = model_of(options_file, weight_file, device=device, start=start)
        self.states = RowStates()
        """What ``start="carry"`` carries on."""

    def reset_states(self) -> None:
        """Forget what ``start="carry"`` has carried."""
        self.states.reset()

    def batch_to_embeddings(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Give the layers (B, L+1, T, D), zero at padding, and the mask (B, T)."""
        embedded = self.embed_batch(batch)
        longest = max((vectors.shape[1] for vectors in embedded), default=0)
        shape = (len(embedded), self.elmo.layer_count, longest, self.elmo.dim)
        layers = torch.zeros(shape)
        mask = torch.zeros(len(embedded), longest, dtype=torch.long)
        for row, vectors in enumerate(embedded):
            layers[row, :, : vectors.shape[1]] = torch.from_numpy(vectors)
            mask[row, : vectors.shape[1]] = 1
        return layers.to(self.elmo.device), mask.to(self.elmo.device)

    def embed_sentence(self, sentence: Sequence[str]) -> Vectors:
        """Give (L+1, n, D) for one token list."""
        return self.embed_batch([sentence])[0]

    def embed_batch(self, batch: Batch) -> list[Vectors]:
        """Give (L+1, n, D) for each token list; one of no tokens has n = 0."""
        check_sentences(batch)
        sentences = list(token_lists(batch, _refuse))
        # AllenNLP runs nothing for a single empty sentence, so its state stays as it was.
        if self.elmo.start != "carry" or not sentences or sentences == [[]]:
            return list(self._pure(sentences))
        elmo = self.elmo
        state = self.states.take(elmo.bilm, len(sentences))
        layers, after = elmo.embedder.carry(sentences, state)
        self.states.put(after)
        joined = torch.stack(layers).to("cpu", torch.float32).numpy()  # (L+1, tokens, D)
        ends = np.cumsum([len(sentence) for sentence in sentences])[:-1]
        return [part.copy() for part in np.split(joined, ends, axis=1)]

    def embed_sentences(
        self, sentences: Iterable[Sequence[str]], batch_size: int = DEFAULT_BATCH_SIZE
    ) -> Iterator[Vectors]:
        """Give (L+1, n, D) one by one, ``batch_size`` sentences at a time."""
        if not isinstance(batch_size, int) or batch_size < 1:
            raise InputError(f"batch_size: expected a whole number above 0, found {batch_size!r}")
        check_sentences(sentences)
        return self._embed_sentences(iter(sentences), batch_size)

    def embed_file(
        self,
        input_file: IO[str],
        output_file_path: str | Path,
        output_format: str = "all",
        batch_size: int = DEFAULT_BATCH_SIZE,
        forget_sentences: bool = False,
        use_sentence_keys: bool = False,
    ) -> None:
        """Embed an open file, one sentence a line and tokens between spaces, into an HDF5 file.

        Datasets are called by the numbers of the lines, from 0 on, or by the sentences;
        ``sentence_to_index`` has a JSON object from sentences to numbers. The input is closed.
        """
        if output_format not in OUTPUT_FORMATS:
            raise InputError(
                f"output_format: expected one of {', '.join(OUTPUT_FORMATS)}, found "
                f"{output_format!r}"
            )
        with input_file:
            lines = [line.strip() for line in input_file]
        blank = [number for number, line in enumerate(lines) if not line]
        if blank:
            raise InputError(f"input_file: expected no empty lines, found some at {blank}")
        keys = lines if use_sentence_keys else [str(number) for number in range(len(lines))]
        twice = [key for key, count in Counter(keys).items() if count > 1]
        if twice:
            raise InputError(
                f"use_sentence_keys: expected every sentence once, found {twice[0]!r} again"
            )
        embedded = self.embed_sentences([line.split() for line in lines], batch_size)
        with replacing_file(Path(output_file_path)) as partial, h5py.File(partial, "w") as file:
            for key, vectors in zip(keys, embedded, strict=True):
                file.create_dataset(key, data=_chosen(vectors, output_format), dtype="float32")
            if not forget_sentences and not use_sentence_keys:
                index = dict(zip(lines, keys, strict=True))
                written = file.create_dataset("sentence_to_index", (1,), dtype=h5py.string_dtype())
                written[0] = json.dumps(index)

    def _embed_sentences(
        self, sentences: Iterator[Sequence[str]], batch_size: int
    ) -> Iterator[Vectors]:
        while batch := list(islice(sentences, batch_size)):
            yield from self.embed_batch(batch)

    def _pure(self, sentences: list[list[str]]) -> Iterable[Vectors]:
        if self.elmo.start != "carry":
            return self.elmo.embed(sentences, layers="all")
        return [
            np.zeros((self.elmo.layer_count, 0, self.elmo.dim), dtype=np.float32) for _ in sentences
        ]


def _chosen(vectors: Vectors, output_format: str) -> npt.NDArray[Any]:
    if output_format == "all":
        return vectors
    return vectors[-1] if output_format == "top" else np.average(vectors, axis=0)


def _refuse(text: str) -> list[str]:
    raise InputError(f"batch: expected token lists, found the raw string {text!r}")
