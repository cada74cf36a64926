"""`elmo ngram train`: an n-gram language model from a corpus."""

from pathlib import Path
from typing import Annotated

import typer

from elmokit.cli.options import Json, print_json

CorpusArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="CORPUS...",
        help="Text or JSON lines, also .gz .xz .bz2 .zst; folders, patterns, - for stdin; "
        "or the folder of elmo prepare.",
    ),
]
FieldOption = Annotated[
    str | None, typer.Option("--field", help="Field with the text in .jsonl and .ndjson.")
]
TokenisedOption = Annotated[
    bool, typer.Option("--tokenised", help="Tokens are separated by white space already.")
]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")]


def command(
    corpus: CorpusArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="The model's folder.")],
    order: Annotated[int, typer.Option("--order", help="Length of the longest n-grams.")] = 5,
    vocabulary_size: Annotated[
        int, typer.Option("--vocabulary-size", help="Most frequent words kept, marks included.")
    ] = 100_000,
    vocabulary_of: Annotated[
        str | None,
        typer.Option("--vocabulary-of", help="Predict the words of this biLM, cut by its rules."),
    ] = None,
    arpa: Annotated[
        Path | None, typer.Option("--arpa", help="Write the model as ARPA text too, for kenlm.")
    ] = None,
    field: FieldOption = None,
    tokenised: TokenisedOption = False,
    overwrite: OverwriteOption = False,
    as_json: Json = False,
) -> None:
    """Estimate an n-gram language model by modified Kneser-Ney."""
    from elmokit.baselines.arpa import write_arpa
    from elmokit.baselines.ngram_folder import save_ngrams
    from elmokit.baselines.ngram_train import train_ngrams
    from elmokit.embed.load import load
    from elmokit.files import check_parent, exists, exists_error

    check_parent(output)
    if exists(output) and not overwrite:
        raise exists_error(output)
    tokeniser, vocabulary = "whitespace" if tokenised else "words", None
    if vocabulary_of is not None:
        elmo = load(vocabulary_of, device="cpu")
        vocabulary = elmo.language_model.vocabulary
        tokeniser = tokeniser if tokenised else elmo.tokeniser.name
    model = train_ngrams(
        corpus,
        order=order,
        vocabulary=vocabulary,
        vocabulary_size=vocabulary_size,
        tokeniser=tokeniser,
        field=field,
    )
    save_ngrams(model, output, overwrite=overwrite)
    if arpa is not None:
        write_arpa(model, arpa)
    facts = {
        "model": str(output),
        "order": model.order,
        "vocabulary_size": len(model.vocabulary),
        "ngrams": list(model.ngram_counts),
        "discounts": [list(discount.values) for discount in model.discounts],
        "estimated_discounts": [discount.estimated for discount in model.discounts],
    }
    if as_json:
        print_json(facts)
        return
    print(f"{'order':>5} {'n-grams':>14}  discounts of counts 1, 2, 3 and more")
    for number, (count, discount) in enumerate(
        zip(model.ngram_counts, model.discounts, strict=True), start=1
    ):
        note = "" if discount.estimated else "  (too little text to estimate: the usual ones)"
        values = "  ".join(f"{value:.3f}" for value in discount.values)
        print(f"{number:5} {count:14,}  {values}{note}")
    print(f"\n{len(model.vocabulary):,} words, saved to {output}")
