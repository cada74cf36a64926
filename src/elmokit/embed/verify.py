"""Is this model whole, and does it behave like a biLM?"""

from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

from elmokit.embed.elmo import Elmo
from elmokit.embed.load import PathLike, read_checkpoint
from elmokit.errors import ElmoError
from elmokit.formats.checkpoint import Checkpoint

# Sentences in several scripts, of unlike lengths.
SENTENCES = (
    ["She", "sat", "on", "the", "bank", "of", "the", "river", "."],
    ["The", "bank", "raised", "its", "rates", "."],
    ["강가의", "은행나무", "아래", "🙂"],
    ["."],
)
# The same sentence in another batch goes through products of another shape, whose sums are
# rounded in another order.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    name: str
    ok: bool
    detail: str


def verify(
    source: PathLike | None = None,
    *,
    options: PathLike | None = None,
    vocabulary: PathLike | None = None,
    token_embedding: PathLike | None = None,
) -> list[Check]:
    """Check a model's files, then its behaviour; stop at the first failure."""
    checks: list[Check] = []
    try:
        checkpoint = read_checkpoint(
            source, options=options, vocabulary=vocabulary, token_embedding=token_embedding
        )
    except ElmoError as error:
        return [Check("files", False, str(error))]
    manifest = "SHA-256 of every file, " if checkpoint.source_format == "native" else ""
    checks.append(Check("files", True, f"{manifest}names, shapes and finite values of all tensors"))
    for name, check in (
        ("finite output", _finite),
        ("batch independence", _batch_independence),
        ("directions", _directions),
    ):
        ok, detail = check(checkpoint)
        checks.append(Check(name, ok, detail))
        if not ok:
            break
    return checks


def _embedder(checkpoint: Checkpoint) -> Callable[..., list[np.ndarray]]:
    elmo = Elmo(checkpoint, device="cpu")
    return lambda sentences: elmo.embed(sentences, layers="all")


def _finite(checkpoint: Checkpoint) -> tuple[bool, str]:
    """All numbers are finite and words differ from each other."""
    outputs = _embedder(checkpoint)(SENTENCES)
    if not all(np.isfinite(vectors).all() for vectors in outputs):
        return False, "the model gives NaN or infinity for ordinary words"
    if not np.std(outputs[0][-1], axis=0).any():
        return False, "the model gives the same vector for every word of a sentence"
    return True, f"{len(outputs)} sentences, values finite and not all alike"


def _batch_independence(checkpoint: Checkpoint) -> tuple[bool, str]:
    """A sentence has the same vectors alone and among others."""
    embed = _embedder(checkpoint)
    together = embed(SENTENCES)
    gap = max(
        float(np.abs(embed([sentence])[0] - vectors).max())
        for sentence, vectors in zip(SENTENCES, together, strict=True)
    )
    return gap <= TOLERANCE, f"largest difference alone against in a batch {gap:.1e}"


def _directions(checkpoint: Checkpoint) -> tuple[bool, str]:
    """The forward half sees only what came before, the backward half only what follows."""
    embed = _embedder(checkpoint)
    words = list(SENTENCES[0])
    middle = len(words) // 2
    changed = [*words[:middle], _other_word(words[middle], checkpoint), *words[middle + 1 :]]
    before, after = embed([words, changed])
    half = before.shape[2] // 2
    gap = np.abs(before - after).max(axis=0)  # (tokens, dim), over layers
    blind = max(float(gap[:middle, :half].max()), float(gap[middle + 1 :, half:].max()))
    seen = min(float(gap[middle, :half].max()), float(gap[middle, half:].max()))
    return blind <= TOLERANCE < seen, f"change ahead of a direction seen by {blind:.1e}"


def _other_word(word: str, checkpoint: Checkpoint) -> str:
    """Give a word that the model can tell from ``word``."""
    vocabulary = checkpoint.vocabulary
    if checkpoint.config.characters is not None or vocabulary is None:
        return "Zebra"
    ids = vocabulary.ids(vocabulary.words)
    known = int(vocabulary.ids([word])[0])
    marks = asdict(vocabulary.marks).values()
    others = (
        other
        for other, number in zip(vocabulary.words, ids, strict=True)
        if number != known and other not in marks
    )
    return next(others, "Zebra")
