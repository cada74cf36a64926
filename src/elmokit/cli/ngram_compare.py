"""`elmo ngram compare`: an n-gram model beside a biLM."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from elmokit.cli.ngram_evaluate import NgramFolder, TextHelp, TokenisedOption
from elmokit.cli.options import DeviceOption, Json, print_json

if TYPE_CHECKING:
    from elmokit.baselines.ngram_compare import PhraseComparison, TextComparison


def command(
    model: NgramFolder,
    file: Annotated[str | None, typer.Argument(metavar="[TEXT]", help=TextHelp)] = None,
    bilm: Annotated[
        str | None,
        typer.Option("--bilm", help="Folder, hdf5 file or bundled name; default: bundled."),
    ] = None,
    phrase: Annotated[
        list[str] | None,
        typer.Option("--phrase", help="Compare this phrase; repeatable; default: six known ones."),
    ] = None,
    tokenised: TokenisedOption = False,
    device: DeviceOption = "auto",
    as_json: Json = False,
) -> None:
    """Set an n-gram model beside a biLM: perplexity of a text, probability of phrases."""
    from elmokit.baselines.ngram_compare import (
        PHRASES,
        check_same_vocabulary,
        compare_phrases,
        compare_text,
    )
    from elmokit.baselines.ngram_folder import load_ngrams
    from elmokit.embed.load import load
    from elmokit.embed.progress import progress_bar
    from elmokit.errors import InputError
    from elmokit.lm.text_file import read_text

    ngrams = load_ngrams(model)
    elmo = load(bilm, device=device)
    if elmo.tokeniser.name != ngrams.tokeniser and not tokenised:
        raise InputError(
            f"the n-gram model's text was cut by the tokeniser {ngrams.tokeniser!r}, the biLM "
            f"uses {elmo.tokeniser.name!r}; train both on the same tokens"
        )

    def tokenise(line: str) -> list[str]:
        return line.split() if tokenised else elmo.tokeniser.words(line)

    check_same_vocabulary(ngrams, elmo.language_model)
    compared = None
    if file is not None:
        text = read_text(file, tokenise=tokenise, marks=elmo.config.marks)
        with progress_bar() as bar:
            task = bar.add_task("Comparing", total=2 * text.tokens)
            compared = compare_text(
                ngrams,
                elmo.language_model,
                text,
                advance=lambda tokens: bar.advance(task, tokens),
            )
    phrases = compare_phrases(ngrams, elmo.language_model, phrase or PHRASES, tokenise=tokenise)
    if as_json:
        facts = None
        if compared is not None:
            facts = {
                **asdict(compared),
                "ratio": compared.ratio,
                "sentence_ratio": compared.sentence_ratio,
            }
        print_json(
            {
                "model": str(model),
                "order": ngrams.order,
                "text": file,
                "comparison": facts,
                "phrases": [asdict(each) for each in phrases],
            }
        )
        return
    if compared is not None:
        _print_text(compared, ngrams.order)
    _print_phrases(phrases)


def _print_text(compared: "TextComparison", order: int) -> None:
    ngrams = compared.ngram
    print(f"{'perplexity':>10}  {'of the n-grams':>14}")
    print(f"{ngrams.perplexity:10.2f}  {'':14}  {order}-gram model")
    for value, ratio, name in (
        (compared.bilm_sentence_perplexity, compared.sentence_ratio, "each sentence alone"),
        (compared.bilm_perplexity, compared.ratio, "with the document so far"),
    ):
        print(f"{value:10.2f}  {ratio:14.1%}  biLM forward, {name}")
    print(
        f"\n{ngrams.tokens:,} predicted by each: {ngrams.words:,} words and "
        f"{ngrams.sentences:,} end marks; {ngrams.oov_rate:.2%} of the words unknown\n"
    )


def _print_phrases(phrases: "list[PhraseComparison]") -> None:
    print("log10 of the probability as the beginning of a sentence")
    print(f"{'n-gram':>9} {'biLM':>9}  {'longest n-grams':15}  phrase")
    for each in phrases:
        note = f"  (not in the vocabulary: {' '.join(each.unknown)})" if each.unknown else ""
        orders = " ".join(map(str, each.orders))
        print(f"{each.ngram_log10:9.3f} {each.bilm_log10:9.3f}  {orders:15}  {each.phrase}{note}")
