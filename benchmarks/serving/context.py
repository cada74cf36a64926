"""What the parts share: a folder, a model, sentences and servers."""

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch

from elmokit.analysis.corpus_sentences import DEMO_FILE
from elmokit.embed.elmo import Elmo
from elmokit.embed.load import load
from integration.serve_load.requests_file import made_sentences, write_requests
from integration.serve_load.server_process import ServerProcess, running_server

SENTENCES = 4000


@dataclass
class Context:
    """One run of the benchmark."""

    folder: Path
    model: str
    short: bool
    threads: int | None = None
    """With how many threads servers and the library compute; None: as they like."""
    servers: int = 0

    def seconds(self, whole: float, short: float) -> float:
        """Choose a duration."""
        return short if self.short else whole

    def number(self, whole: int, short: int) -> int:
        """Choose a number."""
        return short if self.short else whole

    @cached_property
    def elmo(self) -> Elmo:
        """The model, in this process."""
        if self.threads is not None:
            torch.set_num_threads(self.threads)
        return load(self.model, device="cpu")

    @cached_property
    def sentences(self) -> list[str]:
        """Sentences by chance from the words of the package's own text: a closed vocabulary."""
        words = sorted(set(re.findall(r"[a-z]{2,}", DEMO_FILE.read_text(encoding="utf-8"))))
        return made_sentences(self.number(SENTENCES, 400), words=words)

    @cached_property
    def requests(self) -> Path:
        """Requests for the sentences one by one, with the library's vectors."""
        print("  computing the reference", flush=True)
        return write_requests(self.folder / "requests.json", self.sentences, self.elmo)

    @contextlib.contextmanager
    def server(
        self, options: Sequence[str] = (), *, model: str | None = None, key: str | None = None
    ) -> Iterator[ServerProcess]:
        """Run a server."""
        self.servers += 1
        folder = self.folder / f"server{self.servers}"
        folder.mkdir()
        options = ["--model", model or self.model, *options]
        with running_server(folder, options, key=key, threads=self.threads) as server:
            yield server
