"""The model that AllenNLP's two arguments name."""

import re
from pathlib import Path

from elmokit.embed.elmo import Elmo
from elmokit.embed.load import load
from elmokit.embed.start_state import Start
from elmokit.errors import InputError

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://")


def model_of(
    options_file: str | Path | None,
    weight_file: str | Path | None,
    *,
    device: str = "cpu",
    start: Start,
) -> Elmo:
    """Load the two files; without ``options_file`` anything that `elmokit.load` takes."""
    if weight_file is None:
        raise InputError(
            "weight_file: AllenNLP fetched its original model where none was named, which cannot "
            "be had here; pass options_file and weight_file, or as weight_file alone a model's "
            "folder or the name of a bundled one ('english-base')"
        )
    for name, file in (("options_file", options_file), ("weight_file", weight_file)):
        if isinstance(file, str) and _ADDRESS.match(file):
            raise InputError(f"{name}: expected a file, found {file!r}; download it first")
    return load(options=options_file, weights=weight_file, device=device, start=start)
