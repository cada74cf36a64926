"""The same through a Ray Client connection (``ray://``), which cannot hold a dataset itself.

An actor on the cluster's head runs it; this side asks for the answers so far.
"""

import threading
import time
from collections import deque
from collections.abc import Generator, Sequence
from typing import Any

from elmokit.embed.text_pieces import TextPiece
from elmokit.integrations.ray_actor import ActorSettings
from elmokit.integrations.ray_dataset import Shares, dataset_rows

SECONDS_BETWEEN_QUESTIONS = 0.5
# A resource that Ray gives to the head alone.
HEAD = {"node:__internal_head__": 0.001}


class Run:
    """A dataset that runs in a thread, on the cluster."""

    def __init__(
        self, pieces: Sequence[TextPiece], model: list[Any], settings: ActorSettings, shares: Shares
    ) -> None:
        """``model`` is a reference in a list, so that Ray does not fetch what it refers to."""
        self._rows: deque[dict[str, Any]] = deque()
        self._failure: Exception | None = None
        self._thread = threading.Thread(
            target=self._go, args=(pieces, model[0], settings, shares), daemon=True
        )
        self._thread.start()

    def answers(self) -> tuple[list[dict[str, Any]], bool]:
        """Give the answers since the last question, and whether there will be more."""
        going_on = self._thread.is_alive()
        rows = [self._rows.popleft() for _ in range(len(self._rows))]
        if self._failure is not None:
            raise self._failure
        return rows, going_on

    def _go(
        self, pieces: Sequence[TextPiece], model: Any, settings: ActorSettings, shares: Shares
    ) -> None:
        try:
            for row in dataset_rows(pieces, model, settings, shares):
                self._rows.append(row)
        except Exception as error:
            self._failure = error


def client_rows(
    ray: Any, pieces: Sequence[TextPiece], model: Any, settings: ActorSettings, shares: Shares
) -> Generator[dict[str, Any], None, None]:
    """Give what `dataset_rows` gives, from the other side of the connection."""
    run = ray.remote(num_cpus=0, resources=HEAD)(Run).remote(pieces, [model], settings, shares)
    going_on = True
    try:
        while going_on:
            rows, going_on = ray.get(run.answers.remote())
            yield from rows
            if going_on:
                time.sleep(SECONDS_BETWEEN_QUESTIONS)
    finally:
        ray.kill(run)
