from pathlib import Path

import pytest

from elmokit.analysis.context_index_build import build_index
from elmokit.errors import ElmoError, InputError
from elmokit.formats import native
from elmokit.pretrained.untrained import untrained_checkpoint
from elmokit.serve.loading import loaded_index, loaded_model, loaded_service, named
from elmokit.serve.served_model import ServedModel
from elmokit.serve.service import Service
from unit.serve.small_service import small_elmo

TINY = "tiny-untrained"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "my-model"
    native.write(untrained_checkpoint(), folder)
    return folder


def test_models_are_called_by_name_folder_or_as_one_likes(folder: Path) -> None:
    assert loaded_model(TINY, device="cpu", dtype="float32").name == TINY
    assert loaded_model(str(folder), device="cpu", dtype="float32").name == "my-model"
    other = loaded_model(f"other={folder}", device="cpu", dtype="float32")
    assert other.name == "other"
    assert not other.has_language_model


def test_a_folder_may_have_an_equals_sign(tmp_path: Path) -> None:
    (tmp_path / "a=b").mkdir()
    assert named(str(tmp_path / "a=b")) == (None, str(tmp_path / "a=b"))
    assert named("a=b") == ("a", "b")
    for wrong in ("=b", "a=", "x/a=b"):
        with pytest.raises(InputError, match="NAME=FOLDER"):
            named(wrong)


def test_names_must_differ(folder: Path) -> None:
    with pytest.raises(InputError, match="found 'x' twice"):
        loaded_service(models=[f"x={folder}", f"x={folder}"], device="cpu")


def test_what_is_not_there_is_an_error_of_ours(tmp_path: Path) -> None:
    for arguments in (
        {"models": ["nothing"]},
        {"models": [TINY], "tasks": ["nothing"]},
        {"models": [TINY], "index": str(tmp_path)},
    ):
        with pytest.raises(ElmoError):
            loaded_service(device="cpu", **arguments)
    with pytest.raises(InputError, match="batch_tokens"):
        loaded_service(models=[TINY], batch_tokens=0)


def test_limits_follow_the_batch(folder: Path) -> None:
    service = loaded_service(models=[TINY], device="cpu", batch_tokens=100)
    assert service.limits.sentence_tokens == 98
    service = loaded_service(models=[TINY], device="cpu", queue_requests=7, inputs=None)
    assert (service.limits.queue_requests, service.limits.inputs) == (7, 2048)
    assert service.limits.batch_tokens == 4096


def test_an_index_shares_the_model_that_is_loaded(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "text").write_text("The cat sat.\nA dog sat.\n", encoding="utf-8")
    served = loaded_model(str(folder), device="cpu", dtype="float32")
    build_index([tmp_path / "text"], tmp_path / "index", elmo=served.elmo)
    other = ServedModel("other", small_elmo())
    assert loaded_index(str(tmp_path / "index"), [other, served]).elmo is served.elmo


def test_the_line_is_settled_by_measuring_unless_it_is_given() -> None:
    service = Service([ServedModel("small", small_elmo())])
    service.start()
    service.stop()
    (lane,) = service._lanes.values()
    assert 512 <= lane.batcher.queue_tokens <= 8192
    assert lane.batcher.pace.seconds(1) > 0
