"""A linear classifier of tokens, of one layer or of a learnt mix of layers.

K layers, N tokens, D size of a vector, C classes, B tokens of a batch
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

CHUNK = 4096  # tokens in full precision at once


@dataclass(frozen=True, kw_only=True)
class LinearRecipe:
    """How the logistic regression is trained; chosen on UD English EWT's dev part."""

    epochs: int = 20
    """Passes over the training tokens."""
    least_steps: int = 2000
    """A small text is passed over more often, until it had so many steps."""
    batch_size: int = 1024
    """Tokens of one step."""
    learning_rate: float = 1e-2
    """AdamW's at the start; it falls to 0 in a straight line."""
    weight_decay: float = 0.3
    """AdamW's, of the weights."""
    seed: int = 0
    """Of the order of the training tokens; the weights start at 0."""


class LinearTagger(NamedTuple):
    """A trained classifier: the layers are standardised, mixed and multiplied."""

    mean: Tensor
    """(K, D)"""
    deviation: Tensor
    """(K, D)"""
    mix: Tensor
    """(K,), positive, of sum 1"""
    weight: Tensor
    """(C, D)"""
    bias: Tensor
    """(C,)"""

    def predict(self, vectors: Tensor) -> Tensor:
        """Give the class of each token, (N,), from (K, N, D)."""
        found = []
        with torch.no_grad():
            for some in torch.split(vectors, CHUNK, dim=1):
                mixed = _mixed(some, self.mean, self.deviation, self.mix)  # (B, D)
                found.append(F.linear(mixed, self.weight, self.bias).argmax(dim=1))
        return torch.cat(found)


def fit(vectors: Tensor, classes: Tensor, *, count: int, recipe: LinearRecipe) -> LinearTagger:
    """Train on tokens (K, N, D), of any precision, with ``classes`` (N,) below ``count``."""
    mean, deviation = moments(vectors)
    weight = torch.zeros(count, vectors.shape[2], device=vectors.device, requires_grad=True)
    bias = torch.zeros(count, device=vectors.device, requires_grad=True)
    mix = torch.zeros(len(vectors), device=vectors.device, requires_grad=True)  # before softmax
    optimiser = torch.optim.AdamW(
        [
            {"params": [weight], "weight_decay": recipe.weight_decay},
            {"params": [bias, mix], "weight_decay": 0.0},
        ],
        lr=recipe.learning_rate,
    )
    tokens = vectors.shape[1]
    steps_an_epoch = -(-tokens // recipe.batch_size)
    epochs = max(recipe.epochs, -(-recipe.least_steps // steps_an_epoch))
    steps = epochs * steps_an_epoch
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1 - step / steps)
    generator = torch.Generator().manual_seed(recipe.seed)
    for _ in range(epochs):
        order = torch.randperm(tokens, generator=generator).to(vectors.device)
        for chosen in torch.split(order, recipe.batch_size):
            batch = _mixed(vectors[:, chosen], mean, deviation, mix.softmax(dim=0))  # (B, D)
            loss = F.cross_entropy(F.linear(batch, weight, bias), classes[chosen])
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            schedule.step()
    return LinearTagger(
        mean, deviation, mix.detach().softmax(dim=0), weight.detach(), bias.detach()
    )


def moments(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of each dimension (K, D), without a float32 copy of all."""
    shape = (vectors.shape[0], vectors.shape[2])
    total = torch.zeros(shape, dtype=torch.float64, device=vectors.device)
    squares = torch.zeros_like(total)
    for some in torch.split(vectors, CHUNK, dim=1):
        total += some.double().sum(dim=1)
        squares += some.double().square().sum(dim=1)
    mean = total / vectors.shape[1]
    variance = squares / vectors.shape[1] - mean.square()
    return mean.float(), variance.clamp(min=1e-12).sqrt().float()


def _mixed(vectors: Tensor, mean: Tensor, deviation: Tensor, mix: Tensor) -> Tensor:
    """Give (B, D) from (K, B, D)."""
    standard = (vectors.float() - mean[:, None]) / deviation[:, None]  # (K, B, D)
    return torch.einsum("k,kbd->bd", mix, standard)
