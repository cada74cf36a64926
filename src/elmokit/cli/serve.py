"""`elmo serve`: vectors, scores and a page over HTTP."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from elmokit.cli.options import DeviceOption


def command(
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model", "-m", help="Bundled name, folder, or NAME=FOLDER; may be given again."
        ),
    ] = None,
    index: Annotated[
        str | None,
        typer.Option("--index", help="What elmo index wrote, for neighbours; demo: our text."),
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option("--task", help="A task's name, folder, or NAME=FOLDER; may be given again."),
    ] = None,
    host: Annotated[str, typer.Option("--host", help="Address to answer on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port; 0 for any that is free.")] = 8000,
    device: DeviceOption = "auto",
    dtype: Annotated[
        str, typer.Option("--dtype", help="float32, bfloat16, int8 (CPU), tf32 (GPU) or float64.")
    ] = "float32",
    api_key_file: Annotated[
        Path | None,
        typer.Option("--api-key-file", help="Keys, one a line; clients must show one of them."),
    ] = None,
    max_batch_tokens: Annotated[
        int | None,
        typer.Option("--max-batch-tokens", help="Tokens computed at once; default: by device."),
    ] = None,
    max_queue: Annotated[
        int | None,
        typer.Option("--max-queue", help="Requests that may wait; more are answered 429."),
    ] = None,
    max_queue_tokens: Annotated[
        int | None,
        typer.Option("--max-queue-tokens", help="Tokens that may wait; default: by speed."),
    ] = None,
    max_inputs: Annotated[
        int | None, typer.Option("--max-inputs", help="Sentences of a request.")
    ] = None,
    max_sentence_tokens: Annotated[
        int | None, typer.Option("--max-sentence-tokens", help="Tokens of a sentence.")
    ] = None,
    max_body_bytes: Annotated[
        int | None, typer.Option("--max-body-bytes", help="Size of a request.")
    ] = None,
) -> None:
    """Answer over HTTP: vectors as OpenAI's clients ask for them, scores, and a page at /."""
    try:
        from elmokit.serve.app import build_app
        from elmokit.serve.keys import read_keys
        from elmokit.serve.loading import loaded_service
        from elmokit.serve.passing_thread import in_passing_thread
        from elmokit.serve.run import address_of, is_loopback, serve, taken_socket
    except ModuleNotFoundError as error:
        from elmokit.errors import MissingExtraError

        raise MissingExtraError(error.name or "fastapi", "serve", "serving over HTTP") from error

    keys = [] if api_key_file is None else read_keys(api_key_file)
    with taken_socket(host, port) as taken:
        if not keys and not is_loopback(taken):
            print(
                f"elmo: note: anybody who reaches {host} can use this server; --api-key-file asks "
                "for a key",
                file=sys.stderr,
            )
        service = in_passing_thread(
            lambda: loaded_service(
                models=model,
                index=index,
                tasks=task,
                device=device,
                dtype=dtype,
                batch_tokens=max_batch_tokens,
                queue_requests=max_queue,
                queue_tokens=max_queue_tokens,
                inputs=max_inputs,
                sentence_tokens=max_sentence_tokens,
                body_bytes=max_body_bytes,
            )
        )
        names = ", ".join(service.models)
        serve(
            build_app(service, keys=keys),
            service,
            taken,
            when_ready=lambda: print(f"elmo: serving {names} at {address_of(taken)}", flush=True),
        )
