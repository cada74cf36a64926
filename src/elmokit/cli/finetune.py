"""`elmo finetune`: a trained model and text of a domain to a model that knows the domain."""

from dataclasses import asdict
from typing import Annotated

import typer

from elmokit.cli.options import (
    DeviceOption,
    Json,
    Keep,
    LogEvery,
    Minutes,
    ModelName,
    OptionsFile,
    Plain,
    RunFolder,
    SaveEvery,
    TensorBoard,
    VocabularyFile,
    print_json,
)


def command(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="Folder, hdf5 file or bundled name.")
    ],
    corpus: Annotated[
        list[str],
        typer.Argument(
            metavar="CORPUS",
            help="What elmo prepare wrote, or text as it reads it: files, folders, patterns.",
        ),
    ],
    output: RunFolder,
    valid: Annotated[
        list[str] | None,
        typer.Option("--valid", help="Held-out text for before and after; repeatable."),
    ] = None,
    held_out: Annotated[
        float | None,
        typer.Option("--held-out", help="Share to hold out where there is no --valid; 0.02."),
    ] = None,
    field: Annotated[
        str | None, typer.Option("--field", help="Field with the text in .jsonl and .ndjson.")
    ] = None,
    new_words: Annotated[
        int | None,
        typer.Option("--new-words", help="Most words to add to the vocabulary; 10000."),
    ] = None,
    min_count: Annotated[
        int, typer.Option("--min-count", help="How often a new word must occur.")
    ] = 5,
    keep_vocabulary: Annotated[
        bool, typer.Option("--keep-vocabulary", help="Add no words.")
    ] = False,
    new_softmax: Annotated[
        bool,
        typer.Option("--new-softmax", help="Give a model without a softmax one, from nothing."),
    ] = False,
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="Change the recipe: key=value; repeatable.")
    ] = None,
    device: DeviceOption = "auto",
    minutes: Minutes = None,
    save_every: SaveEvery = 1000,
    keep: Keep = 2,
    log_every: LogEvery = 10,
    tensorboard: TensorBoard = False,
    plain: Plain = False,
    name: ModelName = "",
    options: OptionsFile = None,
    vocabulary: VocabularyFile = None,
    as_json: Json = False,
) -> None:
    """Train a model on with text of a domain; new frequent words join its vocabulary."""
    from elmokit.embed.load import read_checkpoint
    from elmokit.errors import InputError
    from elmokit.lm.finetune import DomainText, finetune, perplexities, recipe_for
    from elmokit.training.conduct import Conduct
    from elmokit.training.distributed import is_first_process

    if keep_vocabulary and new_words:
        raise InputError(f"--keep-vocabulary and --new-words {new_words} exclude each other")
    text = DomainText(
        corpus=tuple(corpus),
        valid=tuple(valid or ()),
        held_out=held_out,
        field=field,
        new_words=0 if keep_vocabulary else new_words,
        min_count=min_count,
        new_softmax=new_softmax,
    )
    parent = read_checkpoint(model, options=options, vocabulary=vocabulary)
    finetuned = finetune(
        parent,
        text,
        output,
        settings=recipe_for(parent, changes or []),
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
    run = finetuned.run
    if as_json:
        facts = asdict(finetuned)
        outcome = facts.pop("run")
        del outcome["evaluation"]  # one of the figures after
        print_json({**outcome, "model": run.model and str(run.model), **facts})
    elif run.model is not None:
        for line in perplexities(finetuned):
            print(f"held-out perplexity {line}")
        print(f"the model is in {run.model}")
    else:
        print(
            f"{run.ending} at step {run.step:,} of {run.steps:,}; everything is saved: "
            "the same command goes on from here"
        )
