"""Models on the Hub: fetched from and pushed to a stand-in, by the real `huggingface_hub`."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elmokit.embed.elmo import Elmo
from elmokit.formats import native
from elmokit.pretrained.untrained import untrained_checkpoint
from elmokit.text.vocabulary import Vocabulary
from unit.embed.conftest import SMALL_CONFIG
from unit.embed.hub_stand_in import TOKEN, Files, Repository, StandIn

TESTS = Path(__file__).resolve().parents[2]


@dataclass
class Client:
    """A process that was told where the Hub is."""

    hub: StandIn
    cache: Path
    process: "subprocess.Popen[str]"

    def __call__(self, call: str, name: str = "org/model", **arguments: Any) -> dict[str, Any]:
        line = json.dumps({"call": call, "name": name, **arguments})
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        assert self.process.stdout is not None
        answer = self.process.stdout.readline()
        assert answer, "the client died"
        found: dict[str, Any] = json.loads(answer)
        return found


@pytest.fixture(scope="module")
def start_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Client]]:
    opened: list[Client] = []

    def start(**environment: str) -> Client:
        hub, home = StandIn(), tmp_path_factory.mktemp("home")
        process = subprocess.Popen(
            [sys.executable, "-m", "unit.embed.hub_client"],
            env={
                **os.environ,
                "HF_ENDPOINT": hub.address,
                "HF_HOME": str(home),
                "HF_HUB_DISABLE_PROGRESS_BARS": "1",
                "HF_HUB_DISABLE_TELEMETRY": "1",
                "OMP_NUM_THREADS": "1",
                **environment,
            },
            cwd=TESTS,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        opened.append(Client(hub, home / "hub", process))
        return opened[-1]

    yield start
    for client in opened:
        client.process.communicate(timeout=60)
        assert client.process.returncode == 0
        client.hub.close()


@pytest.fixture(scope="module")
def running(start_client: Callable[..., Client]) -> Client:
    return start_client(HF_HUB_DISABLE_XET="1")


@pytest.fixture
def client(running: Client) -> Client:
    """The running client, before a Hub with nothing on it."""
    hub = running.hub
    hub.repositories.clear()
    hub.requests.clear()
    hub.altered.clear()
    return running


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with a softmax."""
    words = ("<S>", "</S>", "<UNK>", "the", "cat", "sat")
    config = replace(SMALL_CONFIG, softmax_size=len(words))
    folder = tmp_path_factory.mktemp("model") / "small"
    native.write(untrained_checkpoint(config, vocabulary=Vocabulary(words)), folder)
    return folder


@pytest.fixture(scope="module")
def expected(model: Path) -> np.ndarray:
    return Elmo(native.read(model), device="cpu").embed([["the", "cat", "sat"]])[0]


def content(folder: Path) -> Files:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def assert_vectors(found: dict[str, Any], expected: np.ndarray) -> None:
    assert "vectors" in found, found
    np.testing.assert_allclose(found["vectors"], expected, atol=1e-6)


def paths(hub: StandIn, kind: str) -> list[str]:
    return [path for method, path, _ in hub.requests if method == kind]


def test_a_model_is_fetched_once(client: Client, model: Path, expected: np.ndarray) -> None:
    files = content(model) | {"notes.bin": b"no part of a model"}
    client.hub.repositories["org/once"] = Repository({"main": files})
    assert_vectors(client("from_pretrained", "org/once"), expected)
    fetched = [path.rsplit("/", 1)[1] for path in paths(client.hub, "GET") if "/resolve/" in path]
    assert sorted(fetched) == sorted(content(model))
    client.hub.requests.clear()
    assert_vectors(client("from_pretrained", "org/once"), expected)
    assert not [path for path in paths(client.hub, "GET") if "/resolve/" in path]
    client.hub.requests.clear()
    assert_vectors(client("from_pretrained", "org/once", local_files_only=True), expected)
    assert client.hub.requests == []
    assert_vectors(client("from_pretrained", "org/once", force_download=True), expected)
    assert [path for path in paths(client.hub, "GET") if "/resolve/" in path]


def test_the_softmax_can_stay_there(client: Client, model: Path, expected: np.ndarray) -> None:
    client.hub.repositories["org/lean"] = Repository({"main": content(model)})
    assert_vectors(client("from_pretrained", "org/lean", softmax=False), expected)
    assert not any("softmax" in path for path in paths(client.hub, "GET"))


def test_revisions_and_places_of_the_cache(
    client: Client, model: Path, expected: np.ndarray, tmp_path: Path
) -> None:
    repository = Repository({"main": {"README.md": b"nothing yet"}, "v2": content(model)})
    client.hub.repositories["org/two"] = repository
    found = client("from_pretrained", "org/two", revision="v2", cache_dir=str(tmp_path))
    assert_vectors(found, expected)
    assert (tmp_path / "models--org--two").is_dir()
    commit = repository.commit("v2")
    assert_vectors(client("from_pretrained", "org/two", revision=commit), expected)
    missing = client("from_pretrained", "org/two", revision="v3")
    assert missing["error"] == "InputError"
    assert (
        "revision: expected a branch, a tag or a commit of 'org/two', found 'v3'"
        in (missing["message"])
    )
    empty = client("from_pretrained", "org/two")
    assert empty["error"] == "FormatError"
    assert "holds no model that elmokit knows" in empty["message"]


def test_a_wrong_name(client: Client) -> None:
    found = client("from_pretrained", "org/nothing")
    assert found["error"] == "InputError"
    assert "there is no folder 'org/nothing', and the Hub shows no such model" in found["message"]
    found = client("from_pretrained", "org/a--b..c")
    assert (found["error"], "is no name of the Hub" in found["message"]) == ("InputError", True)
    asked = len(client.hub.requests)
    found = client("from_pretrained", "a/b/c")
    assert "expected a folder that is there, a bundled name, or org/name" in found["message"]
    found = client("load", "org/nothing")
    assert "elmokit.Elmo.from_pretrained('org/nothing')" in found["message"]
    assert len(client.hub.requests) == asked, "load asks nobody"


def test_private_and_gated_models(client: Client, model: Path, expected: np.ndarray) -> None:
    client.hub.repositories["org/private"] = Repository({"main": content(model)}, private=True)
    client.hub.repositories["org/gated"] = Repository({"main": content(model)}, gated=True)
    found = client("from_pretrained", "org/private")
    assert (found["error"], "pass token=" in found["message"]) == ("InputError", True)
    found = client("from_pretrained", "org/gated")
    assert (found["error"], "its owner's consent" in found["message"]) == ("InputError", True)
    assert {token for _, _, token in client.hub.requests} == {None}
    assert_vectors(client("from_pretrained", "org/private", token=TOKEN), expected)
    assert_vectors(client("from_pretrained", "org/gated", token=TOKEN), expected)


def test_a_file_that_is_missing(client: Client, model: Path) -> None:
    files = content(model)
    del files["model.safetensors"]
    client.hub.repositories["org/missing"] = Repository({"main": files})
    found = client("from_pretrained", "org/missing")
    assert found["error"] == "FormatError"
    assert "model.safetensors: missing, though the manifest lists it" in found["message"]
    assert "this is what came from 'org/missing'" in found["message"]


def test_a_download_that_went_wrong(client: Client, model: Path, expected: np.ndarray) -> None:
    """The same number of other bytes, which nobody but the manifest notices; then it is mended."""
    client.hub.repositories["org/damaged"] = Repository({"main": content(model)})
    weights = bytearray(content(model)["model.safetensors"])
    weights[-9] ^= 0xFF
    client.hub.altered["model.safetensors"] = bytes(weights)
    found = client("from_pretrained", "org/damaged")
    assert found["error"] == "FormatError"
    assert "model.safetensors: damaged or edited" in found["message"]
    assert "expected" in found["message"]
    assert "fetch it again (force_download=True)" in found["message"]
    client.hub.altered.clear()
    assert_vectors(client("from_pretrained", "org/damaged", force_download=True), expected)


def test_other_formats_are_on_the_hub_too(
    client: Client, model: Path, expected: np.ndarray, tmp_path: Path
) -> None:
    from elmokit.formats import bilm_hdf5

    bilm_hdf5.write(native.read(model), tmp_path / "weights.hdf5")
    client.hub.repositories["org/hdf5"] = Repository({"main": content(tmp_path)})
    assert_vectors(client("from_pretrained", "org/hdf5"), expected)


def test_push(client: Client, model: Path, expected: np.ndarray) -> None:
    found = client("push", "org/new", model=str(model), token=TOKEN, private=True)
    repository = client.hub.repositories["org/new"]
    assert found == {"address": f"{client.hub.address}/org/new/commit/{repository.commit('main')}"}
    assert repository.private
    assert repository.messages == ["Upload a model of elmokit"]
    assert set(repository.branches["main"]) == {
        "README.md",
        "config.json",
        "manifest.json",
        "model.safetensors",
        "softmax.safetensors",
        "vocabulary.txt",
    }
    readme = repository.branches["main"]["README.md"].decode()
    assert 'elmokit.Elmo.from_pretrained("org/new")' in readme
    assert_vectors(client("from_pretrained", "org/new", token=TOKEN), expected)


def test_push_again(client: Client, model: Path, expected: np.ndarray) -> None:
    """Another model in the same place: no file of the old one is left."""
    client("push", "org/again", model=str(model), token=TOKEN)
    found = client(
        "push",
        "org/again",
        model=str(model),
        token=TOKEN,
        softmax=False,
        storage="float16",
        readme="# Mine\n",
        commit_message="Smaller",
    )
    repository = client.hub.repositories["org/again"]
    assert "address" in found, found
    assert repository.messages[-1] == "Smaller"
    files = repository.branches["main"]
    assert "softmax.safetensors" not in files
    assert files["README.md"] == b"# Mine\n"
    vectors = client("from_pretrained", "org/again")["vectors"]
    np.testing.assert_allclose(vectors, expected, atol=0.01)


def test_push_to_a_branch(client: Client, model: Path, expected: np.ndarray) -> None:
    client("push", "org/branches", model=str(model), token=TOKEN, revision="int8")
    repository = client.hub.repositories["org/branches"]
    assert "config.json" in repository.branches["int8"]
    assert "config.json" not in repository.branches["main"]
    assert_vectors(client("from_pretrained", "org/branches", revision="int8"), expected)


def test_push_without_a_right_to(client: Client, model: Path) -> None:
    found = client("push", "org/theirs", model=str(model), token="hf_another")
    assert found["error"] == "ElmoError"
    assert "the Hub refused (401" in found["message"]
    assert "pass a token= that may do this" in found["message"]
    assert client.hub.repositories == {}
    found = client("push", "no-slash", model=str(model), token=TOKEN)
    assert found["message"] == "name: expected org/name of the Hub, found 'no-slash'"


def test_a_hub_that_cannot_be_reached(
    start_client: Callable[..., Client], model: Path, expected: np.ndarray
) -> None:
    """And what the client does by default, which is to send no file by LFS."""
    client = start_client()
    client.hub.large = False
    assert "address" in client("push", model=str(model), token=TOKEN)
    assert_vectors(client("from_pretrained"), expected)
    client.hub.close()
    assert_vectors(client("from_pretrained"), expected)
    found = client("from_pretrained", "org/never-fetched")
    assert found["error"] == "ElmoError"
    assert "'org/never-fetched'" in found["message"]
    assert "cannot be reached" in found["message"]
    found = client("push", model=str(model), token=TOKEN)
    assert (found["error"], "cannot be reached" in found["message"]) == ("ElmoError", True)


def test_a_client_that_is_told_to_ask_nobody(start_client: Callable[..., Client]) -> None:
    client = start_client(HF_HUB_OFFLINE="1")
    found = client("from_pretrained", "org/never-fetched")
    assert found["error"] == "ElmoError"
    assert "'org/never-fetched' is not in the cache" in found["message"]
    assert client.hub.requests == []
