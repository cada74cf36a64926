"""`elmo static`: the commands about static word vectors."""

import typer

from elmokit.cli import (
    static_analogy,
    static_evaluate,
    static_neighbours,
    static_pairs,
    static_train,
)

app = typer.Typer(
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _static(context: typer.Context) -> None:
    """Train and ask vectors that a word has once and for all: word2vec, fastText, GloVe."""
    if context.invoked_subcommand is None:
        print(context.get_help())


app.command("train")(static_train.command)
app.command("neighbours")(static_neighbours.command)
app.command("analogy")(static_analogy.command)
app.command("evaluate")(static_evaluate.command)
app.command("pairs")(static_pairs.command)
