"""`elmo evaluate`: how well a model predicts a text."""

import time
from dataclasses import asdict
from typing import Annotated

import typer

from elmokit.cli.options import (
    DeviceOption,
    Json,
    OptionsFile,
    VocabularyFile,
    print_json,
)


def command(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="Folder, hdf5 file or bundled name.")
    ],
    file: Annotated[
        str,
        typer.Argument(
            metavar="TEXT",
            help="One sentence a line, a blank line after each document; "
            "plain, .gz, .xz, .bz2 or .zst; - for stdin.",
        ),
    ],
    state: Annotated[
        str,
        typer.Option(
            "--state", help="What carries the LSTMs' state: document, carry (all) or sentence."
        ),
    ] = "document",
    start: Annotated[
        str, typer.Option("--start", help="What that begins with: warm or zeros.")
    ] = "warm",
    tokenised: Annotated[
        bool, typer.Option("--tokenised", help="Tokens are separated by white space already.")
    ] = False,
    device: DeviceOption = "auto",
    batch_tokens: Annotated[
        int, typer.Option("--batch-tokens", help="Tokens computed at once.")
    ] = 8192,
    options: OptionsFile = None,
    vocabulary: VocabularyFile = None,
    as_json: Json = False,
) -> None:
    """Give the exact perplexity of a text: full softmax, both directions, every word."""
    from elmokit.embed.batching import check_batch_tokens
    from elmokit.embed.embed_file import check_source
    from elmokit.embed.load import load
    from elmokit.embed.progress import progress_bar
    from elmokit.lm.evaluate import checked_state, evaluate
    from elmokit.lm.language_model import checked_language_start
    from elmokit.lm.text_file import read_text

    check_source(file)
    check_batch_tokens(batch_tokens)
    carried, begun = checked_state(state), checked_language_start(start)
    elmo = load(model, options=options, vocabulary=vocabulary, device=device)
    language_model = elmo.language_model

    def tokenise(line: str) -> list[str]:
        return line.split() if tokenised else elmo.tokeniser.words(line)

    text = read_text(file, tokenise=tokenise, marks=elmo.config.marks)
    started = time.perf_counter()
    with progress_bar() as bar:
        task = bar.add_task("Evaluating", total=2 * text.tokens)
        evaluation = evaluate(
            language_model,
            text,
            state=carried,
            start=begun,
            batch_tokens=batch_tokens,
            advance=lambda tokens: bar.advance(task, tokens),
        )
    seconds = time.perf_counter() - started
    if as_json:
        facts = {"model": model, "text": file, **asdict(evaluation), "seconds": round(seconds, 3)}
        print_json(facts)
        return
    found = evaluation
    print(f"{'':16}{'forward':>12}{'backward':>12}{'both':>12}")
    for name, values in (
        ("perplexity", (found.forward_perplexity, found.backward_perplexity, found.perplexity)),
        (
            "bits per word",
            (found.forward_bits_per_word, found.backward_bits_per_word, found.bits_per_word),
        ),
        (
            "bits per byte",
            (found.forward_bits_per_byte, found.backward_bits_per_byte, found.bits_per_byte),
        ),
    ):
        print(f"{name:16}" + "".join(f"{value:12.4f}" for value in values))
    print(
        f"\n{found.tokens:,} predicted: {found.words:,} words and the marks of "
        f"{found.sentences:,} sentences in {found.documents:,} documents, {found.bytes:,} bytes\n"
        f"{found.unknown_words:,} words unknown ({found.oov_rate:.2%})\n"
        f"state carried: {found.state}, start: {found.start}; {seconds:.1f} s"
    )
