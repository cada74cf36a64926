from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.serve_load.served_models import write_model, write_recogniser
from integration.serve_load.server_process import ServerProcess, running_server
from integration.serve_load.unfinished import UnfinishedClients


@pytest.fixture(scope="session")
def fuzzed_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server with every route at work, on models that are tiny."""
    folder = tmp_path_factory.mktemp("fuzzed")
    model = write_model(folder / "tiny", lstm_dim=64, projection_dim=16)
    task = write_recogniser(folder / "recogniser")
    options = ["--model", str(model), "--index", "demo", "--task", f"ner={task}"]
    with running_server(folder, options) as server:
        yield server


@pytest.fixture(scope="session")
def unfinished(fuzzed_server: ServerProcess) -> UnfinishedClients:
    """Clients that begin requests on the server and never end them, while others use it."""
    clients = UnfinishedClients(fuzzed_server.port)
    clients.start()
    return clients


@pytest.fixture(scope="session")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that is slow enough to be overloaded and quick enough for a test."""
    return write_model(tmp_path_factory.mktemp("model") / "small", lstm_dim=512, projection_dim=64)
