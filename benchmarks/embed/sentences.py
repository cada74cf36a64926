"""The text that everybody embeds, and evenly spread parts of it for the slow ones."""

import gzip
import lzma
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

from elmokit.text.tokenise import tokeniser_named
from embed.protocol import Sentences

OPENERS: dict[str, Callable[..., IO[Any]]] = {".xz": lzma.open, ".gz": gzip.open}


@dataclass(frozen=True, kw_only=True)
class TextChoice:
    """Which sentences are taken from a file."""

    file: Path
    """One sentence a line, packed or not."""
    tokeniser: str = "words"
    """``words`` for raw text, ``whitespace`` for text that is tokenised already."""
    count: int = 2000
    """So many sentences, from the beginning."""
    longest: int = 100
    """Sentences with more tokens are passed over."""
    length: int | None = None
    """Cut the running text into sentences of exactly so many tokens."""


def read_sentences(choice: TextChoice) -> Sentences:
    """Read token lists; fewer than asked for where the file ends."""
    sentences = list(islice(_sentences(choice), choice.count))
    if not sentences:
        raise ValueError(f"--text: expected lines of text, found none in {choice.file}")
    return sentences


def _sentences(choice: TextChoice) -> Iterator[list[str]]:
    lines = _token_lines(choice)
    if choice.length is None:
        yield from (tokens for tokens in lines if len(tokens) <= choice.longest)
        return
    running: list[str] = []
    for tokens in lines:
        running += tokens
        while len(running) >= choice.length:
            yield running[: choice.length]
            running = running[choice.length :]


def _token_lines(choice: TextChoice) -> Iterator[list[str]]:
    tokeniser = tokeniser_named(choice.tokeniser)
    opener = OPENERS.get(choice.file.suffix, open)
    with opener(choice.file, "rt", encoding="utf-8") as lines:
        for line in lines:
            tokens = tokeniser.words(line)
            if tokens:
                yield tokens


def spread(total: int, *, count: int, block: int = 1) -> list[int]:
    """Choose about ``count`` of ``total`` in whole blocks of neighbours, evenly spaced.

    Blocks stay whole because a padded batch costs what its longest sentence costs.
    """
    blocks = -(-total // block)
    wanted = min(blocks, max(1, round(count / block)))
    chosen = [number * blocks // wanted for number in range(wanted)]
    return [
        index
        for number in chosen
        for index in range(number * block, min(total, (number + 1) * block))
    ]
