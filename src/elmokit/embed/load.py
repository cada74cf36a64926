"""`elmokit.load`: the first call of every user."""

import warnings
from functools import partial
from pathlib import Path

from elmokit.embed.elmo import Elmo
from elmokit.embed.hub import HUB_NAME
from elmokit.embed.start_state import Start
from elmokit.embed.word_cache_file import FILE_NAME as WORD_CACHE
from elmokit.errors import FormatError, InputError
from elmokit.files import exists
from elmokit.formats import detect
from elmokit.formats.checkpoint import Checkpoint
from elmokit.pretrained import bundled_checkpoint, bundled_name, bundled_names

PathLike = str | Path


def load(
    source: PathLike | None = None,
    *,
    options: PathLike | None = None,
    weights: PathLike | None = None,
    vocabulary: PathLike | None = None,
    token_embedding: PathLike | None = None,
    device: str = "auto",
    dtype: str = "float32",
    start: Start = "warm",
) -> Elmo:
    """Load a model of any format and give the `Elmo` that embeds with it.

    ``source`` is a folder, an hdf5 path or the name of a bundled model (default: the trained
    English one). ``options`` and ``weights`` name the two files of bilm-tf and AllenNLP where
    they do not lie together, ``vocabulary`` and ``token_embedding`` the files of a word model.
    ``start`` is what the LSTMs remember before each sentence: ``"warm"``, ``"zeros"`` or
    ``"carry"``.
    """
    checkpoint = read_checkpoint(
        source,
        options=options,
        weights=weights,
        vocabulary=vocabulary,
        token_embedding=token_embedding,
        softmax=False,
    )
    # The softmax is read when first used, perhaps from another current folder.
    read_again = partial(
        read_checkpoint,
        _absolute(source),
        options=_absolute(options),
        weights=_absolute(weights),
        vocabulary=_absolute(vocabulary),
        token_embedding=_absolute(token_embedding),
    )
    if checkpoint.metadata.get("trained") == "no":
        warnings.warn(
            f"the model {checkpoint.metadata.get('name')!r} is untrained: its vectors show "
            "how things work and mean nothing; load a trained model for real work",
            stacklevel=2,
        )
    elmo = Elmo(checkpoint, device=device, dtype=dtype, start=start, read_again=read_again)
    if source is not None and exists(Path(source) / WORD_CACHE):
        elmo.read_word_cache(Path(source) / WORD_CACHE)
    return elmo


def read_checkpoint(
    source: PathLike | None = None,
    *,
    options: PathLike | None = None,
    weights: PathLike | None = None,
    vocabulary: PathLike | None = None,
    token_embedding: PathLike | None = None,
    softmax: bool = True,
) -> Checkpoint:
    """Find a model by path or by name and read it; the arguments are those of `load`."""
    if source is not None and weights is not None:
        raise InputError(f"source, weights: give one of them, found {source!r} and {weights!r}")
    source = weights if weights is not None else source
    files = {"options": options, "vocabulary": vocabulary, "token_embedding": token_embedding}
    paths = {name: None if file is None else Path(file) for name, file in files.items()}
    bundled = bundled_name(source)
    if bundled is not None:
        for name, file in files.items():
            if file is not None:
                raise InputError(
                    f"{name}: given without a model that it belongs to; pass weights= as well"
                )
        return bundled_checkpoint(bundled, softmax=softmax)
    assert source is not None  # which means a bundled model
    path = Path(source)
    looks_like_a_name = isinstance(source, str) and path.name == source and not path.suffix
    not_there = not exists(path) and not exists(Path(f"{source}.index"))
    if looks_like_a_name and not_there:
        raise InputError(
            f"model: no folder and no bundled model is called {source!r}; bundled are "
            f"{', '.join(bundled_names())}"
        )
    if not_there and isinstance(source, str) and HUB_NAME.fullmatch(source):
        raise FormatError(
            source,
            "no such file or folder",
            hint=f"a model of the Hugging Face Hub is elmokit.Elmo.from_pretrained({source!r})",
        )
    return detect.read(path, softmax=softmax, **paths)


def _absolute(file: PathLike | None) -> PathLike | None:
    """Name a file so that it is found from any folder; the name of a bundled model stays."""
    return file if file is None or bundled_name(file) else Path(file).absolute()
