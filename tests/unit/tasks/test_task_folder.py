import json
import shutil
from pathlib import Path

import pytest
import safetensors.torch
import torch
from torch import Tensor

from elmokit.embed.elmo_identity import elmo_identity
from elmokit.errors import FormatError, InputError
from elmokit.files import read_json, write_json, write_manifest
from elmokit.tasks.evaluate import predictions_of
from elmokit.tasks.names import TASK_NAMES
from elmokit.tasks.task_folder import STATIC, read_task, write_task
from task_runs import TINY, Small, small_network, tiny_elmo


def written(small: Small, folder: Path, elmo_name: str = TINY) -> Path:
    write_task(small.trained(elmo_name), folder, "# A card\n")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model without ELMo."""
    return written(small_network("ner", tmp_path), tmp_path / "model")


def edit(folder: Path, **changes: object) -> None:
    """Change the configuration as if it had been written so."""
    config = read_json(folder / "config.json") | changes
    write_json(folder / "config.json", {k: v for k, v in config.items() if v is not ...})
    seal(folder)


def seal(folder: Path) -> None:
    (folder / "manifest.json").unlink()
    write_manifest(folder)


def tensors_of(folder: Path) -> dict[str, Tensor]:
    return safetensors.torch.load_file(folder / "model.safetensors")


@pytest.mark.parametrize("task", TASK_NAMES)
def test_what_is_written_is_read(tmp_path: Path, task: str) -> None:
    small = small_network(task, tmp_path, elmo=tiny_elmo())
    place = written(small, tmp_path / "model")
    found = read_task(place, device="cpu")
    assert found.task is small.task
    assert found.settings == small.settings
    assert found.labels == small.labels
    assert found.words == small.words
    assert found.elmo_name == TINY
    assert found.elmo is not None
    assert elmo_identity(found.elmo) == elmo_identity(tiny_elmo())
    assert not found.network.training
    own, read = small.network.state_dict(), found.network.state_dict()
    assert own.keys() == read.keys()
    assert all(torch.equal(own[name], read[name]) for name in own)
    found.network.store = small.network.store
    one, other = (
        predictions_of(network, small.task, small.examples, small.labels)
        for network in (small.network, found.network)
    )
    assert one == other


@pytest.mark.parametrize("trained", ["true", "false"])
def test_static_vectors_of_a_file_travel_with_the_model(tmp_path: Path, trained: str) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("Ada 1 2 3\nunseen 4 5 6\n\xa0 7 8 9\nwent 1 1 1\n", encoding="utf-8")
    small = small_network("ner", tmp_path, f"train_vectors={trained}", vectors=vectors)
    place = written(small, tmp_path / "model")
    vectors.unlink()
    found = read_task(place, device="cpu")
    assert found.words.static is not None
    assert found.words.static.words == ("Ada", "unseen", "\xa0", "went")
    assert found.words.all == small.words.all
    own, read = small.network.state_dict(), found.network.state_dict()
    assert own.keys() == read.keys()
    for name, tensor in own.items():
        assert torch.equal(tensor, read[name])
        assert tensor.dtype == read[name].dtype


def test_a_folder_that_is_there_is_replaced(tmp_path: Path, folder: Path) -> None:
    other = small_network("ner", tmp_path, "seed=5")
    written(other, folder)
    assert read_task(folder, device="cpu").settings.recipe.seed == 5
    assert sorted(file.name for file in folder.iterdir()) == [
        "README.md", "config.json", "manifest.json", "model.safetensors", "words.txt",
    ]  # fmt: skip
    assert (folder / "README.md").read_text() == "# A card\n"


def test_loading_leaves_the_random_numbers_of_others_alone(folder: Path) -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    read_task(folder, device="cpu")
    assert torch.equal(torch.rand(3), expected)


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    message = r"is no task model: expected a folder with config\.json; elmo task train writes one"
    with pytest.raises(FormatError, match=message):
        read_task(tmp_path, device="cpu")
    with pytest.raises(FormatError, match="nowhere: is no task model"):
        read_task(tmp_path / "nowhere", device="cpu")


def test_a_bilm_is_no_task_model(tmp_path: Path) -> None:
    tiny_elmo().save(tmp_path / "bilm")
    with pytest.raises(FormatError, match="bilm"):
        read_task(tmp_path / "bilm", device="cpu")


@pytest.mark.parametrize("name", ["model.safetensors", "words.txt", "README.md"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(FormatError, match=f"{name}: missing, though the manifest lists it"):
        read_task(folder, device="cpu")


def test_a_missing_manifest_is_named(folder: Path) -> None:
    (folder / "manifest.json").unlink()
    with pytest.raises(FormatError, match=r"manifest\.json: cannot be read"):
        read_task(folder, device="cpu")


@pytest.mark.parametrize("name", ["model.safetensors", "words.txt", "config.json"])
def test_a_damaged_file_is_named(folder: Path, name: str) -> None:
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(FormatError, match=f"{name}: damaged or edited since it was saved"):
        read_task(folder, device="cpu")


def test_weights_that_are_no_weights(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"none" * 9)
    seal(folder)
    with pytest.raises(FormatError, match=r"model\.safetensors: cannot be read"):
        read_task(folder, device="cpu")


def test_weights_that_do_not_fit(folder: Path) -> None:
    tensors = tensors_of(folder)
    tensors.pop("model.scores.bias")
    safetensors.torch.save_file(tensors, folder / "model.safetensors")
    seal(folder)
    message = r"model\.safetensors: does not fit the settings .*model\.scores\.bias"
    with pytest.raises(FormatError, match=message):
        read_task(folder, device="cpu")


def test_words_that_do_not_fit(folder: Path) -> None:
    with (folder / "words.txt").open("a") as stream:
        stream.write("more\n")
    seal(folder)
    with pytest.raises(FormatError, match=r"does not fit the settings .*static\.learnt"):
        read_task(folder, device="cpu")


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"format": "other"},
            FormatError,
            "unknown format: expected elmokit-task 1, found 'other'",
        ),
        ({"version": 2}, FormatError, "expected elmokit-task 1, found 'elmokit-task' version 2"),
        ({"labels": ...}, FormatError, r"config\.json: is incomplete \(key 'labels'\)"),
        ({"static_words": "3"}, FormatError, r"expected a number \(key 'static_words'\)"),
        ({"static_words": 3}, FormatError, f"tensor is missing or too small .key '{STATIC}'"),
        ({"task": "pos"}, InputError, "task: expected one of ner, .*, found 'pos'"),
        ({"settings": {}}, InputError, "settings: expected recipe, inputs and model"),
    ],
)
def test_configurations_that_cannot_be(
    folder: Path, changes: dict[str, object], error: type[Exception], message: str
) -> None:
    edit(folder, **changes)
    with pytest.raises(error, match=message):
        read_task(folder, device="cpu")


def test_a_configuration_that_is_no_json(folder: Path) -> None:
    (folder / "config.json").write_text("{")
    seal(folder)
    with pytest.raises(FormatError, match=r"config\.json: is not valid JSON"):
        read_task(folder, device="cpu")


def test_the_bilm_is_named_where_it_is_missing_and_found_where_it_has_moved(
    tmp_path: Path,
) -> None:
    bilm = tmp_path / "bilm"
    tiny_elmo().save(bilm)
    small = small_network("ner", tmp_path, elmo=tiny_elmo())
    folder = written(small, tmp_path / "model", str(bilm))
    assert read_task(folder, device="cpu").elmo_name == str(bilm)
    bilm.rename(tmp_path / "moved")
    message = f"{folder}: the model was trained with the biLM {bilm}, which cannot be loaded"
    with pytest.raises(InputError, match=message) as caught:
        read_task(folder, device="cpu")
    assert "say where it is (elmo=..., --elmo in the shell)" in str(caught.value)
    for place in (str(tmp_path / "moved"), TINY):
        found = read_task(folder, elmo=place, device="cpu")
        assert found.elmo is not None
        assert elmo_identity(found.elmo) == elmo_identity(tiny_elmo())


def test_a_bilm_of_other_weights_is_refused(tmp_path: Path) -> None:
    elmo = tiny_elmo()
    elmo.save(tmp_path / "bilm")
    small = small_network("ner", tmp_path, elmo=elmo)
    folder = written(small, tmp_path / "model", str(tmp_path / "bilm"))
    with torch.no_grad():
        next(iter(elmo.bilm.parameters())).mul_(1.5)
    elmo.save(tmp_path / "other")
    shutil.rmtree(tmp_path / "bilm")
    elmo.save(tmp_path / "bilm")
    for name in (None, str(tmp_path / "other")):
        message = f"another biLM than {name or tmp_path / 'bilm'} is now; its weights have changed"
        with pytest.raises(InputError, match=message):
            read_task(folder, elmo=name, device="cpu")


def test_a_bilm_for_a_model_without_one(folder: Path) -> None:
    with pytest.raises(InputError, match=f"trained without one, found '{TINY}'"):
        read_task(folder, elmo=TINY, device="cpu")


def test_a_device_that_is_not_there(folder: Path) -> None:
    with pytest.raises(InputError, match="device: expected auto, cpu or cuda, found 'tpu'"):
        read_task(folder, device="tpu")


def test_text_stays_as_it_is_in_the_configuration(tmp_path: Path) -> None:
    small = small_network("ner", tmp_path)
    small.labels["entities"] = ["PER", "Ort ä", "地"]
    place = tmp_path / "model"
    write_task(small.trained(), place, "")
    assert "地" in (place / "config.json").read_text(encoding="utf-8")
    assert json.loads((place / "config.json").read_text())["labels"] == small.labels
