"""Writing an index of words in context, with the memory of a few batches whatever the corpus.

n tokens of a sentence, D size of a vector
"""

import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from elmokit.analysis.context_index_bounds import write_bounds
from elmokit.analysis.context_index_layout import (
    FACTS_FILE,
    FAISS_FILE,
    FORMAT_VERSION,
    INDEX_FILES,
    VECTORS_FILE,
    IndexFacts,
)
from elmokit.analysis.context_index_writer import IndexWriter
from elmokit.analysis.corpus_sentences import corpus_sentences
from elmokit.analysis.skipped_words import keeper
from elmokit.corpus.problems import Problems
from elmokit.corpus.sources import PathLike
from elmokit.embed.elmo import Elmo
from elmokit.embed.elmo_identity import elmo_identity
from elmokit.embed.layer_choice import Layers
from elmokit.embed.progress import progress_bar
from elmokit.engine.cpu.tiles import avoid_broken_tiles
from elmokit.errors import InputError
from elmokit.files import replacing_folder, write_json, write_manifest
from elmokit.text.tokenise import Token, Tokeniser, WhitespaceTokeniser

# Below this an exact search that looks at every vector is fast enough.
FEWEST_FOR_BOUNDS = 20_000


@dataclass(frozen=True)
class IndexSummary:
    """What was written."""

    output: str
    model: str
    layer: int | None
    weights: tuple[float, ...] | None
    occurrences: int
    sentences: int
    dim: int
    seconds: float
    problems: dict[str, Any]


@dataclass(frozen=True)
class _Line:
    text: str
    tokens: list[Token]


def build_index(
    corpus: Sequence[PathLike],
    output: str | Path,
    *,
    elmo: Elmo,
    source: str | Path | None = None,
    layers: Layers = "top",
    field: str | None = None,
    tokenised: bool = False,
    skip: str = "nothing",
    limit_tokens: int | None = None,
    faiss: bool = False,
    overwrite: bool = False,
    progress: bool = False,
) -> IndexSummary:
    """Embed a corpus and keep the vector of every token beside its sentence.

    ``corpus`` is read by `corpus_sentences`; lines are cut by the model's tokeniser, or at white
    space with ``tokenised``. ``layers`` is a layer or mix as `Elmo.embed` takes it; ``skip`` says
    which tokens to leave out (`keeper`). Reading ends before a sentence that would make more than
    ``limit_tokens`` occurrences. ``source`` is what ``elmo`` was loaded by, so that queries can
    load it again. With ``faiss`` there is an approximate index as well.
    """
    avoid_broken_tiles()
    keep = keeper(skip)
    if limit_tokens is not None and limit_tokens < 1:
        raise InputError(f"limit_tokens: expected a number above 0, found {limit_tokens}")
    if elmo.start == "carry":
        raise InputError("elmo: an index needs start='warm' or 'zeros', found start='carry'")
    layer, weights = _one_layer(layers, elmo.layer_count)
    tokeniser = WhitespaceTokeniser() if tokenised else elmo.tokeniser
    problems = Problems()
    output = Path(output)
    sentences = corpus_sentences(corpus, field=field, leave_out=output, problems=problems)
    started = time.perf_counter()
    with replacing_folder(output, overwrite=overwrite, replaceable=INDEX_FILES) as folder:
        writer = IndexWriter(folder, elmo.dim)
        pending: deque[_Line] = deque()

        def token_lists() -> Iterator[list[str]]:
            taken = 0
            for line in _lines(sentences, tokeniser):
                taken += sum(keep(token.text) for token in line.tokens)
                if limit_tokens is not None and taken > limit_tokens:
                    return
                pending.append(line)
                yield [token.text for token in line.tokens]

        choice = layer if weights is None else weights
        assert choice is not None
        with closing(writer), progress_bar() as bar:
            task = bar.add_task("Embedding", total=limit_tokens, visible=progress)
            for vectors in elmo.embed_iter(token_lists(), layers=choice):
                line = pending.popleft()
                kept = [place for place, token in enumerate(line.tokens) if keep(token.text)]
                writer.write(line.text, [line.tokens[place] for place in kept], vectors[kept])
                bar.advance(task, len(kept))
        if not writer.occurrences:
            raise InputError(
                f"{', '.join(map(str, corpus))}: the corpus holds no token that is kept"
                + "".join(f" ({problem})" for problem in _first(problems))
            )
        vectors = np.load(folder / VECTORS_FILE, mmap_mode="c")
        has_bounds = len(vectors) >= FEWEST_FOR_BOUNDS
        if has_bounds:
            write_bounds(folder, vectors)
        if faiss:
            from elmokit.analysis.context_index_faiss import write_faiss

            write_faiss(folder / FAISS_FILE, vectors)
        facts = IndexFacts(
            version=FORMAT_VERSION,
            model=str(elmo.metadata.get("name", elmo.source_format)),
            model_source=None if source is None else str(source),
            model_sha256=elmo_identity(elmo),
            start=elmo.start,
            dtype=elmo.dtype,
            layer=layer,
            weights=weights,
            tokenised=tokenised,
            skip=skip,
            dim=elmo.dim,
            occurrences=writer.occurrences,
            sentences=writer.sentences,
            has_bounds=has_bounds,
            has_faiss=faiss,
        )
        write_json(folder / FACTS_FILE, facts.to_dict())
        write_manifest(folder)
    return IndexSummary(
        str(output),
        facts.model,
        layer,
        weights,
        writer.occurrences,
        writer.sentences,
        elmo.dim,
        round(time.perf_counter() - started, 3),
        problems.to_dict(),
    )


def _lines(sentences: Iterator[str], tokeniser: Tokeniser) -> Iterator[_Line]:
    for text in sentences:
        tokens = tokeniser(text)
        if tokens:
            yield _Line(text, tokens)


def _one_layer(layers: Layers, count: int) -> tuple[int | None, tuple[float, ...] | None]:
    """Give the number of a layer, or the weights of all."""
    if isinstance(layers, str):
        if layers == "top":
            return count - 1, None
        if layers == "average":
            return None, (1 / count,) * count
    elif isinstance(layers, int | np.integer):
        if -count <= layers < count and not isinstance(layers, bool):
            return int(layers) % count, None
        raise InputError(f"layer: this model has layers 0 to {count - 1}, found {layers}")
    else:
        weights = tuple(float(weight) for weight in layers)
        if len(weights) == count and np.isfinite(weights).all() and any(weights):
            return None, weights
    raise InputError(
        f"layer: expected 'top', 'average', the number of a layer, or one weight for each of the "
        f"{count} layers, found {layers!r}"
    )


def _first(problems: Problems) -> list[str]:
    return [str(examples[0]) for examples in problems.examples.values() if examples][:1]
