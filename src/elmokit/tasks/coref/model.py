"""End-to-end coreference by ranking of spans (Lee et al. 2017; pruning of Lee et al. 2018).

Every span up to a width is scored as a mention, the best are kept, and each kept span chooses
an antecedent among kept spans before it, or none, whose score is 0. The loss is that of all
antecedents in the gold cluster together: which of them it is does not matter.

That loss never reaches a mention that was not kept, and never says that one which nothing refers
to is a mention. So each span's mention score is also trained as the log-odds of being one. The
paper goes without, on OntoNotes' 2,800 documents; on a hundred, mentions that fall away at first
would stay away. Where the training data hold singletons, which OntoNotes does not, a kept span
with a score above 0 that is linked with none becomes a cluster of its own (Xu and Choi 2021).

Letters: S sentences, T tokens of the longest one, N tokens of the document, D size of an input
vector, E of an encoded token, W widest span, K kept spans, A antecedents of each, M gold mentions
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from elmokit.tasks.blocks.bilstm import BiLSTM
from elmokit.tasks.blocks.masked import VERY_LOW
from elmokit.tasks.coref.antecedents import Antecedents, AntecedentScorer
from elmokit.tasks.coref.clusters import NONE, linked_clusters
from elmokit.tasks.coref.data import Mention
from elmokit.tasks.coref.mentions import MentionScorer
from elmokit.tasks.coref.settings import CorefSettings
from elmokit.tasks.coref.spans import SpanParts, SpanReader, span_vectors
from elmokit.tasks.task import Targets, TaskModel, TextVectors


class CorefModel(TaskModel):
    """Reads one document a batch; its sentences are the batch of the LSTM.

    Of the targets, ``tokens`` (N, 2) says in which sentence and where in it each token is; only
    the loss needs ``mentions`` (M, 2), first and last token, and ``clusters`` (M,), 1 and up.
    """

    def __init__(
        self, settings: CorefSettings, *, input_dim: int, output_dim: int, singletons: bool
    ) -> None:
        super().__init__()
        self.settings = settings
        self.singletons = singletons
        self.lstm = BiLSTM(
            input_dim=input_dim, hidden_dim=settings.lstm_dim, layers=settings.lstm_layers
        )
        self.lstm_dropout = nn.Dropout(settings.lstm_dropout)
        encoded_dim = self.lstm.output_dim + output_dim
        self.span_reader = SpanReader(
            encoded_dim=encoded_dim,
            widest=settings.widest,
            feature_dim=settings.feature_dim,
            dropout=settings.dropout,
        )
        self.mention_scorer = MentionScorer(
            encoded_dim=encoded_dim,
            input_dim=input_dim,
            feature_dim=settings.feature_dim,
            hidden_dim=settings.hidden_dim,
            hidden_layers=settings.hidden_layers,
            dropout=settings.dropout,
        )
        self.antecedent_scorer = AntecedentScorer(
            span_dim=2 * encoded_dim + input_dim + settings.feature_dim,
            antecedents=settings.antecedents,
            coarse_dim=settings.coarse_dim,
            feature_dim=settings.feature_dim,
            hidden_dim=settings.hidden_dim,
            hidden_layers=settings.hidden_layers,
            dropout=settings.dropout,
        )

    def losses(self, texts: Sequence[TextVectors], targets: Targets) -> Tensor:
        """Give the document's loss (1,), as a mean over its kept spans."""
        parts, mention_scores = self._mention_scores(texts[0], targets)
        kept, antecedents = self._antecedents(parts, mention_scores)
        clusters = self._clusters_of_spans(targets, len(parts.inputs))  # (N * W,)
        loss = antecedent_loss(antecedents, clusters[kept])
        if self.settings.mention_weight > 0:
            unsure = binary_cross_entropy_with_logits(
                mention_scores, (clusters > 0).float().view_as(mention_scores), reduction="none"
            )  # (N, W)
            loss = loss + self.settings.mention_weight * unsure.mul(parts.exists).sum()
        return (loss / len(kept))[None]

    def predict(self, texts: Sequence[TextVectors], targets: Targets) -> list[list[list[Mention]]]:
        """Give the document's clusters of mentions, alone in a list."""
        parts, mention_scores = self._mention_scores(texts[0], targets)
        kept, antecedents = self._antecedents(parts, mention_scores)
        best, choice = antecedents.scores.max(dim=1)  # (K,)
        chosen = antecedents.places.gather(1, choice[:, None])[:, 0]
        chosen = torch.where(best > 0, chosen, NONE)
        alone = (mention_scores.flatten()[kept] > 0) & self.singletons
        first = kept // self.settings.widest
        last = first + kept % self.settings.widest
        rows = torch.stack([first, last, chosen, alone.long()], dim=1).tolist()
        return [
            linked_clusters(
                [(first, last) for first, last, _, _ in rows],
                [antecedent for _, _, antecedent, _ in rows],
                [bool(is_alone) for *_, is_alone in rows],
            )
        ]

    def _mention_scores(self, text: TextVectors, targets: Targets) -> tuple[SpanParts, Tensor]:
        """Give what spans are made of, and their scores (N, W)."""
        sentences, places = targets["tokens"].unbind(dim=1)  # (N,), (N,)
        encoded = self.lstm_dropout(self.lstm(text.inputs, text.mask))  # (S, T, 2 * lstm_dim)
        if text.at_output is not None:
            encoded = torch.cat([encoded, text.at_output.to(encoded.dtype)], dim=-1)  # (S, T, E)
        tokens = sentences * text.inputs.shape[1] + places
        parts = self.span_reader(
            encoded.flatten(0, 1).index_select(0, tokens),  # (N, E)
            text.inputs.flatten(0, 1).index_select(0, tokens),  # (N, D)
            sentences,
        )
        return parts, self.mention_scorer(parts)

    def _antecedents(self, parts: SpanParts, mention_scores: Tensor) -> tuple[Tensor, Antecedents]:
        """Keep the likeliest spans (K,), in order of the text, and score their antecedents.

        Unlike the paper's, kept spans may cross each other; they hardly ever do in the end, and
        to forbid it takes one span after the other.
        """
        count = max(1, int(self.settings.spans_per_token * len(parts.inputs)))
        scores = mention_scores.flatten()
        kept = scores.detach().topk(count).indices.sort().values  # (K,)
        return kept, self.antecedent_scorer(span_vectors(parts, kept), scores.index_select(0, kept))

    def _clusters_of_spans(self, targets: Targets, tokens: int) -> Tensor:
        """Give the gold cluster of each span (N * W,), 0 where it is no mention."""
        widest = self.settings.widest
        first, last = targets["mentions"].unbind(dim=1)
        # Mentions wider than any span go to one more place, which is cut off.
        spans = torch.where(last - first < widest, first * widest + last - first, tokens * widest)
        clusters = spans.new_zeros(tokens * widest + 1)
        return clusters.scatter(0, spans, targets["clusters"])[:-1]


def antecedent_loss(antecedents: Antecedents, clusters: Tensor) -> Tensor:
    """Give the summed loss of kept spans, whose gold clusters (K,) are 0 for those that have none.

    What stands first in a row stands for no antecedent.
    """
    is_gold = (
        antecedents.exists
        & (clusters[antecedents.places] == clusters[:, None])
        & (clusters > 0)[:, None]
    )  # (K, A)
    scores = torch.cat([antecedents.scores.new_zeros(len(clusters), 1), antecedents.scores], dim=1)
    is_gold = torch.cat([~is_gold.any(dim=1, keepdim=True), is_gold], dim=1)  # (K, A + 1)
    gold_scores = torch.where(is_gold, scores, VERY_LOW)
    return (scores.logsumexp(dim=1) - gold_scores.logsumexp(dim=1)).sum()
