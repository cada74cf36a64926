"""Data, vectors and a biLM to a network."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from elmokit.embed.elmo import Elmo
from elmokit.embed.elmo_layer import ElmoLayer
from elmokit.errors import InputError
from elmokit.tasks.inputs.layer_store import LayerStore
from elmokit.tasks.inputs.lexicon import Lexicon, learnt_words
from elmokit.tasks.inputs.static_vectors import StaticVectors, read_static_vectors
from elmokit.tasks.inputs.text_batch import in_capitals
from elmokit.tasks.inputs.token_vectors import TokenVectors
from elmokit.tasks.network import TaskNetwork
from elmokit.tasks.settings import TaskSettings
from elmokit.tasks.task import Labels, Task, Tokens


@dataclass(frozen=True, kw_only=True)
class Words:
    """Words that have static vectors."""

    static: StaticVectors | None
    """Those of a file."""
    learnt: tuple[str, ...]
    """Those that are learnt with the task, behind them."""

    @property
    def all(self) -> tuple[str, ...]:
        """All of them in the order of their numbers."""
        return (() if self.static is None else self.static.words) + self.learnt


def choose_words(
    settings: TaskSettings,
    vectors: Path | None,
    *,
    train: Sequence[Tokens],
    others: Sequence[Tokens],
) -> Words:
    """Read the static vectors of a file, and see which words of the training texts lack one."""
    inputs = settings.inputs
    if not inputs.vectors:
        if vectors is not None:
            raise InputError("vectors: a file was given, but the setting vectors is false")
        return Words(static=None, learnt=())
    static = None
    if vectors is not None:
        tokens = {token for texts in (train, others) for text in texts for token in text}
        wanted = tokens | {token.lower() for token in tokens}
        static = read_static_vectors(vectors, most=inputs.most_vectors, wanted=wanted)
    known = () if static is None else static.words
    return Words(
        static=static, learnt=tuple(learnt_words(train, known, min_count=inputs.min_count))
    )


def build_network(
    task: Task[Any],
    settings: TaskSettings,
    labels: Labels,
    words: Words,
    *,
    elmo: Elmo | None,
    device: torch.device,
) -> TaskNetwork:
    """Make a network with fresh weights, decided by the seed."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(settings.recipe.seed)
        return _fresh_network(task, settings, labels, words, elmo).to(device)


def _fresh_network(
    task: Task[Any], settings: TaskSettings, labels: Labels, words: Words, elmo: Elmo | None
) -> TaskNetwork:
    vectors = TokenVectors(
        settings.inputs,
        static=None if words.static is None else words.static.vectors,
        learnt_words=len(words.learnt),
        elmo_layers=0 if elmo is None else elmo.layer_count,
        elmo_dim=0 if elmo is None else elmo.dim,
    )
    model = task.build(
        settings.model,
        input_dim=vectors.input_dim,
        output_dim=vectors.output_dim,
        labels=labels,
    )
    layer = None
    if elmo is not None and settings.inputs.train_elmo:
        layer = ElmoLayer(elmo, mixes=1, trainable=True)
        layer.mixes.requires_grad_(False)  # the network has its own
    return TaskNetwork(vectors, model, lexicon=Lexicon(words.all), elmo_layer=layer)


def texts_of(task: Task[Any], examples: Sequence[Any]) -> list[Tokens]:
    """Give all texts of examples."""
    return [text for example in examples for role in task.texts([example]) for text in role]


def texts_of_training(texts: list[Tokens], settings: TaskSettings) -> list[Tokens]:
    """Give texts as training may read them: in capitals too, if a share of them is."""
    return [*texts, *map(in_capitals, texts)] if settings.inputs.capitals else texts


def lines_of(task: Task[Any], examples: Sequence[Any]) -> list[str]:
    """Give each text once as a line, its tokens between spaces; empty ones are left out."""
    lines = (" ".join(" ".join(text).split()) for text in texts_of(task, examples))
    return list(dict.fromkeys(filter(None, lines)))


def layer_store(
    elmo: Elmo | None, settings: TaskSettings, *, device: torch.device, folder: Path | None = None
) -> LayerStore | None:
    """Make a store of layers where the biLM is frozen."""
    if elmo is None or settings.inputs.train_elmo:
        return None
    return LayerStore(elmo, device=device, folder=folder)
