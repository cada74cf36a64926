"""A linear probe for parts of speech: what does one layer know of a word's class?

N tokens, L layers, D size of a vector, C tags
"""

from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

import elmokit
from probe_data import Example, examples, token_vectors

PARTS = ("train", "dev", "test")
CHUNK = 4096  # tokens in full precision at once


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How the logistic regression is trained; chosen on the dev part."""

    epochs: int = 20
    """Passes over the training tokens."""
    batch_size: int = 1024
    """Tokens of one step."""
    learning_rate: float = 1e-2
    """AdamW's at the start; it falls to 0 in a straight line."""
    weight_decay: float = 0.3
    """AdamW's, of the weights."""
    seed: int = 0
    """Of the order of the training tokens; the weights start at 0."""


@dataclass(frozen=True)
class Tagged:
    """The tokens of one part."""

    vectors: Tensor
    """(L, N, D), in half precision to save memory"""
    tags: Tensor
    """(N,)"""


def probe(
    elmo: elmokit.Elmo,
    data: Path,
    *,
    recipe: Recipe,
    limit: int | None = None,
    batch_tokens: int = 4096,
) -> dict[str, dict[str, float]]:
    """Give accuracy in percent on the dev and test part of UD English EWT for each layer."""
    texts = {part: examples(data / "ud" / f"en_ewt.{part}.jsonl.xz", limit) for part in PARTS}
    names = sorted({tag for text in texts.values() for line in text for tag in line["upos"]})
    parts = {part: _tagged(elmo, texts[part], names, batch_tokens) for part in PARTS}
    scores = {"most frequent tag": _most_frequent(texts)}
    for layer in range(elmo.layer_count):
        scores[f"layer {layer}"] = _fit(parts, layer, len(names), recipe)
    return scores


def _tagged(elmo: elmokit.Elmo, text: list[Example], names: list[str], batch_tokens: int) -> Tagged:
    numbers = {name: number for number, name in enumerate(names)}
    count = sum(len(line["tokens"]) for line in text)
    vectors = np.empty((elmo.layer_count, count, elmo.dim), dtype=np.float16)
    end = 0
    for found in token_vectors(elmo, (x["tokens"] for x in text), batch_tokens=batch_tokens):
        start, end = end, end + found.shape[1]
        vectors[:, start:end] = found
    tags = torch.tensor([numbers[tag] for line in text for tag in line["upos"]])
    return Tagged(torch.from_numpy(vectors).to(elmo.device), tags.to(elmo.device))


def _most_frequent(texts: dict[str, list[Example]]) -> dict[str, float]:
    """Each word's most frequent tag, and the most frequent of all for new words."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for line in texts["train"]:
        for token, tag in zip(line["tokens"], line["upos"], strict=True):
            counts[token][tag] += 1
            counts[""][tag] += 1
    best = {token: tags.most_common(1)[0][0] for token, tags in counts.items()}
    return {
        part: 100
        * float(
            np.mean(
                [
                    best.get(token, best[""]) == tag
                    for line in texts[part]
                    for token, tag in zip(line["tokens"], line["upos"], strict=True)
                ]
            )
        )
        for part in PARTS[1:]
    }


def _fit(parts: dict[str, Tagged], layer: int, classes: int, recipe: Recipe) -> dict[str, float]:
    train = parts["train"]
    vectors = train.vectors[layer]  # (N, D)
    mean, deviation = _moments(vectors)
    weight = torch.zeros(classes, len(mean), device=vectors.device, requires_grad=True)
    bias = torch.zeros(classes, device=vectors.device, requires_grad=True)
    optimiser = torch.optim.AdamW(
        [
            {"params": [weight], "weight_decay": recipe.weight_decay},
            {"params": [bias], "weight_decay": 0.0},
        ],
        lr=recipe.learning_rate,
    )
    steps = recipe.epochs * -(-len(vectors) // recipe.batch_size)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1 - step / steps)
    generator = torch.Generator().manual_seed(recipe.seed)
    for _ in range(recipe.epochs):
        order = torch.randperm(len(vectors), generator=generator).to(vectors.device)
        for chosen in torch.split(order, recipe.batch_size):
            batch = (vectors[chosen].float() - mean) / deviation  # (batch, D)
            loss = F.cross_entropy(F.linear(batch, weight, bias), train.tags[chosen])
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            schedule.step()
    scores = {}
    for part in PARTS[1:]:
        with torch.no_grad():
            right = [
                F.linear((x.float() - mean) / deviation, weight, bias).argmax(dim=1) == y
                for x, y in zip(
                    torch.split(parts[part].vectors[layer], CHUNK),
                    torch.split(parts[part].tags, CHUNK),
                    strict=True,
                )
            ]
        scores[part] = 100 * float(torch.cat(right).double().mean())
    return scores


def _moments(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of each dimension, without a float32 copy of all."""
    total = torch.zeros(vectors.shape[1], dtype=torch.float64, device=vectors.device)
    squares = torch.zeros_like(total)
    for some in torch.split(vectors, CHUNK):
        total += some.double().sum(dim=0)
        squares += some.double().square().sum(dim=0)
    mean = total / len(vectors)
    variance = squares / len(vectors) - mean.square()
    return mean.float(), variance.clamp(min=1e-12).sqrt().float()
