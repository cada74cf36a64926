"""Models that guests name rather than hold: each is loaded once a process and shared.

A guest's settings must be small to copy and to pickle, so they say which model is meant, and a
digest of its weights says later whether it is still the same.
"""

import os
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import NamedTuple

import torch

from elmokit.embed.elmo import Elmo
from elmokit.embed.elmo_identity import elmo_identity
from elmokit.embed.load import load
from elmokit.embed.start_state import Start
from elmokit.errors import InputError
from elmokit.pretrained import bundled_name

ModelName = str | Path | None
"""A bundled model's name, a folder or a file of weights; None is the bundled English model."""

# A search over models meets several in turn; each may hold gigabytes.
MOST_MODELS = 2

_Key = tuple[object, ...]


class LoadedModel(NamedTuple):
    """A model in memory."""

    elmo: Elmo
    identity: str
    """Digest of its weights."""
    lock: RLock
    """An `Elmo` is for one thread at a time."""
    process: int
    """Where it was loaded."""

    @contextmanager
    def computing(self) -> Iterator[Elmo]:
        """Give the model to one thread."""
        if self.process != os.getpid() and torch.get_num_threads() > 1:
            # A fork leaves the threads of OpenMP behind, and waiting for them never ends.
            torch.set_num_threads(1)
        with self.lock:
            yield self.elmo


_loaded: OrderedDict[_Key, LoadedModel] = OrderedDict()
_guard = RLock()


def loaded_model(
    model: ModelName,
    *,
    device: str = "auto",
    dtype: str = "float32",
    start: Start = "warm",
    expected: str | None = None,
) -> LoadedModel:
    """Give a model by name or folder, loaded now or before.

    ``expected`` is the digest that it had earlier; another model is an error.
    """
    check_model_name(model)
    key = (_files(model), device, dtype, start)
    with _guard:
        if key not in _loaded:
            elmo = load(model, device=device, dtype=dtype, start=start)
            _loaded[key] = LoadedModel(elmo, elmo_identity(elmo), RLock(), os.getpid())
        _loaded.move_to_end(key)
        found = _loaded[key]
        while len(_loaded) > MOST_MODELS:
            _loaded.popitem(last=False)
    if expected is not None:
        check_identity(found.identity, expected, model)
    return found


def check_identity(found: str, expected: str, model: ModelName) -> None:
    """Refuse a model whose weights are not those that were used before."""
    if found != expected:
        name = "the bundled model" if model is None else repr(str(model))
        raise InputError(
            f"model: {name} has other weights (digest {found[:12]}) than the model that was used "
            f"before (digest {expected[:12]}); name that model, or train anew with this one"
        )


def check_model_name(model: object) -> None:
    """Refuse what is no name, above all a loaded model."""
    if isinstance(model, Elmo):
        raise InputError(
            f"model: expected a name or a folder, found {model!r}; save it with "
            "elmo.save(folder) and give that folder, so that copies and files stay small"
        )
    if not isinstance(model, str | Path | None):
        raise InputError(f"model: expected a name or a folder, found {model!r}")


def _files(model: ModelName) -> object:
    """Tell a model from others, and from what lay in the same place before."""
    if (name := bundled_name(model)) is not None:
        return name
    path = Path(str(model)).absolute()
    try:
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        return path, tuple((file.name, *_stamp(file)) for file in files)
    except OSError:
        return path, None  # loading says what is wrong


def _stamp(file: Path) -> tuple[int, int]:
    facts = file.stat()
    return facts.st_size, facts.st_mtime_ns
