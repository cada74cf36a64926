"""What a fine-tuning has changed: held-out figures that can be compared."""

from dataclasses import asdict, dataclass
from typing import Any

from elmokit.corpus.prepared import PreparedCorpus
from elmokit.engine.build import bilm_from_tensors
from elmokit.engine.runner import Runner
from elmokit.formats.checkpoint import Checkpoint
from elmokit.lm.evaluate import Evaluation
from elmokit.lm.held_out import evaluate_held_out
from elmokit.lm.language_model import LanguageModel
from elmokit.lm.new_words import BIAS, WEIGHT, Extended, in_old_order
from elmokit.lm.output_layer import output_layer
from elmokit.lm.pooled_softmax import PooledSoftmax
from elmokit.nn.softmax import LanguageModelSoftmax
from elmokit.text.token_indexer import TokenIndexer
from elmokit.text.vocabulary import Vocabulary
from elmokit.training.conduct import Conduct
from elmokit.training.distributed import is_first_process, own_device
from elmokit.training.journal import LiveLine


@dataclass(frozen=True, kw_only=True)
class BeforeAfter:
    """Held-out figures over one vocabulary."""

    before: Evaluation | None
    """Before training."""
    after: Evaluation | None
    """After it; None while the run is not finished."""


def before_after(before: dict[str, Any] | None, after: dict[str, Any] | None) -> BeforeAfter | None:
    """Put figures together as they lie in files; None where there are none."""
    if before is None and after is None:
        return None
    return BeforeAfter(
        before=None if before is None else Evaluation(**before),
        after=None if after is None else Evaluation(**after),
    )


class Judge:
    """Evaluates models on the held-out text of a corpus, as `pretrain` does."""

    def __init__(self, corpus: PreparedCorpus, conduct: Conduct) -> None:
        self.corpus = corpus
        self.device = own_device(conduct.device)
        self.line = LiveLine(quiet=conduct.quiet or not is_first_process())

    def __call__(self, checkpoint: Checkpoint) -> dict[str, Any] | None:
        """Give the figures of a model over its own vocabulary; None without held-out text."""
        return self._figures(checkpoint, *output_layer(checkpoint))

    def over_old_words(
        self, checkpoint: Checkpoint, extended: Extended, vocabulary: Vocabulary
    ) -> dict[str, Any] | None:
        """Give the figures of a model that has grown, over the vocabulary that it had.

        What it gives to new words counts as given to the unknown word.
        """
        softmax = PooledSoftmax.of(
            in_old_order(checkpoint.tensors[WEIGHT], extended),
            in_old_order(checkpoint.tensors[BIAS], extended),
            known=len(vocabulary),
            unknown=int(vocabulary.ids([vocabulary.marks.unknown])[0]),
        )
        return self._figures(checkpoint, softmax, vocabulary)

    def _figures(
        self, checkpoint: Checkpoint, softmax: LanguageModelSoftmax, vocabulary: Vocabulary
    ) -> dict[str, Any] | None:
        config = checkpoint.config
        indexer = TokenIndexer.for_model(
            config, vocabulary=checkpoint.vocabulary, characters=checkpoint.characters
        )
        bilm = bilm_from_tensors(config, checkpoint.tensors).to(self.device)
        model = LanguageModel(
            runner=Runner(bilm, indexer=indexer, marks=config.marks),
            softmax=softmax.to(self.device),
            vocabulary=vocabulary,
        )
        found = evaluate_held_out(model, self.corpus, self.line)
        return None if found is None else asdict(found)
