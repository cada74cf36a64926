"""`elmo serve`: vectors, scores and a page over HTTP."""

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
        typer.Option("--max-batch-tokens", help="Tokens computed at once: 4096, on a GPU 16384."),
    ] = None,
    max_queue: Annotated[
        int, typer.Option("--max-queue", help="Requests that may wait; more are answered 429.")
    ] = 512,
) -> None:
    """Answer over HTTP: vectors as OpenAI's clients ask for them, scores, and a page at /."""
    try:
        from elmokit.serve.app import build_app
        from elmokit.serve.run import listening_socket, serve
    except ImportError as error:
        from elmokit.errors import MissingExtraError

        raise MissingExtraError("fastapi", "serve", "serving over HTTP") from error
    from elmokit.embed.batching import batch_tokens_of
    from elmokit.serve.keys import read_keys
    from elmokit.serve.limits import Limits
    from elmokit.serve.served_model import loaded_model
    from elmokit.serve.service import Service

    keys = [] if api_key_file is None else read_keys(api_key_file)
    taken = listening_socket(host, port)
    models = [loaded_model(choice, device=device, dtype=dtype) for choice in model or [None]]
    tokens = max_batch_tokens or batch_tokens_of(str(models[0].elmo.device))
    limits = Limits(batch_tokens=tokens, queue_tokens=2 * tokens, queue_requests=max_queue)
    service = Service(models, limits=limits)
    serve(build_app(service, keys=keys), service, taken)
