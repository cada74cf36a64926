"""`elmo static pairs`: what word2vec learns from, shown on a sentence."""

from typing import TYPE_CHECKING, Annotated

import typer

from elmokit.cli.options import Json, print_json

if TYPE_CHECKING:
    from elmokit.baselines.training_pairs import Window


def command(
    sentence: Annotated[str, typer.Argument(metavar="SENTENCE", help="Text to cut windows from.")],
    window: Annotated[int, typer.Option("--window", help="Words on each side.")] = 2,
    tokenised: Annotated[
        bool, typer.Option("--tokenised", help="Tokens are separated by white space already.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the samples that skip-gram and CBOW learn from in a sentence."""
    from elmokit.baselines.training_pairs import windows
    from elmokit.text.tokenise import tokeniser_named

    tokens = tokeniser_named("whitespace" if tokenised else "words").words(sentence)
    found = windows(tokens, window)
    if as_json:
        print_json(
            {
                "tokens": tokens,
                "window": window,
                "skipgram": [
                    {"centre": centre, "context": word}
                    for each in found
                    for centre, word in each.skipgram
                ],
                "cbow": [{"context": list(each.context), "centre": each.centre} for each in found],
            }
        )
        return
    print("\n".join(picture(found)))


def picture(found: "list[Window]") -> list[str]:
    """Draw the windows with their centres below each other, and beside them the samples."""
    from rich.cells import cell_len

    def padded(text: str, width: int, *, right: bool = False) -> str:
        space = " " * (width - cell_len(text))
        return space + text if right else text + space

    rows = [(" ".join(each.left), f"[{each.centre}]", " ".join(each.right), each) for each in found]
    left, centre, right = (max(cell_len(str(row[place])) for row in rows) for place in range(3))
    shown = [
        (f"{padded(a, left, right=True)} {padded(b, centre)} {padded(c, right)}", each)
        for a, b, c, each in rows
    ]
    samples = sum(len(each.context) for each in found)
    lines = [f"skip-gram: the centre predicts each word around it, {samples} samples", ""]
    for text, each in shown:
        pairs = "  ".join(f"({a}, {b})" for a, b in each.skipgram)
        lines.append(f"  {text}   {pairs}")
    lines += ["", f"CBOW: the words around predict the centre, {len(found)} samples", ""]
    lines += [f"  {text}   {' '.join(each.context)} -> {each.centre}" for text, each in shown]
    return lines
