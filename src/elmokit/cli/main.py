"""The entry point: gathers the commands and turns errors into one line and an exit code."""

import os
import signal
import sys
import traceback
import warnings
from typing import Annotated

import typer

from elmokit.cli import (
    bench,
    compare,
    convert,
    demo,
    embed,
    evaluate,
    export,
    finetune,
    index,
    info,
    layers,
    neighbours,
    ngram,
    prepare,
    probe,
    score,
    senses,
    serve,
    static,
    substitutes,
    task,
    train,
    verify,
)
from elmokit.errors import ElmoError, one_line
from elmokit.version import __version__

USER_MISTAKE, OUR_MISTAKE, INTERRUPTED = 2, 1, 130
INTERRUPTION = "interrupted; no output was written"

app = typer.Typer(
    name="elmo",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _elmo(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback with errors.")] = False,
) -> None:
    """Contextual word vectors from bidirectional language models (ELMo)."""
    del debug  # taken out of the arguments by `run`, wherever it stands
    if version:
        print(__version__)
    elif context.invoked_subcommand is None:
        print(context.get_help())


app.command("embed")(embed.command)
app.command("info")(info.command)
app.command("convert")(convert.command)
app.command("verify")(verify.command)
app.command("bench")(bench.command)
app.command("prepare")(prepare.command)
app.command("train")(train.command)
app.command("finetune")(finetune.command)
app.command("evaluate")(evaluate.command)
app.command("score")(score.command)
app.command("substitutes")(substitutes.command)
app.command("demo")(demo.command)
app.command("compare")(compare.command)
app.command("layers")(layers.command)
app.command("index")(index.command)
app.command("neighbours")(neighbours.command)
app.command("senses")(senses.command)
app.command("serve")(serve.command)
app.add_typer(export.app, name="export")
app.add_typer(task.app, name="task")
app.add_typer(probe.app, name="probe")
app.add_typer(ngram.app, name="ngram")
app.add_typer(static.app, name="static")


def run(arguments: list[str]) -> int:
    """Run a command and give its exit code."""
    words = arguments[: arguments.index("--")] if "--" in arguments else arguments
    debug = "--debug" in words
    if debug:
        arguments = [word for word in words if word != "--debug"] + arguments[len(words) :]
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    try:
        code = app(arguments, prog_name="elmo", standalone_mode=False)
    except KeyboardInterrupt:
        return _fail(INTERRUPTION, INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()  # whoever read our output has left; there is nothing to tell
        return OUR_MISTAKE
    except Exception as error:
        if debug:
            traceback.print_exc()
        return _report(error)
    if code == INTERRUPTED:
        return _fail(INTERRUPTION, INTERRUPTED)
    return code if isinstance(code, int) else 0


def _report(error: Exception) -> int:
    name = type(error).__name__
    if isinstance(error, ElmoError):
        return _fail(str(error), USER_MISTAKE)
    if hasattr(error, "format_message"):  # how the argument parser reports wrong usage
        return _fail(f"{error.format_message()} (see elmo --help)", USER_MISTAKE)
    if isinstance(error, OSError):
        return _fail(f"{error.filename or 'system'}: {error.strerror or error}", USER_MISTAKE)
    if name == "Abort":
        return _fail(INTERRUPTION, INTERRUPTED)
    return _fail(
        f"internal error, please report it: {name}: {error} (--debug shows where)", OUR_MISTAKE
    )


def _fail(message: str, code: int) -> int:
    print(f"elmo: error: {one_line(message)}", file=sys.stderr)
    return code


def _show_warning(message: Warning | str, *_: object) -> None:
    print(f"elmo: note: {message}", file=sys.stderr)


def main() -> None:
    """Run `elmo` with the arguments of the shell."""
    # Being told to stop cleans up like Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    code = run(sys.argv[1:])
    if "TORCHELASTIC_RUN_ID" in os.environ:
        # With torchrun's gloo, taking Python apart crashes now and then, and torchrun then kills
        # the other processes, perhaps before the first one has written the model.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
