"""A trained task model that people use: things in, answers out."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from elmokit.errors import InputError
from elmokit.files import exists
from elmokit.pretrained import bundled_task_folder
from elmokit.tasks.assemble import layer_store, texts_of
from elmokit.tasks.evaluate import predictions_of
from elmokit.tasks.inputs.lexicon import Lexicon
from elmokit.tasks.task_folder import TrainedTask, read_task
from elmokit.text.tokenise import WordTokeniser

# A model that serves for long meets new forms all the time; with so many it starts anew.
MOST_FORMS = 200_000


class Predictor:
    """Answers by a trained model; make one with `elmokit.tasks.load`."""

    def __init__(self, trained: TrainedTask) -> None:
        self.trained = trained
        self.task = trained.task
        self._tokenise = WordTokeniser() if trained.elmo is None else trained.elmo.tokeniser

    def __repr__(self) -> str:
        elmo = self.trained.elmo_name or "no ELMo"
        return f"Predictor({self.task.name!r}, {elmo}, device={str(self.trained.network.device)!r})"

    def predict(self, inputs: Iterable[Any]) -> list[Any]:
        """Give an answer, plain JSON values, for each input, in the way of its task.

        A text that asks for several answers, as one with several predicates does, gets a list.
        """
        if isinstance(inputs, str | Mapping) or not isinstance(inputs, Iterable):
            raise InputError(f"inputs: expected a list of inputs, found one alone: {inputs!r:.80}")
        labels = self.trained.labels
        parsed = [self.task.parse(one, self._tokenise, labels) for one in inputs]
        numbered = [(number, one) for number, group in enumerate(parsed) for one in group]
        examples = [example for _, example in numbered]
        found = self._predictions(examples)
        answers: list[list[Any]] = [[] for _ in parsed]
        for number, pairs in groupby(zip(numbered, found, strict=True), key=lambda p: p[0][0]):
            answers[number] = [self.task.answer(one, prediction) for (_, one), prediction in pairs]
        single = self.task.answers_once
        return [group[0] if single else group for group in answers]

    def shown(self, answer: Any) -> str:
        """Give an answer of `predict` as people read it."""
        answers = [answer] if self.task.answers_once else answer
        return "\n".join(self.task.show(one) for one in answers)

    def evaluate(self, file: str | Path) -> dict[str, float]:
        """Give the task's figures on a file of its format."""
        examples = self.task.read(Path(file))
        self.task.check(examples, self.trained.labels, Path(file))
        return dict(self.task.score(examples, self._predictions(examples)))

    def mix_weights(self) -> dict[str, list[float]]:
        """Give the learnt weights of ELMo's layers by place, and the scale last."""
        return self.trained.network.token_vectors.mix_weights()

    def _predictions(self, examples: list[Any]) -> list[Any]:
        if not examples:
            return []
        trained, network = self.trained, self.trained.network
        if len(network.lexicon) > MOST_FORMS:
            network.lexicon = Lexicon(trained.words.all)
        network.store = layer_store(trained.elmo, trained.settings, device=network.device)
        if network.store is not None:
            network.store.add(texts_of(self.task, examples))
        try:
            return predictions_of(network, self.task, examples, trained.labels)
        finally:
            network.store = None


def load(model: str | Path, *, elmo: str | None = None, device: str = "auto") -> Predictor:
    """Load a folder that `elmo task train` wrote, or by a task's name the model in the box.

    ``elmo`` says where the biLM is that it was trained with, if that has moved. In the box is a
    model for ``ner``.
    """
    folder = Path(model)
    if isinstance(model, str) and not exists(folder):
        folder = bundled_task_folder(model) or folder
    return Predictor(read_task(folder, elmo=elmo, device=device))
