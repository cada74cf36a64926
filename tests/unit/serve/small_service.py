"""A small model behind a real server in a thread, and a gate to hold its batches up."""

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from torch import Tensor

from elmokit.config import CharacterConfig, ModelConfig
from elmokit.embed.elmo import Elmo
from elmokit.nn.bilm import BiLMState
from elmokit.pretrained.untrained import untrained_checkpoint
from elmokit.serve.app import build_app
from elmokit.serve.limits import Limits
from elmokit.serve.run import Server, address_of, taken_socket
from elmokit.serve.served_model import ServedModel
from elmokit.serve.service import Service
from elmokit.text.vocabulary import Vocabulary

WORDS = ("<S>", "</S>", "<UNK>", "the", ".", "cat", "dog", "sat", "on", "mat", "größe", "字")
CONFIG = ModelConfig(
    characters=CharacterConfig(
        filters=((1, 4), (2, 8)), embedding_dim=4, highway_layers=1, max_characters=12
    ),
    lstm_dim=16,
    projection_dim=8,
    softmax_size=len(WORDS),
)
PATIENCE = 60.0  # seconds; only a hang takes so long


def small_elmo(*, seed: int = 0) -> Elmo:
    """Give a character model with a softmax; its weights are large, so words differ much."""
    checkpoint = untrained_checkpoint(CONFIG, seed=seed, scale=2.0, vocabulary=Vocabulary(WORDS))
    return Elmo(checkpoint, device="cpu")


def small_service(*, name: str = "small", **limits: int) -> Service:
    """Give a service with one model."""
    return Service([ServedModel(name, small_elmo())], limits=Limits(**limits))


class Gate:
    """Stands before a model: lets batches through while it is open, and remembers them."""

    def __init__(self, elmo: Elmo) -> None:
        self._embedder = elmo.embedder
        self.word_vectors = self._embedder.word_vectors
        self.batches: list[list[Sequence[str]]] = []
        self.reached = threading.Event()
        self._open = threading.Event()
        self._open.set()
        elmo.__dict__["embedder"] = self

    def close(self) -> None:
        """Hold the next batch up; whatever came before is forgotten."""
        self.batches.clear()
        self.reached.clear()
        self._open.clear()

    def open(self) -> None:
        """Let batches through."""
        self._open.set()

    @property
    def sentences(self) -> list[Sequence[str]]:
        """What was computed."""
        return [sentence for batch in self.batches for sentence in batch]

    def __call__(self, sentences: Sequence[Sequence[str]], start: BiLMState) -> list[Tensor]:
        """See `Embedder`."""
        self.batches.append(list(sentences))
        self.reached.set()
        assert self._open.wait(PATIENCE)
        return self._embedder(sentences, start)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)


class Running:
    """A server that answers."""

    def __init__(self, service: Service, *, keys: Sequence[bytes] = ()) -> None:
        self.service = service
        self._taken = taken_socket("127.0.0.1", 0)
        self.url = address_of(self._taken)
        self.port: int = self._taken.getsockname()[1]
        ready = threading.Event()
        app = build_app(service, keys=keys)
        self.server = Server(app, service, when_ready=ready.set)
        service.start()
        self._thread = threading.Thread(target=self.server.run, args=([self._taken],))
        self._thread.start()
        assert ready.wait(PATIENCE)

    def end(self) -> None:
        """Ask for the end, as a signal does, and wait for it."""
        self.server.handle_exit(15, None)
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        self.service.stop()


@contextlib.contextmanager
def running(service: Service, *, keys: Sequence[bytes] = ()) -> Iterator[Running]:
    """Have a server answer for a while."""
    server = Running(service, keys=keys)
    try:
        yield server
    finally:
        server.end()
