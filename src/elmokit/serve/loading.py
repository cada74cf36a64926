"""A server's models, index and tasks by what people call them in the shell."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from elmokit.analysis.context_index import ContextIndex
from elmokit.analysis.corpus_sentences import is_demo
from elmokit.analysis.demo_index import demo_index
from elmokit.embed.batching import batch_tokens_of, check_batch_tokens
from elmokit.embed.elmo_identity import elmo_identity
from elmokit.embed.load import load
from elmokit.errors import InputError
from elmokit.files import exists
from elmokit.pretrained import DEFAULT_NAME, bundled_name
from elmokit.serve.limits import MARKS, Limits
from elmokit.serve.served_model import ServedModel
from elmokit.serve.service import Service
from elmokit.tasks.predictor import Predictor
from elmokit.tasks.predictor import load as load_task


def loaded_service(
    *,
    models: Sequence[str] | None = None,
    index: str | None = None,
    tasks: Sequence[str] | None = None,
    device: str = "auto",
    dtype: str = "float32",
    batch_tokens: int | None = None,
    **limits: int | None,
) -> Service:
    """Load what a server is to answer with.

    ``models`` and ``tasks`` are names, folders or NAME=FOLDER, ``index`` a folder or ``demo``.
    ``limits`` are those of `Limits`; None leaves the choice to us.
    """
    check_batch_tokens(batch_tokens)
    loaded = [loaded_model(one, device=device, dtype=dtype) for one in models or [DEFAULT_NAME]]
    if batch_tokens is None:
        batch_tokens = batch_tokens_of(loaded[0].elmo.device.type)
    chosen = {name: value for name, value in limits.items() if value is not None}
    longest = min(Limits.sentence_tokens, batch_tokens - MARKS)
    chosen = {"sentence_tokens": max(1, longest), **chosen}
    return Service(
        loaded,
        index=None if index is None else loaded_index(index, loaded),
        tasks=loaded_tasks(tasks or (), device=device),
        limits=Limits(batch_tokens=batch_tokens, **chosen),
    )


def loaded_model(choice: str, *, device: str, dtype: str) -> ServedModel:
    """Load a model by ``--model``: a bundled name, a folder, or NAME=FOLDER."""
    name, source = named(choice)
    return ServedModel(
        name or bundled_name(source) or Path(source).resolve().name,
        load(source, device=device, dtype=dtype),
    )


def loaded_index(folder: str, models: Iterable[ServedModel]) -> ContextIndex:
    """Open an index; a model that it was made with is shared where it is loaded already."""
    models = list(models)
    if is_demo(folder):
        return demo_index(elmo=models[0].elmo)
    index = ContextIndex.open(folder)
    for model in models:
        same = elmo_identity(model.elmo) == index.facts.model_sha256
        if same and model.elmo.start == index.facts.start:
            return ContextIndex.open(folder, elmo=model.elmo)
    return index


def loaded_tasks(choices: Iterable[str], *, device: str) -> dict[str, Predictor]:
    """Load task models by ``--task``: a task's name, a folder, or NAME=FOLDER."""
    tasks: dict[str, Predictor] = {}
    for choice in choices:
        name, source = named(choice)
        predictor = load_task(source, device=device)
        name = name or predictor.task.name
        if name in tasks:
            raise InputError(
                f"task: expected different names, found {name!r} twice; NAME=FOLDER gives another"
            )
        tasks[name] = predictor
    return tasks


def named(choice: str) -> tuple[str | None, str]:
    """Cut NAME=FOLDER; a folder that exists is one, whatever its name."""
    name, equals, source = choice.partition("=")
    if not equals or exists(Path(choice)):
        return None, choice
    if not name or not source or "/" in name:
        raise InputError(f"expected a name, a folder or NAME=FOLDER, found {choice!r}")
    return name, source
