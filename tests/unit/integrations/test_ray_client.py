"""Answers through Ray Client: all of them come, also the last, and failures too."""

import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from elmokit.integrations import ray_client
from elmokit.integrations.ray_client import HEAD, client_rows


class FakeRay:
    """Runs an actor in this process."""

    def __init__(self) -> None:
        self.options: dict[str, Any] = {}
        self.killed: list[Any] = []

    def remote(self, **options: Any) -> Any:
        self.options = options

        def actor_of(kind: Any) -> Any:
            def start(*arguments: Any) -> Any:
                actor = kind(*arguments)
                return SimpleNamespace(answers=SimpleNamespace(remote=actor.answers))

            return SimpleNamespace(remote=start)

        return actor_of

    @staticmethod
    def get(answer: Any) -> Any:
        return answer

    def kill(self, actor: Any) -> None:
        self.killed.append(actor)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    monkeypatch.setattr(ray_client, "SECONDS_BETWEEN_QUESTIONS", 0.001)
    return FakeRay()


def test_every_answer_comes_once(fake: FakeRay, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def rows(pieces: Any, model: Any, settings: Any, shares: Any) -> Iterator[dict[str, Any]]:
        seen.append((model, settings, shares))
        for number in pieces:
            time.sleep(0.0005 * (number % 7))
            yield {"number": number}

    monkeypatch.setattr(ray_client, "dataset_rows", rows)
    pieces: Any = range(200)
    settings: Any = "settings"
    shares: Any = "shares"
    found = list(client_rows(fake, pieces, "model", settings, shares))
    assert [row["number"] for row in found] == list(range(200))
    assert seen == [("model", "settings", "shares")]
    assert fake.options == {"num_cpus": 0, "resources": HEAD}
    assert len(fake.killed) == 1


def test_failures_come_too(fake: FakeRay, monkeypatch: pytest.MonkeyPatch) -> None:
    def rows(*_: Any) -> Iterator[dict[str, Any]]:
        yield {"number": 0}
        raise RuntimeError("the dataset is gone")

    monkeypatch.setattr(ray_client, "dataset_rows", rows)
    nothing: Any = None
    with pytest.raises(RuntimeError, match="the dataset is gone"):
        list(client_rows(fake, [], nothing, nothing, nothing))
    assert len(fake.killed) == 1


def test_who_leaves_ends_the_run(fake: FakeRay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_client, "dataset_rows", lambda *_: iter([{"number": 0}]))
    nothing: Any = None
    answers = client_rows(fake, [], nothing, nothing, nothing)
    assert next(answers) == {"number": 0}
    answers.close()
    assert len(fake.killed) == 1
