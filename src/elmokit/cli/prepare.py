"""`elmo prepare`: text files to a folder that trainings read."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from elmokit.cli.options import Json, print_json

if TYPE_CHECKING:
    from elmokit.corpus.spill_corpus import Progress


def command(
    corpus: Annotated[
        list[str],
        typer.Argument(
            metavar="CORPUS",
            help="Text or JSON lines, also .gz .xz .bz2 .zst; folders, patterns, - for stdin.",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")],
    field: Annotated[
        str | None, typer.Option("--field", help="Field with the text in .jsonl and .ndjson.")
    ] = None,
    tokeniser: Annotated[
        str | None, typer.Option("--tokeniser", help="words or whitespace; default: words.")
    ] = None,
    tokenised: Annotated[
        bool, typer.Option("--tokenised", help="Short for --tokeniser whitespace.")
    ] = False,
    vocabulary_size: Annotated[
        int, typer.Option("--vocabulary-size", help="Words to predict, three marks included.")
    ] = 100_000,
    min_count: Annotated[
        int, typer.Option("--min-count", help="Rarer words stay out of the vocabulary.")
    ] = 1,
    valid: Annotated[
        list[str] | None,
        typer.Option("--valid", help="Held-out text: a file, folder or pattern; repeatable."),
    ] = None,
    held_out: Annotated[
        float | None,
        typer.Option("--held-out", help="Share to hold out where there is no --valid; 0.01."),
    ] = None,
    duplicates: Annotated[
        str, typer.Option("--duplicates", help="Sentences seen before: keep, report or drop.")
    ] = "keep",
    longest_line: Annotated[
        int, typer.Option("--longest-line", help="Bytes of a line; longer ones are cut.")
    ] = 1_000_000,
    processes: Annotated[
        int | None, typer.Option("--processes", help="Default: all cores.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at the first problem of the text.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a prepared corpus.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Prepare a corpus for training: vocabulary, ids on disk, held-out text, a report."""
    from elmokit.corpus.prepare import prepare
    from elmokit.errors import InputError

    if tokenised and tokeniser not in (None, "whitespace"):
        raise InputError(f"--tokenised and --tokeniser {tokeniser} exclude each other")
    with _progress_bar(shown=not as_json) as progress:
        report = prepare(
            corpus,
            output,
            valid=valid or (),
            held_out=held_out,
            field=field,
            tokeniser="whitespace" if tokenised else tokeniser or "words",
            vocabulary_size=vocabulary_size,
            min_count=min_count,
            duplicates=duplicates,
            longest_line=longest_line,
            processes=processes,
            strict=strict,
            overwrite=overwrite,
            progress=progress,
        )
    if as_json:
        print_json(report.to_dict())
    else:
        print(report)


@contextmanager
def _progress_bar(*, shown: bool) -> Iterator["Progress"]:
    """Give a function that moves a bar on the error stream, where somebody watches."""
    from rich import progress as rich_progress
    from rich.console import Console

    console = Console(stderr=True)
    bar = rich_progress.Progress(
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(),
        rich_progress.TaskProgressColumn(),
        rich_progress.TimeElapsedColumn(),
        rich_progress.TextColumn("left"),
        rich_progress.TimeRemainingColumn(),
        console=console,
        disable=not (shown and console.is_terminal),
    )
    stages: dict[str, rich_progress.TaskID] = {}

    def move(stage: str, done: int, total: int) -> None:
        if stage not in stages:
            # Standard input has no size; the bar then only shows that something happens.
            stages[stage] = bar.add_task(stage.capitalize(), total=total or None)
        bar.update(stages[stage], completed=done)

    with bar:
        yield move
