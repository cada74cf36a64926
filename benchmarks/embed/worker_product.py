"""The rate of the machine's products at the recurrent shape, both directions in turn.

On a CPU it is the faster of torch's own product and of oneDNN's with packed weights: torch calls
MKL, which runs at half speed on CPUs of other makers than its own.

B sentences, P size of a direction, H size of the cell
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from embed.protocol import Handler, Settings, serve, versions_of

SHORTEST_SECONDS = 0.3


def _start(settings: Settings) -> tuple[dict[str, Any], dict[str, Handler]]:
    import torch

    from elmokit.engine.cpu.products import FloatProduct
    from elmokit.engine.cpu.tiles import avoid_broken_tiles
    from embed.torch_device import set_threads

    avoid_broken_tiles()
    set_threads(settings)
    cell, projection = settings.options["cell"], settings.options["projection"]

    def rate(request: dict[str, Any]) -> dict[str, Any]:
        dtype = getattr(torch, request["dtype"])
        rows = torch.randn(request["rows"], projection).to(settings.device, dtype)  # (B, P)
        weights = [
            torch.randn(projection, 4 * cell).to(settings.device, dtype) for _ in range(2)
        ]  # (P, 4H) for each direction
        gates = torch.empty(len(rows), 4 * cell, dtype=dtype, device=settings.device)  # (B, 4H)
        ways: list[list[Callable[[], object]]] = [
            [partial(torch.mm, rows, weight, out=gates) for weight in weights]
        ]
        if settings.device == "cpu":
            packed = [FloatProduct(weight.t(), None, dtype=dtype) for weight in weights]
            ways.append([partial(product, rows) for product in packed])
        operations = 2 * len(rows) * projection * 4 * cell * len(weights)
        fastest = min(seconds_of(products, settings.device) for products in ways)
        return {"operations_per_second": operations / fastest}

    return {"versions": versions_of("torch")}, {"rate": rate}


def seconds_of(products: Sequence[Callable[[], object]], device: str) -> float:
    """Give the time of all products one after the other."""
    from embed.torch_device import wait

    repeats, seconds = 1, 0.0
    while seconds < SHORTEST_SECONDS:  # the shorter tries warm up
        repeats *= 2
        started = time.perf_counter()
        for _ in range(repeats):
            for product in products:
                product()
        wait(device)
        seconds = time.perf_counter() - started
    return seconds / repeats


if __name__ == "__main__":
    serve(_start)
