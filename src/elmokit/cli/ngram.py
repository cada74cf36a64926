"""`elmo ngram`: the commands about n-gram language models."""

import typer

from elmokit.cli import ngram_compare, ngram_evaluate, ngram_train

app = typer.Typer(
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _ngram(context: typer.Context) -> None:
    """Count n-grams (modified Kneser-Ney) and set them beside a biLM."""
    if context.invoked_subcommand is None:
        print(context.get_help())


app.command("train")(ngram_train.command)
app.command("evaluate")(ngram_evaluate.command)
app.command("compare")(ngram_compare.command)
