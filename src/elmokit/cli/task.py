"""`elmo task`: the commands about tasks."""

import typer

from elmokit.cli import task_evaluate, task_predict, task_table, task_train

app = typer.Typer(
    help="Train and use models for the six tasks of the ELMo paper, with and without ELMo.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command("train")(task_train.command)
app.command("evaluate")(task_evaluate.command)
app.command("predict")(task_predict.command)
app.command("table")(task_table.command)
