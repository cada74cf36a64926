"""`elmo verify`: is a model whole and sound?"""

from dataclasses import asdict

import typer

from elmokit.cli.options import (
    Json,
    ModelArgument,
    OptionsFile,
    TokenEmbeddingFile,
    VocabularyFile,
    print_json,
)

BROKEN_MODEL = 2


def command(
    model: ModelArgument = None,
    options: OptionsFile = None,
    vocabulary: VocabularyFile = None,
    token_embedding: TokenEmbeddingFile = None,
    as_json: Json = False,
) -> None:
    """Check a model's manifest, shapes and values, and that it behaves like a biLM."""
    from elmokit.embed.verify import verify

    checks = verify(model, options=options, vocabulary=vocabulary, token_embedding=token_embedding)
    ok = all(check.ok for check in checks)
    if as_json:
        print_json({"ok": ok, "checks": [asdict(check) for check in checks]})
    else:
        for check in checks:
            print(f"{'ok    ' if check.ok else 'FAILED'}  {check.name}: {check.detail}")
    if not ok:
        typer.echo(f"elmo: error: {checks[-1].detail}", err=True)
        raise typer.Exit(BROKEN_MODEL)
