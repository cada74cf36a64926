"""`elmo export vectors`: one vector a word, in word2vec's format."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from elmokit.cli.options import (
    Json,
    ModelOption,
    OptionsFile,
    TokenEmbeddingFile,
    VocabularyFile,
    layers_named,
    print_json,
)


def command(
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="Binary if it ends in .bin, else text; .gz, .xz, .zst pack it."
        ),
    ],
    corpus: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CORPUS...]",
            help="Average each word over this text, given as to elmo static train.",
        ),
    ] = None,
    words: Annotated[
        Path | None,
        typer.Option("--words", help="Export these words, one a line, each read by itself."),
    ] = None,
    model: ModelOption = None,
    layers: Annotated[
        str | None,
        typer.Option(
            "--layers",
            help="top, average, a number, or weights as 0.2,0.3,0.5; default: average with a "
            "corpus, 0 without.",
        ),
    ] = None,
    min_count: Annotated[
        int, typer.Option("--min-count", help="Rarer words of the corpus are left out.")
    ] = 5,
    most: Annotated[
        int | None, typer.Option("--most", help="So many of the most frequent words; default: all.")
    ] = None,
    field: Annotated[
        str | None, typer.Option("--field", help="Field with the text in .jsonl and .ndjson.")
    ] = None,
    tokenised: Annotated[
        bool, typer.Option("--tokenised", help="Tokens are separated by white space already.")
    ] = False,
    start: Annotated[str, typer.Option("--start", help="warm or zeros.")] = "warm",
    device: Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")] = "auto",
    dtype: Annotated[
        str, typer.Option("--dtype", help="float32, bfloat16, int8 (CPU), tf32 (GPU) or float64.")
    ] = "float32",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    options: OptionsFile = None,
    vocabulary: VocabularyFile = None,
    token_embedding: TokenEmbeddingFile = None,
    as_json: Json = False,
) -> None:
    """Write one vector a word for gensim and other readers of word2vec's format.

    With a corpus it is the mean of the word's vectors there; else each word is read by itself,
    those of --words or of the model's own list.
    """
    from elmokit.embed.load import load
    from elmokit.embed.start_state import checked_start
    from elmokit.errors import InputError
    from elmokit.files import check_parent, exists, exists_error, read_text
    from elmokit.integrations.word_vectors import (
        export_averaged_vectors,
        export_static_vectors,
        model_words,
    )

    if corpus and words is not None:
        raise InputError(f"give a corpus or --words, found both: {corpus[0]} and {words}")
    check_parent(output)
    if exists(output) and not overwrite:
        raise exists_error(output)
    listed = None if words is None else read_text(words).removeprefix("\ufeff").split("\n")
    elmo = load(
        model,
        options=options,
        vocabulary=vocabulary,
        token_embedding=token_embedding,
        device=device,
        dtype=dtype,
        start=checked_start(start),
    )
    if corpus:
        summary = export_averaged_vectors(
            elmo,
            corpus,
            output,
            layers=layers_named(layers or "average"),
            min_count=min_count,
            most=most,
            tokenised=tokenised,
            field=field,
            overwrite=overwrite,
            progress=not as_json,
        )
    else:
        found = model_words(elmo) if listed is None else [line.strip() for line in listed]
        summary = export_static_vectors(
            elmo,
            [word for word in found if word][:most],
            output,
            layers=layers_named(layers or "0"),
            overwrite=overwrite,
            progress=not as_json,
        )
    if as_json:
        print_json(asdict(summary))
        return
    contexts = f", means of {summary.contexts:,} contexts" if summary.contexts else ""
    print(
        f"{summary.output}: {summary.words:,} words x {summary.dim}{contexts}, "
        f"{summary.seconds:.1f} s"
    )
