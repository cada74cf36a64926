"""An n-gram model on disk: arrays that are mapped into memory, so that opening reads nothing large.

``ngram.json``              order, marks, tokeniser, discounts, number of n-grams of each order
``words.txt``               the vocabulary, a word a line
``keys-2.npy`` ...          sorted n-grams of each order, see `ngram_counts`
``probabilities-1.npy`` ... of each n-gram's last word after the others
``backoffs-1.npy`` ...      of each n-gram as a context; not for the highest order
``manifest.json``           size and SHA-256 of each of the files above
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from elmokit.baselines.kneser_ney import Discounts, Level
from elmokit.baselines.ngram_model import NgramModel
from elmokit.config import Marks
from elmokit.errors import FormatError, InputError
from elmokit.files import (
    MANIFEST_FILE,
    check_manifest,
    is_file,
    read_json,
    read_text,
    replacing_folder,
    write_json,
    write_manifest,
    write_text,
)
from elmokit.text.vocabulary import Vocabulary

FORMAT_VERSION = 1
NGRAM_FILE, WORDS_FILE = "ngram.json", "words.txt"
_PARTS = {"keys": np.int64, "probabilities": np.float32, "backoffs": np.float32}
_FILES = (NGRAM_FILE, WORDS_FILE, MANIFEST_FILE, *(f"{part}-*.npy" for part in _PARTS))


def save_ngrams(model: NgramModel, folder: str | Path, *, overwrite: bool = False) -> None:
    """Write a model; the folder appears whole or not at all."""
    with replacing_folder(Path(folder), overwrite=overwrite, replaceable=_FILES) as partial:
        write_text(partial / WORDS_FILE, "".join(f"{w}\n" for w in model.vocabulary.words))
        for order, level in enumerate(model.levels, start=1):
            for part in _parts_of(order, model.order):
                np.save(partial / f"{part}-{order}.npy", getattr(level, part))
        facts = {
            "format_version": FORMAT_VERSION,
            "order": model.order,
            "tokeniser": model.tokeniser,
            "marks": model.vocabulary.marks.to_dict(),
            "ngrams": list(model.ngram_counts),
            "discounts": [
                {"values": list(discount.values), "estimated": discount.estimated}
                for discount in model.discounts
            ],
        }
        write_json(partial / NGRAM_FILE, facts)
        write_manifest(partial)


def load_ngrams(folder: str | Path) -> NgramModel:
    """Open a model that `save_ngrams` wrote; what is damaged or missing is an error."""
    folder = Path(folder)
    file = folder / NGRAM_FILE
    if not is_file(file):
        raise InputError(
            f"{folder}: no n-gram model, for it holds no {NGRAM_FILE}; make one with "
            f"elmo ngram train CORPUS -o {folder}"
        )
    facts = read_json(file)
    if facts.get("format_version") != FORMAT_VERSION:
        raise FormatError(
            file, "unknown version of the format", key="format_version",
            found=repr(facts.get("format_version")), expected=FORMAT_VERSION,
        )  # fmt: skip
    try:
        sizes, marks = [int(size) for size in facts["ngrams"]], Marks.from_dict(facts["marks"])
        discounts = [
            Discounts((d["values"][0], d["values"][1], d["values"][2]), bool(d["estimated"]))
            for d in facts["discounts"]
        ]
        tokeniser = str(facts["tokeniser"])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise FormatError(file, f"wrong content ({error!r})", hint="train it again") from error
    # The arrays are gigabytes: their sizes are looked at, their content is not read through.
    arrays = [f"{p}-{o}.npy" for o in range(1, len(sizes) + 1) for p in _parts_of(o, len(sizes))]
    check_manifest(folder, (NGRAM_FILE, WORDS_FILE, *arrays), unchecked=arrays)
    words = read_text(folder / WORDS_FILE).split("\n")[:-1]
    if not sizes or len(words) != sizes[0]:
        raise FormatError(folder / WORDS_FILE, "wrong number of words", found=len(words))
    levels = [_level(folder, order, sizes) for order in range(1, len(sizes) + 1)]
    return NgramModel(
        vocabulary=Vocabulary(words, marks=marks),
        levels=levels,
        discounts=discounts,
        tokeniser=tokeniser,
    )


def _parts_of(order: int, highest: int) -> list[str]:
    parts = ["keys"] if order > 1 else []
    return [*parts, "probabilities", *(["backoffs"] if order < highest else [])]


def _level(folder: Path, order: int, sizes: list[int]) -> Level:
    found = {
        part: _array(folder / f"{part}-{order}.npy", sizes[order - 1], _PARTS[part])
        for part in _parts_of(order, len(sizes))
    }
    return Level(
        keys=found.get("keys", np.arange(sizes[0])),
        probabilities=found["probabilities"],
        backoffs=found.get("backoffs", np.empty(0, dtype=np.float32)),
    )


def _array(file: Path, size: int, dtype: Any) -> npt.NDArray[Any]:
    try:
        # An empty array cannot be mapped.
        array: npt.NDArray[Any] = np.load(file, mmap_mode="r" if size else None)
    except (OSError, ValueError, EOFError) as error:
        raise FormatError(file, f"cannot be read ({error})", hint="train it again") from error
    if array.shape != (size,) or array.dtype != dtype:
        raise FormatError(
            file, "wrong content", found=f"{array.dtype} {array.shape}",
            expected=f"{size} of {np.dtype(dtype)}", hint="train it again",
        )  # fmt: skip
    return array
