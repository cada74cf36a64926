"""Question answering as a task: SQuAD 1.1 and whatever has its form."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from elmokit.errors import FormatError, InputError
from elmokit.tasks.settings import InputSettings, ModelSettings, Recipe, TaskSettings
from elmokit.tasks.squad.data import Question, passage_of, read_questions
from elmokit.tasks.squad.metric import exact_match, f1
from elmokit.tasks.squad.model import SquadModel
from elmokit.tasks.squad.settings import SquadSettings
from elmokit.tasks.squad.spans import AnswerSpan
from elmokit.tasks.task import Labels, Targets, Tokenise, Tokens


class SquadTask:
    """Answers to questions that are pieces of a text; every question has one."""

    name = "squad"
    title = "SQuAD"
    metric = "f1"
    answers_once = True
    one_at_a_time = False

    def defaults(self) -> TaskSettings:
        """Give the ELMo paper's recipe, with AdamW in place of Adadelta.

        As there, ELMo stands at the input and the output, and its mix is not regularised.
        """
        return TaskSettings(
            recipe=Recipe(epochs=15, batch_size=32, average=0.999, patience=5),
            inputs=InputSettings(
                character_filters=((5, 100),),
                character_dim=20,
                elmo_at="both",
                elmo_l2=0.0,
            ),
            model=SquadSettings(),
        )

    def read(self, file: Path) -> list[Question]:
        """Read questions: see `elmokit.tasks.squad.data` for the formats."""
        return read_questions(file)

    def labels(self, examples: Sequence[Question]) -> Labels:
        """Count the questions, and those that teach nothing: no answer stands in the text."""
        without_span = sum(not example.spans for example in examples)
        if without_span == len(examples):
            raise InputError("training data: no answer of any question stands in its text")
        return {"questions": len(examples), "without_span": without_span}

    def check(self, examples: Sequence[Question], labels: Labels, file: Path) -> None:
        """Raise an error where questions have no known answer to compare with."""
        for example in examples:
            if not example.answers:
                raise FormatError(file, "a question has no answers", found=repr(example.text))

    def texts(self, examples: Sequence[Question]) -> list[list[Tokens]]:
        """Give the passages and the questions."""
        return [
            [example.passage.tokens for example in examples],
            [example.tokens for example in examples],
        ]

    def targets(self, examples: Sequence[Question], labels: Labels) -> Targets:
        """Say where answers start and end: ``starts`` and ``ends``, (B, T) for passages' T."""
        if not all(example.answers for example in examples):
            return {}
        shape = len(examples), max(len(example.passage.tokens) for example in examples)
        starts, ends = torch.zeros(shape, dtype=torch.bool), torch.zeros(shape, dtype=torch.bool)
        for row, example in enumerate(examples):
            for first, last in example.spans:
                starts[row, first] = True
                ends[row, last] = True
        return {"starts": starts, "ends": ends}

    def build(
        self, settings: ModelSettings, *, input_dim: int, output_dim: int, labels: Labels
    ) -> SquadModel:
        """Make the model."""
        assert isinstance(settings, SquadSettings)
        return SquadModel(
            input_dim=input_dim,
            output_dim=output_dim,
            hidden_dim=settings.hidden_dim,
            projection_dim=settings.projection_dim,
            dropout=settings.dropout,
            longest_answer=settings.longest_answer,
        )

    def score(
        self, examples: Sequence[Question], predictions: Sequence[AnswerSpan]
    ) -> Mapping[str, float]:
        """Compare answers with the best of those given for a question, as SQuAD does.

        ``f1``: common words. ``exact_match``: the same words. ``aligned``: how many questions
        have an answer whose place in the text is known.
        """
        texts = [
            example.passage.text_at(span.first, span.last)
            for example, span in zip(examples, predictions, strict=True)
        ]
        pairs = [(text, e.answers) for text, e in zip(texts, examples, strict=True)]
        return {
            "f1": _per_cent([f1(text, answers) for text, answers in pairs]),
            "exact_match": _per_cent([exact_match(text, answers) for text, answers in pairs]),
            "aligned": _per_cent([float(bool(example.spans)) for example in examples]),
        }

    def parse(self, text: Any, tokenise: Tokenise, labels: Labels) -> list[Question]:
        """Make an example of ``{"context": .., "question": ..}``."""
        if not isinstance(text, Mapping) or not {"context", "question"} <= text.keys():
            raise InputError(f"squad: expected a context and a question, found {text!r}")
        context, question = text["context"], text["question"]
        for name, value in (("context", context), ("question", question)):
            if not isinstance(value, str) or not tokenise(value):
                raise InputError(f"squad: {name}: expected a text of words, found {value!r}")
        tokens = tuple(token.text for token in tokenise(question))
        return [Question(passage_of(context, tokenise(context)), question, tokens)]

    def answer(self, example: Question, prediction: AnswerSpan) -> dict[str, Any]:
        """Give the answer's text, its first character and the one after it, and its probability.

        ``tokens`` are the answer's own.
        """
        first, last, score = prediction
        start, end = example.passage.characters_at(first, last)
        return {
            "question": example.text,
            "text": example.passage.text[start:end],
            "start": start,
            "end": end,
            "score": score,
            "tokens": list(example.passage.tokens[first : last + 1]),
        }

    def show(self, answer: dict[str, Any]) -> str:
        """Give the answer with its probability and its question."""
        return f"{answer['text']}  ({answer['score']:.2f})  {answer['question']}"


def _per_cent(values: Sequence[float]) -> float:
    return 100 * sum(values) / max(1, len(values))


TASK = SquadTask()
