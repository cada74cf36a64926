"""`elmo task train`: data files to a task model."""

from pathlib import Path
from typing import Annotated

import typer

from elmokit.cli.options import (
    DeviceOption,
    Json,
    Keep,
    LogEvery,
    Minutes,
    Plain,
    RunFolder,
    SaveEvery,
    TensorBoard,
    print_json,
)

NO_ELMO = "none"

TaskName = Annotated[
    str, typer.Argument(metavar="TASK", help="ner, sst, snli, squad, srl or coref.")
]
VectorsFile = Annotated[
    Path | None, typer.Option("--vectors", help="Static vectors (word2vec or GloVe text format).")
]


def command(
    task: TaskName,
    train: Annotated[
        list[Path], typer.Option("--train", help="Training data; repeatable. FILE#SPLIT works.")
    ],
    dev: Annotated[Path, typer.Option("--dev", help="Data that decide which epoch is best.")],
    output: RunFolder,
    test: Annotated[
        list[Path] | None, typer.Option("--test", help="Data to report on at the end; repeatable.")
    ] = None,
    elmo: Annotated[
        str, typer.Option("--elmo", help="Folder or bundled name of a biLM, or none.")
    ] = "english-base",
    vectors: VectorsFile = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change recipe, inputs or model: key=value; repeatable."),
    ] = None,
    share: Annotated[
        float, typer.Option("--share", help="Use this share of the training data.")
    ] = 1.0,
    cache: Annotated[
        Path | None,
        typer.Option("--cache", help="Keep the biLM's layers of the data in this folder."),
    ] = None,
    device: DeviceOption = "auto",
    minutes: Minutes = None,
    save_every: SaveEvery = 1000,
    keep: Keep = 1,
    log_every: LogEvery = 50,
    tensorboard: TensorBoard = False,
    plain: Plain = False,
    as_json: Json = False,
) -> None:
    """Train a task model; stop it with Ctrl-C, and the same command goes on exactly there."""
    from elmokit.tasks.names import task_named
    from elmokit.tasks.run import TaskFiles, train_task
    from elmokit.training.conduct import Conduct
    from elmokit.training.distributed import is_first_process

    chosen = task_named(task)
    outcome = train_task(
        chosen,
        output,
        chosen.defaults().changed(changes or []),
        TaskFiles(train=tuple(train), dev=dev, test=tuple(test or ())),
        elmo=None if elmo == NO_ELMO else elmo,
        vectors=vectors,
        share=share,
        cache=cache,
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
        print_json(
            {
                "ending": outcome.ending,
                "step": outcome.step,
                "steps": outcome.steps,
                "model": outcome.model and str(outcome.model),
                **outcome.result,
            }
        )
        return
    if outcome.model is None:
        print(
            f"{outcome.ending} at step {outcome.step:,} of {outcome.steps:,}; everything is saved: "
            "the same command goes on from here"
        )
        return
    for name, figures in outcome.result["figures"].items():
        print(f"{name}: {shown_figures(figures)}")
    print(f"the model is in {outcome.model}")


def shown_figures(figures: dict[str, float]) -> str:
    """Give the figures of the whole data in a line, without those of parts such as f1/LOC."""
    return ", ".join(f"{name} {value:.2f}" for name, value in figures.items() if "/" not in name)
