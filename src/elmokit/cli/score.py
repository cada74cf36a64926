"""`elmo score`: how likely sentences are, and which of them is likelier."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from elmokit.cli.options import (
    DeviceOption,
    Json,
    ModelOption,
    OptionsFile,
    VocabularyFile,
    print_json,
)

if TYPE_CHECKING:
    from elmokit.lm.score import SentenceScore
    from elmokit.lm.substitutes import Substitute


def command(
    sentences: Annotated[
        list[str] | None, typer.Argument(metavar="[SENTENCE]...", help="Sentences to compare.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", "-f", help="Score the lines of a file, packed or not, as well."),
    ] = None,
    model: ModelOption = None,
    candidates: Annotated[
        str | None,
        typer.Option("--candidates", help="Words, as a,b,c, for the gap ___ of one sentence."),
    ] = None,
    direction: Annotated[
        str, typer.Option("--direction", help="both, forward or backward.")
    ] = "both",
    tokens: Annotated[bool, typer.Option("--tokens", help="Show each token too.")] = False,
    in_order: Annotated[
        bool, typer.Option("--in-order", help="Keep the order given; default: likeliest first.")
    ] = False,
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
    """Give the log-probability of sentences and tokens; rank sentences or words for a gap."""
    from elmokit.embed.load import load
    from elmokit.errors import InputError
    from elmokit.lm.language_model import checked_language_start
    from elmokit.lm.score import checked_direction
    from elmokit.lm.text_file import read_lines

    asked, begun = checked_direction(direction), checked_language_start(start)
    texts = list(sentences or [])
    if file is not None:
        texts += [line for line in read_lines(file) if line.strip()]
    if not texts:
        raise InputError("sentences: expected at least one, found none")
    if candidates is not None and len(texts) != 1:
        raise InputError(f"candidates: expected one sentence with a gap, found {len(texts)}")
    elmo = load(model, options=options, vocabulary=vocabulary, device=device)
    if candidates is not None:
        words = [word.strip() for word in candidates.split(",")]
        substitutes = elmo.substitutes(
            texts[0].split() if tokenised else texts[0],
            candidates=[word.split() for word in words] if tokenised else words,
            direction=asked,
            start=begun,
        )
        if as_json:
            print_json(
                {
                    "sentence": texts[0],
                    "direction": direction,
                    "start": start,
                    "candidates": [asdict(substitute) for substitute in substitutes],
                }
            )
        else:
            print_substitutes(substitutes)
        return
    scores = elmo.score(
        [text.split() for text in texts] if tokenised else texts, direction=asked, start=begun
    )
    order = list(range(len(texts)))
    if not in_order:
        order.sort(key=lambda index: -scores[index].comparable_log_probability)
    if as_json:
        print_json(
            {
                "direction": direction,
                "start": start,
                "sentences": [_facts(index, texts[index], scores[index]) for index in order],
            }
        )
        return
    print(f"{'both':>11} {'forward':>11} {'backward':>11} {'perplexity':>11}  log-probability of")
    for index in order:
        scored = scores[index]
        both = scored.log_probability if direction == "both" else None
        print(
            f"{_number(both)} {_number(scored.forward_log_probability)} "
            f"{_number(scored.backward_log_probability)} {scored.perplexity:11.2f}  {texts[index]}"
            f"{_note(scored)}"
        )
        if tokens:
            _print_tokens(scored, elmo.config.marks.end, elmo.config.marks.begin)


def print_substitutes(substitutes: "list[Substitute]") -> None:
    """Print words with their probabilities, a word a line."""
    print(f"{'probability':>11} {'forward':>11} {'backward':>11} {'sentence':>11}  word")
    for substitute in substitutes:
        numbers = (
            substitute.forward_log_probability,
            substitute.backward_log_probability,
            substitute.log_probability,
        )
        note = "  (not in the vocabulary)" if substitute.unknown else ""
        print(
            f"{substitute.probability:11.4f} {' '.join(map(_number, numbers))}  "
            f"{substitute.word}{note}"
        )


def _print_tokens(scored: "SentenceScore", end: str, begin: str) -> None:
    forward = scored.forward or (None,) * (len(scored.tokens) + 1)
    backward = scored.backward or (None,) * (len(scored.tokens) + 1)
    marks = " ".join(
        mark for mark, part in ((end, scored.forward), (begin, scored.backward)) if part
    )
    for token, unknown, ahead, behind, bits in zip(
        (*scored.tokens, marks),
        (*scored.unknown, False),
        forward,
        backward,
        scored.surprisals,
        strict=True,
    ):
        note = "  (not in the vocabulary)" if unknown else ""
        print(f"{'':11} {_number(ahead)} {_number(behind)} {bits:6.2f} bits  {token}{note}")


def _facts(index: int, text: str, scored: "SentenceScore") -> dict[str, Any]:
    return {
        "index": index,
        "sentence": text,
        "log_probability": scored.log_probability,
        "comparable_log_probability": scored.comparable_log_probability,
        "forward_log_probability": scored.forward_log_probability,
        "backward_log_probability": scored.backward_log_probability,
        "perplexity": scored.perplexity,
        **asdict(scored),
    }


def _note(scored: "SentenceScore") -> str:
    unknown = [
        token for token, unknown in zip(scored.tokens, scored.unknown, strict=True) if unknown
    ]
    if not unknown:
        return ""
    return (
        f"  (not in the vocabulary: {' '.join(unknown)}; "
        f"ranked as {scored.comparable_log_probability:.3f})"
    )


def _number(value: float | None) -> str:
    return f"{'-':>11}" if value is None else f"{value:11.3f}"
