"""A trained task model on disk: settings, labels and words as text, weights as safetensors."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
from torch import Tensor

from elmokit.embed.elmo import Elmo
from elmokit.embed.elmo_identity import elmo_identity
from elmokit.embed.load import load
from elmokit.errors import ElmoError, FormatError, InputError
from elmokit.files import (
    check_manifest,
    read_json,
    read_text,
    replacing_folder,
    write_json,
    write_manifest,
    write_text,
)
from elmokit.pretrained import TASK_MODELS
from elmokit.tasks.assemble import Words, build_network
from elmokit.tasks.inputs.static_vectors import StaticVectors
from elmokit.tasks.names import task_named
from elmokit.tasks.network import TaskNetwork
from elmokit.tasks.settings import TaskSettings
from elmokit.tasks.task import Labels, Task
from elmokit.training.distributed import own_device

FORMAT, VERSION = "elmokit-task", 1
CONFIG_FILE, WEIGHTS_FILE, WORDS_FILE = "config.json", "model.safetensors", "words.txt"
CARD_FILE = "README.md"
FILES = (CONFIG_FILE, WEIGHTS_FILE, WORDS_FILE)
KEYS = ("format", "version", "task", "settings", "labels", "static_words", "elmo", "figures")

STATIC = "token_vectors.static.given"


@dataclass(frozen=True, kw_only=True)
class TrainedTask:
    """A network and what belongs to it."""

    task: Task[Any]
    settings: TaskSettings
    labels: Labels
    words: Words
    network: TaskNetwork
    elmo: Elmo | None
    elmo_name: str
    """The bundled name or the path of the biLM; empty where there is none."""
    figures: dict[str, Any]
    """What the model reached, by the name of the data."""


def write_task(trained: TrainedTask, folder: Path, card: str) -> None:
    """Write a folder that `read_task` reads; one that is there is replaced."""
    elmo = None
    if trained.elmo is not None:
        elmo = {"model": trained.elmo_name, "sha256": elmo_identity(trained.elmo)}
    static = trained.words.static
    tensors = {n: t.detach().cpu().contiguous() for n, t in trained.network.state_dict().items()}
    values = (
        FORMAT,
        VERSION,
        trained.task.name,
        trained.settings.to_dict(),
        trained.labels,
        0 if static is None else len(static.words),
        elmo,
        trained.figures,
    )
    with replacing_folder(folder, overwrite=True) as beside:
        write_json(beside / CONFIG_FILE, dict(zip(KEYS, values, strict=True)))
        write_text(beside / WORDS_FILE, "".join(f"{word}\n" for word in trained.words.all))
        safetensors.torch.save_file(tensors, beside / WEIGHTS_FILE)
        write_text(beside / CARD_FILE, card)
        write_manifest(beside)


def read_task(folder: Path, *, elmo: str | None = None, device: str = "auto") -> TrainedTask:
    """Read a folder of `write_task`; ``elmo`` is where the biLM is, if it has moved."""
    if not (folder / CONFIG_FILE).is_file():
        raise FormatError(
            folder, "is no task model", expected=f"a folder with {CONFIG_FILE}",
            hint=f"elmo task train writes one; in the box is one for {', '.join(TASK_MODELS)}",
        )  # fmt: skip
    check_manifest(folder, FILES)
    config = read_json(folder / CONFIG_FILE)
    _check_config(folder / CONFIG_FILE, config)
    task = task_named(config["task"])
    settings = task.defaults().from_dict(config["settings"])
    tensors = _read_tensors(folder / WEIGHTS_FILE)
    all_words = tuple(read_text(folder / WORDS_FILE).split("\n")[:-1])
    count = config["static_words"]
    static = None
    if count:
        if STATIC not in tensors or len(tensors[STATIC]) != count:
            raise FormatError(folder / WEIGHTS_FILE, "tensor is missing or too small", key=STATIC)
        static = StaticVectors(all_words[:count], tensors[STATIC])
    words = Words(static=static, learnt=all_words[count:])
    place = own_device(device)
    bilm = None
    if config["elmo"] is not None:
        bilm = _read_elmo(folder, config["elmo"], elmo, str(place))
    elif elmo is not None:
        raise InputError(f"elmo: the model in {folder} was trained without one, found {elmo!r}")
    network = build_network(task, settings, config["labels"], words, elmo=bilm, device=place)
    try:
        network.load_state_dict(tensors)
    except RuntimeError as error:
        raise FormatError(folder / WEIGHTS_FILE, f"does not fit the settings ({error})") from error
    return TrainedTask(
        task=task,
        settings=settings,
        labels=config["labels"],
        words=words,
        network=network.eval(),
        elmo=bilm,
        elmo_name="" if config["elmo"] is None else config["elmo"]["model"],
        figures=config["figures"],
    )


def _check_config(file: Path, config: dict[str, Any]) -> None:
    if config.get("format") != FORMAT or config.get("version") != VERSION:
        found = f"{config.get('format')!r} version {config.get('version')!r}"
        raise FormatError(file, "unknown format", found=found, expected=f"{FORMAT} {VERSION}")
    missing = [key for key in KEYS if key not in config]
    if missing:
        raise FormatError(file, "is incomplete", key=missing[0])
    if type(config["static_words"]) is not int:
        raise FormatError(file, "expected a number", key="static_words")


def _read_tensors(file: Path) -> dict[str, Tensor]:
    try:
        return safetensors.torch.load_file(file)
    except (OSError, safetensors.SafetensorError) as error:
        raise FormatError(file, f"cannot be read ({error})") from error


def _read_elmo(folder: Path, wanted: dict[str, str], given: str | None, device: str) -> Elmo:
    name = given or wanted["model"]
    try:
        elmo = load(name, device=device)
    except ElmoError as error:
        raise InputError(
            f"{folder}: the model was trained with the biLM {wanted['model']}, which cannot be "
            f"loaded ({error}); say where it is (elmo=..., --elmo in the shell)"
        ) from error
    if elmo_identity(elmo) != wanted["sha256"]:
        raise InputError(
            f"{folder}: the model was trained with another biLM than {name} is now; its weights "
            "have changed: name the right one (elmo=..., --elmo in the shell)"
        )
    return elmo
