"""`elmo static train`: static word vectors from a corpus."""

from pathlib import Path
from typing import Annotated

import typer

from elmokit.cli.ngram_train import (
    CorpusArgument,
    FieldOption,
    OverwriteOption,
    TokenisedOption,
)
from elmokit.cli.options import Json, print_json


def command(
    corpus: CorpusArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Text file to write; .gz, .xz, .zst pack it.")
    ],
    method: Annotated[
        str, typer.Option("--method", help="skipgram, cbow, fasttext or glove.")
    ] = "skipgram",
    dim: Annotated[int, typer.Option("--dim", help="Size of a vector.")] = 100,
    window: Annotated[
        int | None,
        typer.Option("--window", help="Words looked at on each side; default: 5, GloVe 10."),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option("--epochs", help="Passes over the text; default: 5, GloVe 25.")
    ] = None,
    min_count: Annotated[int, typer.Option("--min-count", help="Rarer words are left out.")] = 5,
    seed: Annotated[int, typer.Option("--seed", help="The same seed, the same vectors.")] = 0,
    field: FieldOption = None,
    tokenised: TokenisedOption = False,
    overwrite: OverwriteOption = False,
    as_json: Json = False,
) -> None:
    """Learn static vectors by word2vec (skip-gram, CBOW), fastText or GloVe."""
    from elmokit.baselines.static_train import checked_method, train_static
    from elmokit.files import check_parent, exists, exists_error

    chosen = checked_method(method)
    check_parent(output)
    if exists(output) and not overwrite:
        raise exists_error(output)
    vectors = train_static(
        corpus,
        method=chosen,
        dim=dim,
        window=window,
        epochs=epochs,
        min_count=min_count,
        seed=seed,
        tokeniser="whitespace" if tokenised else "words",
        field=field,
    )
    vectors.save(output)
    if as_json:
        print_json(
            {"vectors": str(output), "method": method, "words": len(vectors), "dim": vectors.dim}
        )
        return
    print(f"{len(vectors):,} words x {vectors.dim} by {method}, saved to {output}")
