"""`elmo embed`: a text file to a file of vectors, or many to a folder of shards."""

import os
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from elmokit.cli.options import (
    Json,
    ModelOption,
    OptionsFile,
    TokenEmbeddingFile,
    VocabularyFile,
    layers_named,
    print_json,
)

if TYPE_CHECKING:
    from elmokit.embed.embed_shards import ShardsSummary

INTERRUPTED = 130


def _checked_ray(ray: str | None) -> str | None:
    """See an option or a file that stands where the address was left out."""
    from elmokit.errors import InputError

    if ray is not None and (ray.startswith("-") or Path(ray).is_file()):
        raise InputError(
            f"--ray: expected local, auto or the address of a cluster, found {ray!r}; for the "
            "cores of this machine write --ray local"
        )
    return ray


def command(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE", help="One sentence a line; - for stdin.")
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="A .h5, .hdf5, .npz or .parquet file; for several files or Ray a folder.",
        ),
    ],
    model: ModelOption = None,
    layers: Annotated[
        str,
        typer.Option("--layers", help="all, top, average, a number, or weights as 0.2,0.3,0.5."),
    ] = "average",
    tokenised: Annotated[
        bool, typer.Option("--tokenised", help="Tokens are separated by white space already.")
    ] = False,
    float16: Annotated[bool, typer.Option("--float16", help="Write half-size numbers.")] = False,
    start: Annotated[str, typer.Option("--start", help="warm, zeros or carry.")] = "warm",
    rows: Annotated[
        int, typer.Option("--rows", help="With --start carry: sentences in a batch.")
    ] = 64,
    device: Annotated[
        str,
        typer.Option("--device", help="auto, cpu or cuda, or several to share: cuda:0,cuda:1."),
    ] = "auto",
    workers: Annotated[
        int | None, typer.Option("--workers", help="Processes that share the work.")
    ] = None,
    dtype: Annotated[
        str, typer.Option("--dtype", help="float32, bfloat16, int8 (CPU), tf32 (GPU) or float64.")
    ] = "float32",
    batch_tokens: Annotated[
        int | None,
        typer.Option("--batch-tokens", help="Tokens computed at once: 4096, on a GPU 16384."),
    ] = None,
    shard_bytes: Annotated[
        int | None,
        typer.Option("--shard-bytes", help="With a folder: text of a shard; 262144."),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            "--ray",
            metavar="ADDRESS",
            callback=_checked_ray,
            help="Share the work on Ray: local, auto, HOST:PORT or ray://HOST:PORT.",
        ),
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", help="With --ray: actors; as many as fit.")
    ] = None,
    num_cpus: Annotated[
        float | None, typer.Option("--num-cpus", help="With --ray: cores of an actor; 1.")
    ] = None,
    num_gpus: Annotated[
        float | None,
        typer.Option("--num-gpus", help="With --ray: GPUs of an actor; 1 where there are any."),
    ] = None,
    options: OptionsFile = None,
    vocabulary: VocabularyFile = None,
    token_embedding: TokenEmbeddingFile = None,
    as_json: Json = False,
) -> None:
    """Embed text files; empty lines keep their place.

    Several files, or one with a name for the output that ends in /, make a folder of Parquet
    shards; stopped at any moment, the same command does what is missing.
    """
    _check_ray(ray, concurrency=concurrency, num_cpus=num_cpus, num_gpus=num_gpus, workers=workers)
    into_folder = _is_folder(output, files, ray=ray, shard_bytes=shard_bytes)

    from elmokit.embed.batching import check_batch_tokens
    from elmokit.embed.embed_file import check_source, embed_file
    from elmokit.embed.embed_shards import embed_shards
    from elmokit.embed.load import load
    from elmokit.embed.start_state import CarriedState, checked_start
    from elmokit.embed.text_pieces import PIECE_BYTES
    from elmokit.embed.writers import check_output

    for file in files:
        check_source(file)
    if not into_folder:
        check_output(Path(output))
    check_batch_tokens(batch_tokens)
    state = CarriedState(rows)
    devices = device.split(",")
    elmo = load(
        model,
        options=options,
        vocabulary=vocabulary,
        token_embedding=token_embedding,
        device=devices[0] if ray is None else "cpu",
        # On a cluster the precision is the actors' matter, who may have other devices.
        dtype=dtype if ray is None or dtype == "float64" else "float32",
        start=checked_start(start),
    )
    elmo.state = state
    chosen = layers_named(layers)
    if not into_folder:
        summary = embed_file(
            elmo,
            files[0],
            output,
            layers=chosen,
            tokenised=tokenised,
            float16=float16,
            batch_tokens=batch_tokens,
            progress=not as_json,
            workers=workers,
            devices=devices if len(devices) > 1 else None,
        )
        if as_json:
            print_json(asdict(summary))
        else:
            print(
                f"{summary.output}: {summary.sentences} sentences, {summary.tokens} tokens, "
                f"{summary.dim} numbers a vector, {summary.seconds:.1f} s"
            )
        return

    def into_shards() -> "ShardsSummary":
        if ray is None:
            return embed_shards(
                elmo,
                files,
                output,
                layers=chosen,
                tokenised=tokenised,
                float16=float16,
                batch_tokens=batch_tokens,
                shard_bytes=PIECE_BYTES if shard_bytes is None else shard_bytes,
                progress=not as_json,
                workers=workers,
                devices=devices if len(devices) > 1 else None,
            )
        from elmokit.integrations.ray import embed_files

        # Ray tells of machines that are lost where our answer goes.
        with redirect_stdout(sys.stderr):
            return embed_files(
                elmo,
                files,
                output,
                address=ray,
                layers=chosen,
                tokenised=tokenised,
                float16=float16,
                dtype=dtype,
                device=device,
                batch_tokens=batch_tokens,
                shard_bytes=PIECE_BYTES if shard_bytes is None else shard_bytes,
                num_cpus=1 if num_cpus is None else num_cpus,
                num_gpus=num_gpus,
                concurrency=concurrency,
                progress=not as_json,
            )

    _report_shards(into_shards, as_json=as_json)


def _report_shards(run: Callable[[], "ShardsSummary"], *, as_json: bool) -> None:
    try:
        summary = run()
    except KeyboardInterrupt:
        # Said here, because what is said of other commands is not true: shards are there.
        print(
            "elmo: error: interrupted; shards that are complete stay, and the same command does "
            "what is missing",
            file=sys.stderr,
        )
        raise SystemExit(INTERRUPTED) from None
    if as_json:
        print_json(asdict(summary))
        return
    made = "all made now" if summary.made == summary.shards else f"{summary.made} made now"
    print(
        f"{summary.output}: {summary.shards} shards ({made}), {summary.sentences} sentences, "
        f"{summary.tokens} tokens, {summary.dim} numbers a vector, {summary.seconds:.1f} s"
    )


def _is_folder(output: str, files: list[str], *, ray: str | None, shard_bytes: int | None) -> bool:
    """Say whether shards are wanted, and refuse what cannot be meant."""
    from elmokit.embed.writers import SUFFIXES
    from elmokit.errors import InputError

    names_folder = output.endswith(("/", os.sep)) or Path(output).is_dir()
    if names_folder or (len(files) == 1 and ray is None):
        if shard_bytes is not None and not names_folder:
            raise InputError(
                f"--shard-bytes: only folders have shards; end the output in /, found {output}"
            )
        if not names_folder and Path(output).suffix not in SUFFIXES:
            raise InputError(
                f"output: expected a name that ends in {', '.join(SUFFIXES)}, or in / for a "
                f"folder of shards, found {output}"
            )
        return names_folder
    if Path(output).suffix in SUFFIXES:
        what = "--ray writes" if ray is not None else f"{len(files)} text files make"
        raise InputError(
            f"output: {what} a folder of shards, found {output}; name a folder, as OUT/"
        )
    return True


def _check_ray(
    ray: str | None,
    *,
    concurrency: int | None,
    num_cpus: float | None,
    num_gpus: float | None,
    workers: int | None,
) -> None:
    from elmokit.errors import InputError

    if ray is None:
        given = {"concurrency": concurrency, "num-cpus": num_cpus, "num-gpus": num_gpus}
        for name, value in given.items():
            if value is not None:
                raise InputError(f"--{name}: given without --ray, found {value}; add --ray local")
        return
    if workers is not None:
        raise InputError(
            f"--workers: with --ray the actors share the work; use --concurrency {workers}"
        )
