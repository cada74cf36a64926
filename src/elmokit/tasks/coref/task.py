"""Coreference: which mentions of a document speak of the same thing."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import torch

from elmokit.errors import InputError
from elmokit.tasks.coref.data import CorefDocument, Mention, read_documents
from elmokit.tasks.coref.metric import coref_scores
from elmokit.tasks.coref.model import CorefModel
from elmokit.tasks.coref.sentences import sentences_of
from elmokit.tasks.coref.settings import CorefSettings
from elmokit.tasks.settings import InputSettings, ModelSettings, Recipe, TaskSettings
from elmokit.tasks.task import Labels, Targets, Tokenise, Tokens

# Annotation without singletons still lets a few slip in, where the rest of a cluster was dropped.
FEWEST_SINGLETONS = 0.05


class CorefTask:
    """Span ranking over documents; an example is a document, a batch holds one.

    A prediction is the clusters of a document, each a list of (first, last) tokens.
    """

    name = "coref"
    title = "Coref"
    metric = "f1"
    answers_once = True
    one_at_a_time = True

    def defaults(self) -> TaskSettings:
        """Give the recipe for LitBank or OntoGUM: about a hundred documents, one a step."""
        return TaskSettings(
            recipe=Recipe(
                epochs=100,
                batch_size=1,
                learning_rate=1e-3,
                warm_up=1.0,
                decay="linear",
                clip=5.0,
                average=0.999,
                patience=20,
            ),
            inputs=InputSettings(
                character_filters=((3, 50), (4, 50), (5, 50)),
                character_dim=8,
                dropout=0.5,
                elmo_at="input",
                elmo_l2=0.0,
                elmo_dropout=0.5,
            ),
            model=CorefSettings(),
        )

    def read(self, file: Path) -> list[CorefDocument]:
        """Read documents; see `elmokit.tasks.coref.data` for the format."""
        return read_documents(file)

    def labels(self, examples: Sequence[CorefDocument]) -> Labels:
        """Settle whether mentions that nothing refers to are annotated: ``singletons``."""
        sizes = [len(cluster) for example in examples for cluster in example.clusters or ()]
        return {"singletons": sizes.count(1) > FEWEST_SINGLETONS * len(sizes)}

    def check(self, examples: Sequence[CorefDocument], labels: Labels, file: Path) -> None:
        """Accept all that could be read: there are no labels that might be unknown."""

    def texts(self, examples: Sequence[CorefDocument]) -> list[list[Tokens]]:
        """Give one role: the sentences of all documents one after the other."""
        return [[sentence for example in examples for sentence in example.sentences]]

    def targets(self, examples: Sequence[CorefDocument], labels: Labels) -> Targets:
        """Make ``tokens`` and, where there are clusters, ``mentions`` and ``clusters``.

        `CorefModel` says what they are.
        """
        if len(examples) != 1:
            raise InputError(
                f"batch_size: coreference takes one document at a time, found {len(examples)}"
            )
        document = examples[0]
        targets = {
            "tokens": torch.tensor(
                [
                    [number, place]
                    for number, sentence in enumerate(document.sentences)
                    for place in range(len(sentence))
                ]
            )
        }
        if document.clusters is not None:
            mentions = [mention for cluster in document.clusters for mention in cluster]
            numbers = [
                number for number, cluster in enumerate(document.clusters, 1) for _ in cluster
            ]
            targets["mentions"] = torch.tensor(mentions, dtype=torch.long).view(-1, 2)
            targets["clusters"] = torch.tensor(numbers, dtype=torch.long)
        return targets

    def build(
        self, settings: ModelSettings, *, input_dim: int, output_dim: int, labels: Labels
    ) -> CorefModel:
        """Make the model."""
        assert isinstance(settings, CorefSettings)
        return CorefModel(
            settings, input_dim=input_dim, output_dim=output_dim, singletons=labels["singletons"]
        )

    def score(
        self, examples: Sequence[CorefDocument], predictions: Sequence[Any]
    ) -> Mapping[str, float]:
        """Give ``f1``, the mean of ``muc_f1``, ``b3_f1`` and ``ceaf_f1``, and these.

        They have ``_precision`` and ``_recall``; ``mention_*`` is about finding mentions alone.
        """
        return coref_scores([example.clusters or () for example in examples], predictions)

    def parse(self, text: Any, tokenise: Tokenise, labels: Labels) -> list[CorefDocument]:
        """Take a document: a text, a list of sentences, or a list of lists of tokens."""
        return [CorefDocument("", sentences_of(text, tokenise))]

    def answer(self, example: CorefDocument, prediction: Any) -> dict[str, Any]:
        """Give ``sentences``, and ``clusters`` of mentions.

        A mention has its ``sentence``, its ``first`` and ``last`` token, counted over the
        document, and its ``text``, tokens with spaces between them.
        """
        return {
            "sentences": [list(sentence) for sentence in example.sentences],
            "clusters": [_mentions(example, cluster) for cluster in prediction],
        }

    def show(self, answer: dict[str, Any]) -> str:
        """Give a line for each cluster, its mentions in order."""
        lines = [
            " | ".join(mention["text"] for mention in cluster) for cluster in answer["clusters"]
        ]
        return "\n".join(lines) or "no mentions found"


def _mentions(document: CorefDocument, cluster: Sequence[Mention]) -> list[dict[str, Any]]:
    ends = list(accumulate(map(len, document.sentences)))
    tokens = [token for sentence in document.sentences for token in sentence]
    return [
        {
            "sentence": sum(end <= first for end in ends),
            "first": first,
            "last": last,
            "text": " ".join(tokens[first : last + 1]),
        }
        for first, last in cluster
    ]


TASK = CorefTask()
