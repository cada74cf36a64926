"""`elmo ngram evaluate`: how well an n-gram model predicts a text."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from elmokit.cli.options import Json, print_json

NgramFolder = Annotated[
    Path, typer.Argument(metavar="MODEL", help="The folder of elmo ngram train.")
]
TextHelp = (
    "One sentence a line, a blank line after each document; plain, .gz, .xz, .bz2 or .zst; "
    "- for stdin."
)
TokenisedOption = Annotated[
    bool, typer.Option("--tokenised", help="Tokens are separated by white space already.")
]


def command(
    model: NgramFolder,
    file: Annotated[str, typer.Argument(metavar="TEXT", help=TextHelp)],
    tokenised: TokenisedOption = False,
    as_json: Json = False,
) -> None:
    """Give the perplexity of a text, counted as elmo evaluate does: every word and end mark."""
    from elmokit.baselines.ngram_evaluate import evaluate_ngrams
    from elmokit.baselines.ngram_folder import load_ngrams
    from elmokit.lm.text_file import read_text
    from elmokit.text.tokenise import tokeniser_named

    ngrams = load_ngrams(model)
    tokeniser = tokeniser_named("whitespace" if tokenised else ngrams.tokeniser)
    text = read_text(file, tokenise=tokeniser.words, marks=ngrams.vocabulary.marks)
    found = evaluate_ngrams(ngrams, text)
    if as_json:
        print_json({"model": str(model), "text": file, "order": ngrams.order, **asdict(found)})
        return
    print(f"perplexity       {found.perplexity:12.4f}")
    print(f"bits per word    {found.bits_per_word:12.4f}")
    print(f"bits per byte    {found.bits_per_byte:12.4f}")
    print("\nlongest n-gram known, share of the tokens")
    for order, share in enumerate(found.found_orders, start=1):
        print(f"{order:5} {share:10.1%}")
    print(
        f"\n{found.tokens:,} predicted: {found.words:,} words and the end marks of "
        f"{found.sentences:,} sentences in {found.documents:,} documents, {found.bytes:,} bytes\n"
        f"{found.unknown_words:,} words unknown ({found.oov_rate:.2%})"
    )
