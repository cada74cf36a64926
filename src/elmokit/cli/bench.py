"""`elmo bench`: how fast a model embeds here."""

from typing import Annotated

import typer

from elmokit.cli.options import (
    DeviceOption,
    Json,
    ModelOption,
    OptionsFile,
    TokenEmbeddingFile,
    VocabularyFile,
    print_json,
)


def command(
    model: ModelOption = None,
    device: DeviceOption = "auto",
    dtype: Annotated[
        list[str] | None, typer.Option("--dtype", help="Only this precision; repeatable.")
    ] = None,
    seconds: Annotated[float, typer.Option("--seconds", help="About how long to measure.")] = 30.0,
    options: OptionsFile = None,
    vocabulary: VocabularyFile = None,
    token_embedding: TokenEmbeddingFile = None,
    as_json: Json = False,
) -> None:
    """Measure how fast a model embeds on this machine, in every precision."""
    from elmokit.embed.bench import bench
    from elmokit.embed.load import read_checkpoint
    from elmokit.errors import InputError

    if not seconds > 0:
        raise InputError(f"seconds: expected a number above 0, found {seconds}")
    checkpoint = read_checkpoint(
        model,
        options=options,
        vocabulary=vocabulary,
        token_embedding=token_embedding,
        softmax=False,
    )
    found = bench(checkpoint, device=device, dtypes=dtype, seconds=seconds)
    if as_json:
        print_json(found.to_dict())
        return
    print(f"{found.device}, {found.threads} threads; made-up sentences of about 20 tokens")
    print(f"{'':10}{'tokens/s':>12}{'known words':>14}{'one sentence':>22}{'cosine':>10}")
    for speed in found.speeds:
        alone = f"{speed.sentence_milliseconds:.1f} ms ({speed.sentence_milliseconds_95:.1f})"
        print(
            f"{speed.dtype:10}{speed.tokens_per_second:12,.0f}"
            f"{speed.tokens_per_second_known_words:14,.0f}{alone:>22}{speed.cosine:10.6f}"
        )
    print(
        f"float32 products of the recurrent shape: {found.product_rate / 1e9:,.0f} GFLOP/s; the "
        f"LSTMs need {found.operations_per_token / 1e6:,.1f} MFLOP a token, so float32 with known "
        f"words runs at {found.product_share:.0%} of that rate"
    )
