"""`elmo train`: a prepared corpus to a biLM."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from elmokit.cli.options import (
    DeviceOption,
    Json,
    Keep,
    LogEvery,
    Minutes,
    ModelName,
    Plain,
    RunFolder,
    SaveEvery,
    TensorBoard,
    print_json,
)


def command(
    corpus: Annotated[Path, typer.Argument(metavar="DIR", help="What elmo prepare wrote.")],
    output: RunFolder,
    preset: Annotated[
        str, typer.Option("--preset", help="tiny, small, medium, base or original.")
    ] = "tiny",
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change the recipe or the model: key=value; repeatable."),
    ] = None,
    words: Annotated[
        bool, typer.Option("--words", help="Read whole words instead of their characters.")
    ] = False,
    vectors: Annotated[
        Path | None,
        typer.Option("--vectors", help="With --words: begin with these (word2vec text format)."),
    ] = None,
    device: DeviceOption = "auto",
    minutes: Minutes = None,
    save_every: SaveEvery = 1000,
    keep: Keep = 2,
    log_every: LogEvery = 10,
    tensorboard: TensorBoard = False,
    plain: Plain = False,
    name: ModelName = "",
    as_json: Json = False,
) -> None:
    """Train a biLM; stop it with Ctrl-C, and the same command goes on exactly there.

    On several GPUs or machines: torchrun --nproc-per-node 4 -m elmokit.cli train ...
    """
    from elmokit.lm.presets import changed, preset_named, with_word_input
    from elmokit.lm.pretrain import pretrain
    from elmokit.training.conduct import Conduct
    from elmokit.training.distributed import is_first_process

    chosen = preset_named(preset)
    if words:
        chosen = with_word_input(chosen)
    outcome = pretrain(
        corpus,
        output,
        changed(chosen, changes or []),
        vectors=vectors,
        name=name,
        conduct=Conduct(
            device=device,
            save_every=save_every,
            keep=keep,
            log_every=log_every,
            minutes=minutes,
            tensorboard=tensorboard,
            fused=not plain,
            quiet=as_json,
        ),
    )
    if not is_first_process():
        return
    if as_json:
        print_json({**asdict(outcome), "model": outcome.model and str(outcome.model)})
        return
    if outcome.model is None:
        print(
            f"{outcome.ending} at step {outcome.step:,} of {outcome.steps:,}; everything is saved: "
            "the same command goes on from here"
        )
        return
    if outcome.evaluation is not None:
        found = outcome.evaluation
        print(
            f"held-out perplexity {found.perplexity:.2f} (forward {found.forward_perplexity:.2f}, "
            f"backward {found.backward_perplexity:.2f}), {found.bits_per_byte:.3f} bits per byte"
        )
    print(f"the model is in {outcome.model}")
