"""A small part-of-speech tagger on top of ELMo: a BiLSTM with `ElmoLayer` below and above it.

    python examples/elmo_layer_tagger.py

It trains on the few sentences written here, prints the loss of each epoch, the weights that the
two mixes have learnt, and the tags of a sentence it has not seen, in which *watch* and *play* may
be nouns or verbs. It shows how the parts fit together; a tagger for real work needs real data.

B sentences, T tokens, E size of an ELMo vector, H size of one direction of the task's LSTM
"""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

import elmokit

EPOCHS = 10
BATCH_SIZE = 4
PADDING = -100  # the label that nn.functional.cross_entropy passes over

TAGGED = """
the/DET children/NOUN play/VERB in/ADP the/DET park/NOUN ./PUNCT
the/DET play/NOUN was/VERB long/ADJ ./PUNCT
we/PRON watch/VERB the/DET birds/NOUN ./PUNCT
my/DET watch/NOUN is/VERB old/ADJ ./PUNCT
they/PRON fish/VERB in/ADP the/DET river/NOUN ./PUNCT
the/DET fish/NOUN was/VERB fresh/ADJ ./PUNCT
you/PRON walk/VERB along/ADP the/DET bank/NOUN ./PUNCT
the/DET walk/NOUN was/VERB short/ADJ ./PUNCT
we/PRON saw/VERB a/DET play/NOUN ./PUNCT
they/PRON play/VERB chess/NOUN ./PUNCT
a/DET guard/NOUN sat/VERB near/ADP the/DET bank/NOUN ./PUNCT
dogs/NOUN guard/VERB the/DET house/NOUN ./PUNCT
I/PRON bank/VERB with/ADP them/PRON ./PUNCT
the/DET old/ADJ house/NOUN has/VERB a/DET garden/NOUN ./PUNCT
she/PRON has/VERB a/DET fresh/ADJ fish/NOUN ./PUNCT
the/DET birds/NOUN sat/VERB on/ADP the/DET old/ADJ boat/NOUN ./PUNCT
we/PRON like/VERB the/DET fish/NOUN in/ADP the/DET river/NOUN ./PUNCT
the/DET guard/NOUN at/ADP the/DET bank/NOUN is/VERB old/ADJ ./PUNCT
she/PRON took/VERB a/DET walk/NOUN along/ADP the/DET river/NOUN ./PUNCT
"""
NEW_SENTENCE = "they watch the play in the garden ."

Sentence = tuple[list[str], list[str]]


class Tagger(nn.Module):
    """ELMo at the input and at the output of the task's LSTM, as in section 3.3 of the paper."""

    def __init__(self, elmo: elmokit.Elmo, *, tags: int, hidden_dim: int = 32) -> None:
        super().__init__()
        self.elmo = elmokit.ElmoLayer(elmo, mixes=2, dropout=0.5, l2=0.001)
        self.lstm = nn.LSTM(self.elmo.output_dim, hidden_dim, batch_first=True, bidirectional=True)
        self.scores = nn.Linear(2 * hidden_dim + self.elmo.output_dim, tags)

    def forward(self, sentences: list[list[str]]) -> Tensor:
        """Give the score of every tag for every token: (B, T, tags)."""
        (below, above), mask = self.elmo(sentences)  # twice (B, T, E); (B, T)
        packed = pack_padded_sequence(
            below, mask.sum(dim=1).cpu(), batch_first=True, enforce_sorted=False
        )
        context, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)  # (B, T, 2H)
        scores: Tensor = self.scores(torch.cat([context, above], dim=2))
        return scores


def main() -> None:
    """Train, then show what was learnt."""
    torch.manual_seed(0)
    sentences = [_read(line) for line in TAGGED.strip().splitlines()]
    tags = sorted({tag for _, line_tags in sentences for tag in line_tags})

    tagger = Tagger(elmokit.load(), tags=len(tags))
    # The frozen biLM has no gradients: only the mixes and the task's own weights are trained.
    trained = [parameter for parameter in tagger.parameters() if parameter.requires_grad]
    optimiser = torch.optim.Adam(trained, lr=0.005)

    for epoch in range(1, EPOCHS + 1):
        print(f"epoch {epoch:2}  loss {_train_epoch(tagger, optimiser, sentences, tags):.3f}")

    for number, mix_weights in enumerate(tagger.elmo.mix_weights()):
        print(
            f"mix {number}  weights", " ".join(f"{weight:.3f}" for weight in mix_weights.tolist())
        )

    tagger.eval()
    words = NEW_SENTENCE.split()
    with torch.no_grad():
        best = tagger([words])[0].argmax(dim=1).tolist()
    print(" ".join(f"{word}/{tags[tag]}" for word, tag in zip(words, best, strict=True)))


def _read(line: str) -> Sentence:
    pairs = [token.split("/") for token in line.split()]
    return [word for word, _ in pairs], [tag for _, tag in pairs]


def _train_epoch(
    tagger: Tagger,
    optimiser: torch.optim.Optimizer,
    sentences: list[Sentence],
    tags: list[str],
) -> float:
    """Go through the sentences once in random order and give the mean loss of the batches."""
    tagger.train()
    losses = []
    order = torch.randperm(len(sentences)).tolist()
    for first in range(0, len(order), BATCH_SIZE):
        batch = [sentences[row] for row in order[first : first + BATCH_SIZE]]
        labels = pad_sequence(
            [torch.tensor([tags.index(tag) for tag in line_tags]) for _, line_tags in batch],
            batch_first=True,
            padding_value=PADDING,
        )  # (B, T)
        scores = tagger([words for words, _ in batch])  # (B, T, tags)
        loss = nn.functional.cross_entropy(
            scores.flatten(0, 1), labels.flatten(), ignore_index=PADDING
        )
        optimiser.zero_grad()
        (loss + tagger.elmo.penalty()).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


if __name__ == "__main__":
    main()
