"""The mixes of a biLM's layers that trainings of tasks left in files.

C layers
"""

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from elmokit.errors import FormatError
from elmokit.files import exists, read_json, read_text
from elmokit.pretrained import bundled_task_folder

# The names of the files that `elmo task train` and `elmo task table` write.
RUN_FILE, TABLE_FILE, MODEL_FILE, TENSORS_FILE = (
    "result.json", "runs.jsonl", "config.json", "model.safetensors",
)  # fmt: skip
MODEL_FORMAT = "elmokit-task"
TENSORS = "token_vectors.{place}_mix.{name}"
PLACES = ("input", "output")
USUAL_VARIANT = "elmo"


class Mix(NamedTuple):
    """One mix of one run."""

    name: str
    place: str
    layers: tuple[str, ...]
    values: tuple[float, ...]
    """The weights, and the scale last."""


def read_mixes(source: str | Path, *, every: bool = False) -> list[Mix]:
    """Read a source; one without any mix is an error.

    Of a table the usual runs are taken, with ELMo as the task has it and on all data, or with
    ``every`` also the other variants and shares; where there are no usual ones, these.
    """
    path = Path(source)
    if isinstance(source, str) and not exists(path):
        path = bundled_task_folder(source) or path
    if path.is_file():
        return _of_table(path, every)
    if (path / TABLE_FILE).is_file():
        return _of_table(path / TABLE_FILE, every)
    if (path / RUN_FILE).is_file():
        record = read_json(path / RUN_FILE)
        return _one(path / RUN_FILE, record)
    if (path / MODEL_FILE).is_file():
        return _of_model(path)
    raise FormatError(
        path,
        "is no run of a task" if path.is_dir() else "is not there",
        expected=f"a folder with {RUN_FILE}, {TABLE_FILE} or a task model's {MODEL_FILE}",
        hint="elmo task train and elmo task table write them; a run has one when it is finished",
    )


def _of_table(file: Path, every: bool) -> list[Mix]:
    """Read the runs of a table; of a run that was done again the last counts."""
    records: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(read_text(file).splitlines(), start=1):
        try:
            record = json.loads(line)
            records[record["key"]] = record
        except (ValueError, TypeError, KeyError) as error:
            raise FormatError(file, f"line {number} is no record of a run") from error
    mixed = [(_is_usual(record), list(_read(file, record))) for record in records.values()]
    usual = any(mixes for is_usual, mixes in mixed if is_usual) and not every
    found = [mix for is_usual, mixes in mixed if is_usual or not usual for mix in mixes]
    if not found:
        raise FormatError(
            file, "has no run that mixes layers of a biLM", found=f"{len(records)} runs"
        )
    return found


def _of_model(folder: Path) -> list[Mix]:
    """Read the mixes of a model from its tensors."""
    import safetensors
    from safetensors.numpy import load_file

    file = folder / MODEL_FILE
    config = read_json(file)
    if config.get("format") != MODEL_FORMAT:
        raise FormatError(
            file, "is no task model's", found=f"format {config.get('format')!r}",
            expected=MODEL_FORMAT, hint="a biLM by itself has no mix: a task learns it",
        )  # fmt: skip
    try:
        tensors = load_file(folder / TENSORS_FILE)
    except (OSError, safetensors.SafetensorError) as error:
        raise FormatError(folder / TENSORS_FILE, f"cannot be read ({error})") from error
    mixes = {}
    for place in PLACES:
        weights = tensors.get(TENSORS.format(place=place, name="weights"))  # (C,)
        scale = tensors.get(TENSORS.format(place=place, name="gamma"))  # ()
        if weights is not None and scale is not None:
            powers = np.exp(weights.astype(np.float64) - weights.max())
            mixes[place] = [*(powers / powers.sum()).tolist(), float(scale)]
    return _one(file, {**config, "mix_weights": mixes})


def _one(file: Path, record: dict[str, Any]) -> list[Mix]:
    """Give the mixes of one run, or say why there are none."""
    found = list(_read(file, record))
    if not found and record.get("mix_weights"):
        raise FormatError(file, "mixes one layer alone, so there is nothing to weigh")
    if not found:
        raise FormatError(
            file, "is of a task trained without ELMo, so no layers were mixed",
            hint="train with --elmo",
        )  # fmt: skip
    return found


def _read(file: Path, record: dict[str, Any]) -> Iterator[Mix]:
    try:
        name, inputs = _name(record), record["settings"]["inputs"]
        mixes = {
            place: tuple(map(float, values)) for place, values in record["mix_weights"].items()
        }
        layers, form = inputs["elmo_layers"], inputs["elmo_form"]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise FormatError(
            file, f"is no record of a run ({type(error).__name__}: {error})"
        ) from error
    for place, values in mixes.items():
        if not all(map(math.isfinite, values)):
            raise FormatError(file, "expected finite mix weights", found=list(values))
        count = len(values) - 1
        if count > 1:
            yield Mix(name, place, _layer_names(file, count, layers, form), values)


def _is_usual(record: dict[str, Any]) -> bool:
    return record.get("variant") == USUAL_VARIANT and record.get("share") == 1.0


def _name(record: dict[str, Any]) -> str:
    parts = [str(record["task"])]
    if "data" in record:
        parts[0] += f": {record['data']}"
    if record.get("variant", USUAL_VARIANT) != USUAL_VARIANT:
        parts.append(record["variant"])
    if record.get("share", 1.0) != 1.0:
        parts.append(f"{record['share']:.0%} of the data")
    return ", ".join(parts)


def _layer_names(file: Path, count: int, chosen: Sequence[int], form: str) -> tuple[str, ...]:
    """Name what each weight belongs to; the order is that of `elmokit.nn.ScalarMix`."""
    layers = (count + 1) // 2 if form == "directions" else count
    if chosen and len(chosen) != layers:
        raise FormatError(file, f"has {count} weights for the layers {list(chosen)}")
    names = [f"layer {layer}" for layer in chosen or range(layers)]
    if form == "layers":
        return tuple(names)
    halves = [f"{name} {half}" for half in ("forward", "backward") for name in names[1:]]
    return (names[0], *halves)
