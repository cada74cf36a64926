"""`elmo task`: the commands about tasks."""

import typer

from elmokit.cli import task_evaluate, task_predict, task_table, task_text, task_train

app = typer.Typer(
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _task(context: typer.Context) -> None:
    """Train and use models for the six tasks of the ELMo paper, with and without ELMo."""
    if context.invoked_subcommand is None:
        print(context.get_help())


app.command("train")(task_train.command)
app.command("evaluate")(task_evaluate.command)
app.command("predict")(task_predict.command)
app.command("table")(task_table.command)
app.command("text")(task_text.command)
