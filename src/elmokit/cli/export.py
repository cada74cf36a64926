"""`elmo export`: models and vectors in the forms that other programs read."""

import typer

from elmokit.cli import export_onnx, export_vectors

app = typer.Typer(
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _export(context: typer.Context) -> None:
    """Write models and vectors for other programs."""
    if context.invoked_subcommand is None:
        print(context.get_help())


app.command("onnx")(export_onnx.command)
app.command("vectors")(export_vectors.command)
