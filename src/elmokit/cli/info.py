"""`elmo info`: what a model is."""

from elmokit.cli.options import (
    Json,
    ModelArgument,
    OptionsFile,
    TokenEmbeddingFile,
    VocabularyFile,
    print_json,
)


def command(
    model: ModelArgument = None,
    options: OptionsFile = None,
    vocabulary: VocabularyFile = None,
    token_embedding: TokenEmbeddingFile = None,
    as_json: Json = False,
) -> None:
    """Show what a model is: sizes, vocabulary, licence."""
    from elmokit.embed.describe import describe
    from elmokit.embed.load import read_checkpoint

    facts = describe(
        read_checkpoint(
            model, options=options, vocabulary=vocabulary, token_embedding=token_embedding
        )
    )
    if as_json:
        print_json(facts)
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(show_header=False, box=None)
    for name, value in facts.items():
        shown = "unknown" if value is None and name == "licence" else value
        if shown is not None:
            text = f"{shown:,}" if isinstance(shown, int) and not isinstance(shown, bool) else shown
            table.add_row(name.replace("_", " "), str(text))
    Console().print(table)
