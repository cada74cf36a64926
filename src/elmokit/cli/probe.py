"""`elmo probe`: what each layer of a model knows."""

import typer

from elmokit.cli import probe_pos, probe_wic, probe_wsd

app = typer.Typer(
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _probe(context: typer.Context) -> None:
    """Find out what each layer knows: word classes, senses, same or other meaning."""
    if context.invoked_subcommand is None:
        print(context.get_help())


app.command("pos")(probe_pos.command)
app.command("wsd")(probe_wsd.command)
app.command("wic")(probe_wic.command)
