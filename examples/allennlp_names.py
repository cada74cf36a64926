"""Old AllenNLP code on elmokit: only the import is new.

    python examples/allennlp_names.py [options.json weights.hdf5]

Without files it takes the model in the box. A tiny tagger tells verbs from other words and prints
how its mix has come to weigh the layers; then a few lines with `ElmoEmbedder`.
"""

import sys

import numpy as np
import torch
from torch import nn

from elmokit.compat.allennlp import Elmo, ElmoEmbedder, batch_to_ids  # was: allennlp

SENTENCES = [
    ["they", "play", "in", "the", "garden"],
    ["the", "play", "was", "long"],
    ["we", "watch", "the", "film"],
    ["his", "watch", "is", "old"],
]
VERBS = [[0, 1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
PADDING = -1


class Tagger(nn.Module):
    """ELMo below, a linear layer on top."""

    def __init__(self, options_file: str | None, weight_file: str) -> None:
        super().__init__()
        self.elmo = Elmo(options_file, weight_file, num_output_representations=1, dropout=0.2)
        self.scores = nn.Linear(self.elmo.get_output_dim(), 2)

    def forward(self, character_ids: torch.Tensor) -> torch.Tensor:
        """Give the scores (sentences, tokens, 2)."""
        representations = self.elmo(character_ids)["elmo_representations"]
        scores: torch.Tensor = self.scores(representations[0])
        return scores


def main() -> None:
    """Train the tagger, then embed."""
    files = sys.argv[1:3] if len(sys.argv) > 2 else [None, "english-base"]
    torch.manual_seed(0)
    tagger = Tagger(*files)
    ids = batch_to_ids(SENTENCES)
    labels = torch.full(ids.shape[:2], PADDING)
    for row, tags in enumerate(VERBS):
        labels[row, : len(tags)] = torch.tensor(tags)
    trained = [parameter for parameter in tagger.parameters() if parameter.requires_grad]
    optimiser = torch.optim.Adam(trained, lr=0.02)
    for epoch in range(7):
        loss = nn.functional.cross_entropy(
            tagger(ids).flatten(0, 1), labels.flatten(), ignore_index=PADDING
        )
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        if epoch % 3 == 0:
            print(f"epoch {epoch:2}  loss {loss.item():.3f}")
    state = tagger.state_dict()
    weights = torch.cat([state[f"elmo.scalar_mix_0.scalar_parameters.{i}"] for i in range(3)])
    print("mix", " ".join(f"{weight:.3f}" for weight in torch.softmax(weights, dim=0)))

    embedder = ElmoEmbedder(*files)
    verb = embedder.embed_sentence(SENTENCES[0])[2, 1]
    noun = embedder.embed_sentence(SENTENCES[1])[2, 1]
    cosine = float(verb @ noun / (np.linalg.norm(verb) * np.linalg.norm(noun)))
    print(f"'play' as verb and as noun: cosine {cosine:.2f}")


if __name__ == "__main__":
    main()
