"""`elmo substitutes`: the words that fit a gap."""

from dataclasses import asdict
from typing import Annotated

import typer

from elmokit.cli.options import (
    DeviceOption,
    Json,
    ModelOption,
    OptionsFile,
    VocabularyFile,
    print_json,
)
from elmokit.cli.score import print_substitutes


def command(
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="A sentence with a gap ___, or with --word.")
    ],
    word: Annotated[
        str | None, typer.Option("--word", help="The word of the sentence to replace.")
    ] = None,
    model: ModelOption = None,
    candidates: Annotated[
        str | None, typer.Option("--candidates", help="Compare these words alone, as a,b,c.")
    ] = None,
    count: Annotated[int, typer.Option("--count", "-n", help="How many words to give.")] = 10,
    prior: Annotated[
        float,
        typer.Option("--prior", help="How much to hold against frequent words, about 0 to 1."),
    ] = 1.0,
    rescore: Annotated[
        bool,
        typer.Option(
            "--rescore/--no-rescore", help="Put the best hundred into the sentence and score it."
        ),
    ] = True,
    tokenised: Annotated[
        bool, typer.Option("--tokenised", help="Tokens are separated by white space already.")
    ] = False,
    start: Annotated[
        str, typer.Option("--start", help="What a sentence begins with: warm or zeros.")
    ] = "warm",
    device: DeviceOption = "auto",
    options: OptionsFile = None,
    vocabulary: VocabularyFile = None,
    as_json: Json = False,
) -> None:
    """Find words for a gap in a sentence, judged from both of its sides."""
    from elmokit.embed.load import load
    from elmokit.lm.language_model import checked_language_start

    begun = checked_language_start(start)
    words = None if candidates is None else [word.strip() for word in candidates.split(",")]
    elmo = load(model, options=options, vocabulary=vocabulary, device=device)
    substitutes = elmo.substitutes(
        text.split() if tokenised else text,
        word=word,
        candidates=[part.split() for part in words] if words and tokenised else words,
        count=count,
        prior=prior,
        rescore=rescore,
        start=begun,
    )
    if as_json:
        print_json(
            {
                "sentence": text,
                "start": start,
                "substitutes": [asdict(substitute) for substitute in substitutes],
            }
        )
    else:
        print_substitutes(substitutes)
