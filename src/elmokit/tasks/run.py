"""Data files to a trained task model: read, build, train, evaluate, write a folder."""

import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from elmokit.embed.elmo_identity import elmo_identity
from elmokit.embed.load import load
from elmokit.errors import InputError
from elmokit.files import replacing_file, sha256_of, write_json
from elmokit.tasks.assemble import (
    build_network,
    choose_words,
    layer_store,
    texts_of,
    texts_of_training,
)
from elmokit.tasks.evaluate import predictions_of
from elmokit.tasks.learner import TaskLearner
from elmokit.tasks.settings import TaskSettings
from elmokit.tasks.task import Task
from elmokit.tasks.task_card import task_card
from elmokit.tasks.task_folder import TrainedTask, write_task
from elmokit.text.records import split_choice
from elmokit.training.conduct import Conduct, locked_run
from elmokit.training.distributed import own_device, world
from elmokit.training.journal import LiveLine
from elmokit.training.loop import Ending, Loop, LoopSettings
from elmokit.training.schedule import Schedule

MODEL_FOLDER = "model"
RESULT_FILE = "result.json"


@dataclass(frozen=True, kw_only=True)
class TaskFiles:
    """The data of a run."""

    train: tuple[Path, ...]
    dev: Path
    test: tuple[Path, ...] = ()

    def all(self) -> tuple[Path, ...]:
        """Give all files."""
        return (*self.train, self.dev, *self.test)

    def names(self) -> dict[Path, str]:
        """Name each file as figures do: without its folder, where no other is called the same."""
        files = dict.fromkeys(self.all())
        counts = Counter(file.name for file in files)
        return {file: file.name if counts[file.name] == 1 else str(file) for file in files}


@dataclass(frozen=True, kw_only=True)
class TaskOutcome:
    """How a run ended."""

    ending: Ending
    """``finished``, ``stopped`` by a signal, or ``out of time``."""
    step: int
    """Steps done."""
    steps: int
    """Steps to do at most."""
    model: Path | None
    """The model folder of a finished run."""
    result: dict[str, Any]
    """Figures, mix weights and times of a finished run, as in ``result.json``."""


def train_task(
    task: Task[Any],
    run_folder: Path,
    settings: TaskSettings,
    files: TaskFiles,
    *,
    elmo: str | None = None,
    vectors: Path | None = None,
    share: float = 1.0,
    cache: Path | None = None,
    conduct: Conduct | None = None,
) -> TaskOutcome:
    """Train a task model; a run that was stopped goes on where it was.

    ``elmo`` is a biLM's folder or bundled name, None for a model without. ``vectors`` is a file of
    static vectors. ``share`` of the training data is used, chosen by the seed. ``cache`` is a
    folder for the biLM's layers of the data, where other runs find them.
    """
    started = time.monotonic()
    conduct = conduct or Conduct()
    if not 0 < share <= 1:
        raise InputError(f"share: expected a number above 0, up to 1, found {share!r}")
    with locked_run(run_folder, conduct):
        device = own_device(conduct.device)
        with world(device) as everyone:
            with everyone.together():
                pass  # the first has the lock, or all end here
            line = LiveLine(quiet=conduct.quiet or not everyone.is_first)
            prepared = prepare(task, settings, files, elmo, vectors, share, cache, device, line)
            learner = TaskLearner(
                prepared.trained.network,
                task,
                prepared.train,
                prepared.dev,
                prepared.trained.labels,
                settings.recipe,
                world=everyone,
                line=line,
                graphed=conduct.fused,
            )
            steps = settings.recipe.epochs * learner.steps_per_epoch
            loop = Loop(
                learner,
                loop_settings(settings, conduct, steps, learner.steps_per_epoch),
                run_folder,
                facts=_facts(task, settings, files, prepared.trained, vectors, share),
                world=everyone,
                line=line,
                tensorboard=conduct.tensorboard,
                since=started,
            )
            resumed = loop.resume()
            line.say(
                f"{'resuming at step ' + str(resumed) if resumed else 'starting'}: {task.title}, "
                f"{len(prepared.train):,} examples, at most {steps:,} steps, "
                f"{sum(p.numel() for p in learner.parameters.values()):,} parameters, "
                f"{elmo or 'no ELMo'}, {device.type} x {everyone.size}"
            )
            ending = loop.run()
        result: dict[str, Any] = {}
        model_folder = None
        if ending == "finished" and everyone.is_first:
            learner.take_best()
            result = _result(task, settings, files, prepared, learner, loop, share)
            trained = replace(prepared.trained, figures=result["figures"])
            model_folder = run_folder / MODEL_FOLDER
            write_task(trained, model_folder, task_card(trained, files, result))
            with replacing_file(run_folder / RESULT_FILE) as beside:
                write_json(beside, result)
        line.clear()
    return TaskOutcome(
        ending=ending, step=loop.step, steps=steps, model=model_folder, result=result
    )


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Everything that training needs."""

    trained: TrainedTask
    train: Sequence[Any]
    dev: Sequence[Any]
    tests: dict[str, Sequence[Any]]
    embedding_seconds: float
    embedded_tokens: int


def prepare(
    task: Task[Any],
    settings: TaskSettings,
    files: TaskFiles,
    elmo_name: str | None,
    vectors: Path | None,
    share: float,
    cache: Path | None,
    device: torch.device,
    line: LiveLine,
) -> Prepared:
    """Read the data, build the network and compute the biLM's layers."""
    train = [example for file in files.train for example in task.read(file)]
    labels = task.labels(train)
    train = _shared_out(task, train, share, settings.recipe.seed)
    held_out = {file: task.read(file) for file in (files.dev, *files.test)}
    for file, examples in held_out.items():
        task.check(examples, labels, file)
    train_texts = texts_of(task, train)
    other_texts = [t for examples in held_out.values() for t in texts_of(task, examples)]
    words = choose_words(settings, vectors, train=train_texts, others=other_texts)
    elmo = None if elmo_name is None else load(elmo_name, device=str(device))
    network = build_network(task, settings, labels, words, elmo=elmo, device=device)
    network.store = layer_store(elmo, settings, device=device, folder=cache)
    train_texts = texts_of_training(train_texts, settings)
    for text in [*train_texts, *other_texts]:
        network.lexicon.numbers(text)  # so that all forms are known before training begins
    started = time.monotonic()
    if network.store is not None:
        line.say(f"computing {elmo_name}'s layers of all texts, once")
        network.store.add(train_texts)
        network.store.add(other_texts)
    return Prepared(
        trained=TrainedTask(
            task=task,
            settings=settings,
            labels=labels,
            words=words,
            network=network,
            elmo=elmo,
            elmo_name=lasting_name(elmo_name),
            figures={},
        ),
        train=train,
        dev=held_out[files.dev],
        tests={files.names()[file]: held_out[file] for file in files.test},
        embedding_seconds=time.monotonic() - started,
        embedded_tokens=0 if network.store is None else network.store.tokens,
    )


def _shared_out(task: Task[Any], examples: list[Any], share: float, seed: int) -> list[Any]:
    """Choose a share of the texts, at least one, and all examples on them."""
    if share == 1.0:
        return examples
    keys = [tuple(tuple(t) for role in task.texts([one]) for t in role) for one in examples]
    distinct = list(dict.fromkeys(keys))
    count = max(1, round(share * len(distinct)))
    order = np.random.default_rng([seed, len(distinct)]).permutation(len(distinct))
    chosen = {distinct[number] for number in order[:count]}
    return [example for example, key in zip(examples, keys, strict=True) if key in chosen]


def _result(
    task: Task[Any],
    settings: TaskSettings,
    files: TaskFiles,
    prepared: Prepared,
    learner: TaskLearner,
    loop: Loop,
    share: float,
) -> dict[str, Any]:
    trained = prepared.trained
    figures = {}
    for name, examples in {files.names()[files.dev]: prepared.dev, **prepared.tests}.items():
        found = predictions_of(trained.network, task, examples, trained.labels)
        figures[name] = dict(task.score(examples, found))
    return {
        "task": task.name,
        "metric": task.metric,
        "elmo": trained.elmo_name,
        "seed": settings.recipe.seed,
        "share": share,
        "train_examples": len(prepared.train),
        "figures": figures,
        "mix_weights": trained.network.token_vectors.mix_weights(),
        "history": learner.history,
        "best_epoch": learner.best_epoch + 1,
        "epochs": len(learner.history),
        "training_seconds": loop.seconds,
        "embedding_seconds": prepared.embedding_seconds,
        "embedded_tokens": prepared.embedded_tokens,
        "settings": settings.to_dict(),
    }


def loop_settings(
    settings: TaskSettings, conduct: Conduct, steps: int, steps_per_epoch: int
) -> LoopSettings:
    """Give the loop its part of the settings."""
    recipe = settings.recipe
    return LoopSettings(
        schedule=Schedule(
            peak=recipe.learning_rate,
            steps=steps,
            warm_up=round(recipe.warm_up * steps_per_epoch),
            decay=recipe.decay,
            final_share=recipe.final_share,
        ),
        weight_decay=recipe.weight_decay,
        beta2=recipe.beta2,
        clip=recipe.clip,
        log_every=conduct.log_every,
        save_every=conduct.save_every,
        keep=conduct.keep,
        minutes=conduct.minutes,
    )


def _facts(
    task: Task[Any],
    settings: TaskSettings,
    files: TaskFiles,
    trained: TrainedTask,
    vectors: Path | None,
    share: float,
) -> dict[str, Any]:
    """Gather what a checkpoint must agree with to be gone on from."""
    roles = {"train": files.train, "dev": (files.dev,), "test": files.test}
    facts = {
        "task": task.name,
        "settings": settings.to_dict(),
        "data": {
            role: [[file.name, sha256_of(split_choice(file)[0])] for file in group]
            for role, group in roles.items()
        },
        "elmo": None if trained.elmo is None else elmo_identity(trained.elmo),
        "vectors": None if vectors is None else sha256_of(vectors),
        "share": share,
    }
    plain: dict[str, Any] = json.loads(json.dumps(facts))
    return plain


def lasting_name(elmo_name: str | None) -> str:
    """Name a biLM so that it is found from other folders too."""
    if elmo_name is None:
        return ""
    return str(Path(elmo_name).absolute()) if Path(elmo_name).exists() else elmo_name
