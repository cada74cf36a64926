"""`elmo info`: what a model is."""

from typing import Any

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
    from elmokit.embed.describe import describe, describe_files
    from elmokit.embed.load import read_checkpoint

    checkpoint = read_checkpoint(
        model, options=options, vocabulary=vocabulary, token_embedding=token_embedding
    )
    facts = describe(checkpoint) | describe_files(checkpoint, model)
    if as_json:
        print_json(facts)
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(show_header=False, box=None)
    for name, value in facts.items():
        shown = "unknown" if value is None and name == "licence" else value
        if shown is not None:
            table.add_row(name.replace("_", " "), _text(shown))
    Console().print(table)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return "\n".join(f"{name}: {_text(part)}" for name, part in value.items())
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
