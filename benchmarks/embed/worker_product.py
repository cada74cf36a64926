"""The rate of the machine's products at the recurrent shape, both directions in turn.

B sentences, P size of a direction, H size of the cell
"""

import time
from typing import Any

from embed.protocol import Handler, Settings, serve, versions_of

SHORTEST_SECONDS = 0.3


def _start(settings: Settings) -> tuple[dict[str, Any], dict[str, Handler]]:
    import torch

    from elmokit.engine.cpu.tiles import avoid_broken_tiles
    from embed.torch_device import set_threads, wait

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
        repeats, seconds = 1, 0.0
        while seconds < SHORTEST_SECONDS:  # the shorter tries warm up
            repeats *= 2
            started = time.perf_counter()
            for _ in range(repeats):
                for weight in weights:
                    torch.mm(rows, weight, out=gates)
            wait(settings.device)
            seconds = time.perf_counter() - started
        operations = 2 * len(rows) * projection * 4 * cell * len(weights) * repeats
        return {"operations_per_second": operations / seconds}

    return {"versions": versions_of("torch")}, {"rate": rate}


if __name__ == "__main__":
    serve(_start)
