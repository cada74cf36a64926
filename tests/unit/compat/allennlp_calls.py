"""Calls as old code makes them, of AllenNLP 0.9 or of what takes its place.

The same lines run in both: `record_allennlp.py` keeps what AllenNLP answers, the tests compare.
Nothing here knows elmokit.
"""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import torch

BATCHES = [
    [["The", "bank", "is", "closed", "."], ["Yes"], ["a" * 60, "강가의", "<S>"]],
    [["It", "rained"], ["No", ",", "no"]],
    [["one"], ["two", "2"], [], ["four", "words", "are", "here"]],
    [["The", "bank", "is", "closed", "."]],
]
WORDS = ["@@PADDING@@", "the", "bank", "is", "closed", "."]

Names = Any
"""A module, or whatever has ``Elmo``, ``batch_to_ids`` and ``ElmoEmbedder``."""


def plain(value: Any) -> Any:
    """Give tensors, arrays and what holds them as JSON values with shape and type."""
    if isinstance(value, torch.Tensor):
        value = value.detach().numpy()
    if isinstance(value, np.ndarray):
        numbers = [
            float(f"{number:.7g}") if value.dtype.kind == "f" else int(number)
            for number in value.ravel()
        ]
        return {"shape": list(value.shape), "dtype": str(value.dtype), "values": numbers}
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return value


def ids(names: Names, **_: Any) -> Any:
    return [names.batch_to_ids(batch) for batch in BATCHES]


def module(names: Names, files: tuple[str, str], **kwargs: Any) -> Any:
    """Four batches one after another, of unlike sizes."""
    elmo = names.Elmo(*files, 2, dropout=0.0, **kwargs)
    return [elmo(names.batch_to_ids(batch)) for batch in BATCHES]


def layer_norm(names: Names, files: tuple[str, str], **kwargs: Any) -> Any:
    elmo = names.Elmo(*files, 1, do_layer_norm=True, dropout=0.0, **kwargs)
    return elmo(names.batch_to_ids(BATCHES[0]))


def boundaries(names: Names, files: tuple[str, str], **kwargs: Any) -> Any:
    found = []
    for norm in (False, True):
        elmo = names.Elmo(
            *files, 1, do_layer_norm=norm, dropout=0.0, keep_sentence_boundaries=True, **kwargs
        )
        found.append(elmo(names.batch_to_ids(BATCHES[0])))
    return found


def fixed_mix(names: Names, files: tuple[str, str], **kwargs: Any) -> Any:
    elmo = names.Elmo(*files, 1, dropout=0.0, scalar_mix_parameters=[-1.0, 2.0, 0.5], **kwargs)
    trainable = [name for name, one in elmo.named_parameters() if one.requires_grad]
    return {"output": elmo(names.batch_to_ids(BATCHES[0])), "trainable": trainable}


def more_dimensions(names: Names, files: tuple[str, str], **kwargs: Any) -> Any:
    elmo = names.Elmo(*files, 1, dropout=0.0, **kwargs)
    batch = names.batch_to_ids([["a", "b"], ["c"], ["d", "e"], ["f"]])
    return elmo(batch.view(2, 2, 2, 50))


def cached_words(names: Names, files: tuple[str, str], **kwargs: Any) -> Any:
    elmo = names.Elmo(*files, 1, dropout=0.0, vocab_to_cache=list(WORDS), **kwargs)
    sentences = [["the", "bank", "is", "closed", "."], ["bank"]]
    numbers = torch.tensor([[1, 2, 3, 4, 5], [2, 0, 0, 0, 0]])
    characters = names.batch_to_ids(sentences)
    known = elmo(characters, numbers)
    deep = elmo(characters.view(2, 1, 5, 50), numbers.view(2, 1, 5))
    return [known, deep, elmo.state_dict()["_elmo_lstm._word_embedding.weight"]]


def weights(names: Names, files: tuple[str, str], **kwargs: Any) -> Any:
    elmo = names.Elmo(*files, 2, **kwargs)
    return {"state": dict(elmo.state_dict()), "dim": elmo.get_output_dim()}


def gradients(names: Names, files: tuple[str, str], **kwargs: Any) -> Any:
    """Of the mixes, and of weights that have one name and layout in both."""
    elmo = names.Elmo(*files, 2, requires_grad=True, dropout=0.0, **kwargs)
    output = elmo(names.batch_to_ids(BATCHES[0]))["elmo_representations"]
    (output[0].square().sum() + output[1].sum()).backward()
    mixes = {n: p.grad for n, p in elmo.named_parameters() if n.startswith("scalar_mix")}
    squares = sum(
        float(p.grad.square().sum()) for n, p in elmo.named_parameters() if n.startswith("_elmo")
    )
    return {"mixes": mixes, "all the biLM's": float(f"{squares**0.5:.5g}")}


def embedder(names: Names, files: tuple[str, str], **kwargs: Any) -> Any:
    """Sentences, batches and streams in one go: what is carried goes on from call to call."""
    one = names.ElmoEmbedder(*files, **kwargs)
    found = [one.embed_sentence(["The", "bank", "is", "closed", "."]) for _ in range(2)]
    found += one.embed_batch(BATCHES[0])
    found += list(one.embed_sentences(iter([s for b in BATCHES for s in b if s]), batch_size=2))
    layers, mask = one.batch_to_embeddings(BATCHES[1])
    return [*found, layers, mask]


def file(names: Names, files: tuple[str, str], folder: Path, **kwargs: Any) -> Any:
    text = "The bank is closed .\n It  rained \nYes\nIt rained\n"
    found = {}
    for form in ("all", "top", "average"):
        one = names.ElmoEmbedder(*files, **kwargs)
        opened = io.StringIO(text)
        one.embed_file(opened, str(folder / f"{form}.hdf5"), form, batch_size=2)
        assert opened.closed
        found[form] = _content(folder / f"{form}.hdf5")
    one = names.ElmoEmbedder(*files, **kwargs)
    one.embed_file(io.StringIO("a b\nc"), str(folder / "keys.hdf5"), use_sentence_keys=True)
    found["sentence keys"] = _content(folder / "keys.hdf5")
    one.embed_file(io.StringIO("a b\nc"), str(folder / "forgotten.hdf5"), forget_sentences=True)
    found["forgotten"] = _content(folder / "forgotten.hdf5")
    return found


def _content(path: Path) -> Any:
    with h5py.File(path, "r") as opened:
        return {
            key: json.loads(opened[key][0]) if key == "sentence_to_index" else opened[key][()]
            for key in sorted(opened)
        }


CALLS: dict[str, Callable[..., Any]] = {
    "ids": ids,
    "module": module,
    "layer norm": layer_norm,
    "boundaries": boundaries,
    "fixed mix": fixed_mix,
    "more dimensions": more_dimensions,
    "cached words": cached_words,
    "weights": weights,
    "gradients": gradients,
    "embedder": embedder,
    "file": file,
}
