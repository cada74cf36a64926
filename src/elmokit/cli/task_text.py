"""`elmo task text`: the text of labelled data, for `elmo finetune`."""

from pathlib import Path
from typing import Annotated

import typer

from elmokit.cli.options import Json, print_json
from elmokit.cli.task_train import TaskName


def command(
    task: TaskName,
    data: Annotated[
        list[Path],
        typer.Argument(metavar="DATA", help="Files of the task's format; FILE#SPLIT too."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The text file to write.")],
    as_json: Json = False,
) -> None:
    """Write the texts of labelled data, one a line and each once, as elmo finetune reads them."""
    from elmokit.errors import InputError
    from elmokit.files import replacing_file, write_text
    from elmokit.tasks.assemble import lines_of
    from elmokit.tasks.names import task_named

    found = task_named(task)
    lines = lines_of(found, [example for file in data for example in found.read(file)])
    if not lines:
        raise InputError(f"{', '.join(map(str, data))}: no text there")
    with replacing_file(output) as beside:
        write_text(beside, "".join(f"{line}\n" for line in lines))
    tokens = sum(line.count(" ") + 1 for line in lines)
    if as_json:
        print_json({"texts": len(lines), "tokens": tokens, "output": str(output)})
    else:
        print(f"{len(lines):,} texts with {tokens:,} tokens are in {output}")
