"""Native folders with tensors in fewer bytes, and with the softmax in a file of its own."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
from torch import Tensor

import elmokit
from elmokit.cli.main import run
from elmokit.config import CharacterConfig, ModelConfig
from elmokit.embed.describe import describe_files
from elmokit.files import sha256_of
from elmokit.formats import detect, native
from elmokit.formats.checkpoint import Checkpoint
from elmokit.formats.storage import Storage
from elmokit.pretrained import DEFAULT_NAME
from elmokit.pretrained.untrained import untrained_checkpoint
from unit.formats.small_checkpoints import (
    BASE,
    assert_same,
    assert_same_tensors,
    change_json,
    model,
    refuses,
    refuses_input,
    setting,
    sign,
    vocabulary,
    without,
)

WORD_COUNT = 300
# Large enough for weights of every kind to be packed.
CONFIG = ModelConfig(
    characters=CharacterConfig(filters=((2, 32), (4, 64)), highway_layers=1),
    lstm_dim=96,
    projection_dim=32,
    softmax_size=WORD_COUNT,
)
GATES = "forward_lstm.layers.0.input_weight"
PACKED = {
    "token_encoder.characters.convolutions.1.weight",
    "token_encoder.characters.highway.0.gate.weight",
    "token_encoder.characters.highway.0.transform.weight",
    "softmax.weight",
    *(
        f"{direction}_lstm.layers.{layer}.{part}"
        for direction in ("forward", "backward")
        for layer in (0, 1)
        for part in ("input_weight", "recurrent_weight")
    ),
}
SOFTMAX = {"softmax.weight", "softmax.bias"}


def with_softmax() -> Checkpoint:
    return untrained_checkpoint(CONFIG, vocabulary=vocabulary(WORD_COUNT))


def change_tensors(file: Path, change: Callable[[dict[str, Tensor]], object]) -> None:
    """Edit the tensors and sign the folder anew."""
    tensors = safetensors.torch.load_file(file)
    change(tensors)
    safetensors.torch.save_file(tensors, file)
    sign(file.parent)


def config_of(folder: Path) -> dict[str, object]:
    return dict(json.loads((folder / "config.json").read_text(encoding="utf-8")))


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    native.write(with_softmax(), tmp_path / "packed", storage="int8")
    return tmp_path / "packed"


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    native.write(with_softmax(), tmp_path / "plain")
    return tmp_path / "plain"


# What is written.


def test_version_1_is_kept_for_what_it_can_express(tmp_path: Path) -> None:
    native.write(model(), tmp_path / "old")
    assert config_of(tmp_path / "old").keys() == {"format_version", "metadata", "model"}
    assert config_of(tmp_path / "old")["format_version"] == 1
    native.write(with_softmax(), tmp_path / "softmax")
    native.write(model(), tmp_path / "half", storage="float16")
    for name, storage in (("softmax", "float32"), ("half", "float16")):
        assert config_of(tmp_path / name)["format_version"] == 2
        assert config_of(tmp_path / name)["storage"] == storage


@pytest.mark.parametrize(
    ("storage", "dtype"),
    [("float32", torch.float32), ("float16", torch.float16), ("int8", torch.int8)],
)
def test_what_lies_in_the_files(tmp_path: Path, storage: Storage, dtype: torch.dtype) -> None:
    native.write(with_softmax(), tmp_path / "model", storage=storage)
    weights = safetensors.torch.load_file(tmp_path / "model" / "model.safetensors")
    softmax = safetensors.torch.load_file(tmp_path / "model" / "softmax.safetensors")
    scales = {f"{name}.scale" for name in PACKED} if storage == "int8" else set()
    assert weights.keys() | softmax.keys() == with_softmax().tensors.keys() | scales
    assert softmax.keys() == SOFTMAX | (scales & {"softmax.weight.scale"})
    for name, tensor in (weights | softmax).items():
        assert tensor.dtype == (dtype if name in PACKED else torch.float32), name


def test_no_file_for_no_softmax(tmp_path: Path) -> None:
    native.write(model(), tmp_path / "model", storage="int8")
    assert not (tmp_path / "model" / "softmax.safetensors").exists()


@pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
def test_round_trip(tmp_path: Path, storage: Storage) -> None:
    native.write(with_softmax(), tmp_path / "model", storage=storage)
    found = native.read(tmp_path / "model")
    if storage == "float32":
        assert_same(found, with_softmax())
    for name, tensor in with_softmax().tensors.items():
        assert found.tensors[name].dtype == torch.float32
        largest = float(tensor.abs().max())
        exact = storage == "float32" or name not in PACKED
        bound = 0.0 if exact else largest * {"float16": 2.0**-11, "int8": 0.501 / 127}[storage]
        assert float((found.tensors[name] - tensor).abs().max()) <= bound, name
        assert exact or not torch.equal(found.tensors[name], tensor), name
    native.write(found, tmp_path / "again")
    assert_same_tensors(native.read(tmp_path / "again"), found)


@pytest.mark.parametrize(("storage", "gap"), [("float16", 2e-3), ("int8", 5e-2)])
def test_vectors_stay_close(tmp_path: Path, storage: Storage, gap: float) -> None:
    exact = with_softmax()
    native.write(exact, tmp_path / "exact")
    native.write(exact, tmp_path / "rounded", storage=storage)
    sentences = [["She", "sat", "on", "the", "bank", "."], ["Größe", "字"]]
    outputs = [
        elmokit.load(tmp_path / name, device="cpu").embed(sentences, layers="all")
        for name in ("exact", "rounded")
    ]
    for first, second in zip(*outputs, strict=True):
        cosine = (first * second).sum(-1) / np.linalg.norm(first, axis=-1)
        assert (cosine / np.linalg.norm(second, axis=-1) > 0.999).all()
        assert 0 < np.abs(first - second).mean() < gap


# The softmax's own file.


def test_a_softmax_among_the_weights_is_read_too(plain: Path) -> None:
    """Folders of version 1 have it there."""
    tensors = safetensors.torch.load_file(plain / "model.safetensors")
    tensors |= safetensors.torch.load_file(plain / "softmax.safetensors")
    safetensors.torch.save_file(tensors, plain / "model.safetensors")
    (plain / "softmax.safetensors").unlink()
    change_json(plain / "config.json", without("storage"))
    change_json(plain / "config.json", setting("format_version", 1))
    sign(plain)
    assert_same(native.read(plain), with_softmax())
    assert not SOFTMAX & native.read(plain, softmax=False).tensors.keys()


@pytest.mark.parametrize("folder", ["plain", "packed"])
def test_embedding_does_not_look_at_the_softmax(
    folder: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    path: Path = request.getfixturevalue(folder)
    hashed: list[str] = []

    def counting(file: Path) -> str:
        hashed.append(file.name)
        return sha256_of(file)

    monkeypatch.setattr("elmokit.files.sha256_of", counting)
    (path / "softmax.safetensors").write_bytes(b"damaged")
    found = native.read(path, softmax=False)
    assert found.config == replace(CONFIG, softmax_size=None)
    assert not any(name.startswith("softmax.") for name in found.tensors)
    assert sorted(hashed) == ["config.json", "model.safetensors", "vocabulary.txt"]
    assert elmokit.load(path, device="cpu").dim == 64
    (path / "softmax.safetensors").unlink()
    assert_same(native.read(path, softmax=False), found)
    with refuses(path / "softmax.safetensors", "missing, though the manifest lists it"):
        native.read(path)


def test_a_flipped_bit_in_the_softmax(packed: Path) -> None:
    octets = bytearray((packed / "softmax.safetensors").read_bytes())
    octets[-1] ^= 1
    (packed / "softmax.safetensors").write_bytes(octets)
    with refuses(packed / "softmax.safetensors", "damaged or edited"):
        native.read(packed)


def test_a_softmax_that_the_manifest_does_not_list(packed: Path) -> None:
    change_json(packed / "manifest.json", lambda v: v["files"].pop("softmax.safetensors"))
    with refuses(packed / "manifest.json", "file not listed (key 'softmax.safetensors')"):
        native.read(packed)
    (packed / "softmax.safetensors").unlink()
    with refuses(packed / "model.safetensors", "tensor missing (key 'softmax.weight')"):
        native.read(packed)


@pytest.mark.parametrize("name", sorted(SOFTMAX))
def test_errors_about_the_softmax_name_its_file(plain: Path, name: str) -> None:
    file = plain / "softmax.safetensors"
    tensor = with_softmax().tensors[name]
    change_tensors(file, lambda tensors: tensors.update({name: tensor[1:]}))
    with refuses(file, f"tensor of the wrong shape (key {name!r})"):
        native.read(plain)
    change_tensors(file, lambda tensors: tensors.update({name: tensor * float("nan")}))
    with refuses(file, f"NaN or infinity (key {name!r})"):
        native.read(plain)
    change_tensors(file, lambda tensors: tensors.pop(name))
    with refuses(file, f"tensor missing (key {name!r})"):
        native.read(plain)


def test_a_softmax_that_the_config_does_not_know(plain: Path) -> None:
    change_json(plain / "config.json", setting("model.softmax_size", None))
    sign(plain)
    with refuses(plain / "softmax.safetensors", "unknown tensor (key 'softmax.bias')"):
        native.read(plain)


def test_other_tensors_in_the_softmax_file(plain: Path) -> None:
    file = plain / "softmax.safetensors"
    change_tensors(file, lambda tensors: tensors.update({GATES: torch.zeros(384, 32)}))
    with refuses(file, f"tensor that is no part of a softmax (key {GATES!r})"):
        native.read(plain)


def test_a_softmax_in_two_files(plain: Path) -> None:
    bias = torch.zeros(WORD_COUNT)
    file = plain / "model.safetensors"
    change_tensors(file, lambda tensors: tensors.update({"softmax.bias": bias}))
    with refuses(
        plain / "softmax.safetensors", "that model.safetensors has too (key 'softmax.bias')"
    ):
        native.read(plain)


@pytest.mark.parametrize("octets", [b"", b"PK\x03\x04" * 9])
def test_a_softmax_file_that_is_none(plain: Path, octets: bytes) -> None:
    (plain / "softmax.safetensors").write_bytes(octets)
    sign(plain)
    with refuses(plain / "softmax.safetensors", "is not a readable safetensors file"):
        native.read(plain)


# What cannot be right.


@pytest.mark.parametrize("storage", ["int4", "", "INT8", None, 8, ["int8"], {}])
def test_an_unknown_storage(packed: Path, storage: object) -> None:
    change_json(packed / "config.json", setting("storage", storage))
    sign(packed)
    with refuses(
        packed / "config.json", "storage: expected one of float32, float16, int8", repr(storage)
    ):
        native.read(packed)


@pytest.mark.parametrize("storage", ["float32", "float16", None])
def test_int8_under_another_name(packed: Path, storage: str | None) -> None:
    change = without("storage") if storage is None else setting("storage", storage)
    change_json(packed / "config.json", change)
    sign(packed)
    with refuses(packed / "model.safetensors", "wrong number type (key ", "found torch.int8"):
        native.read(packed)


def test_version_1_knows_no_storage(packed: Path) -> None:
    change_json(packed / "config.json", setting("format_version", 1))
    sign(packed)
    with refuses(packed / "config.json", "unknown key (key 'storage')"):
        native.read(packed)


@pytest.mark.parametrize(
    ("file", "name"), [("model.safetensors", GATES), ("softmax.safetensors", "softmax.weight")]
)
def test_wrong_scales_name_file_and_key(packed: Path, file: str, name: str) -> None:
    key = f"{name}.scale"
    scale = safetensors.torch.load_file(packed / file)[key]
    for value, problem in (
        (scale[1:], "scale of the wrong shape"),
        (scale * float("nan"), "wrong scale"),
        (-scale, "wrong scale"),
        (scale.to(torch.float16), "wrong number type"),
        (None, "scale of an int8 tensor missing"),
    ):

        def change(tensors: dict[str, Tensor], value: Tensor | None = value) -> None:
            tensors.pop(key, None)
            if value is not None:
                tensors[key] = value

        change_tensors(packed / file, change)
        with refuses(packed / file, problem, f"(key {key!r})"):
            native.read(packed)


def test_int8_of_the_wrong_shape(packed: Path) -> None:
    def cut(tensors: dict[str, Tensor]) -> None:
        tensors[GATES] = tensors[GATES][:, 1:].contiguous()

    change_tensors(packed / "model.safetensors", cut)
    with refuses(packed / "model.safetensors", f"wrong shape (key {GATES!r})"):
        native.read(packed)


def test_scales_that_overflow(packed: Path) -> None:
    name = f"{GATES}.scale"
    change_tensors(packed / "model.safetensors", lambda t: t[name].fill_(3e38))
    with refuses(packed / "model.safetensors", f"NaN or infinity (key {GATES!r})"):
        native.read(packed)


def test_what_cannot_be_packed_leaves_nothing(tmp_path: Path) -> None:
    checkpoint = with_softmax()
    large = checkpoint.tensors | {GATES: checkpoint.tensors[GATES] * 1e6}
    with refuses_input("float16 cannot hold", repr(GATES)):
        native.write(replace(checkpoint, tensors=large), tmp_path / "model", storage="float16")
    with refuses_input("storage: expected one of", "'zip'"):
        native.write(checkpoint, tmp_path / "model", storage="zip")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


# Converting and describing.


@pytest.mark.parametrize("form", ["bilm-hdf5", "many-langs", "tf-checkpoint"])
@pytest.mark.parametrize("storage", ["int8", "float32"])
def test_other_formats_have_no_choice(tmp_path: Path, form: str, storage: str) -> None:
    with refuses_input("storage: only the native format", f"found {storage!r} for {form}"):
        detect.write(model(), tmp_path / "model", form=form, storage=storage)
    assert list(tmp_path.iterdir()) == []


def test_convert(tmp_path: Path, plain: Path) -> None:
    done = elmokit.convert(plain, tmp_path / "small", storage="int8")
    assert (done.format, done.tensors) == ("native", len(with_softmax().tensors))
    assert config_of(tmp_path / "small")["storage"] == "int8"
    elmokit.convert(tmp_path / "small", tmp_path / "small.hdf5")
    assert_same_tensors(detect.read(tmp_path / "small.hdf5"), native.read(tmp_path / "small"))
    with refuses_input("storage: expected one of", "found 'int4'"):
        elmokit.convert(tmp_path / "absent", tmp_path / "smaller", storage="int4")
    with refuses_input("storage: only the native format", "for bilm-hdf5"):
        elmokit.convert(plain, tmp_path / "other.hdf5", storage="float16")


def test_describe_files(packed: Path, tmp_path: Path) -> None:
    facts = describe_files(native.read(packed), packed)
    assert facts["storage"] == "int8"
    assert facts["file_sizes"] == {
        file.name: file.stat().st_size for file in packed.iterdir() if file.name != "manifest.json"
    }
    native.write(model(BASE), tmp_path / "old")
    assert describe_files(native.read(tmp_path / "old"), tmp_path / "old")["storage"] == "float32"
    nothing = {"storage": None, "file_sizes": None}
    assert describe_files(untrained_checkpoint(), None) == nothing
    assert describe_files(native.read(packed), "english") == nothing
    bundled = describe_files(native.read(packed), None)
    assert (bundled["storage"], len(bundled["file_sizes"])) == ("int8", 4)
    assert describe_files(native.read(packed), DEFAULT_NAME) == bundled


def test_in_the_shell(plain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = tmp_path / "small"
    assert run(["convert", str(plain), str(small), "--storage", "int8"]) == 0
    capsys.readouterr()
    assert run(["info", str(small), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    sizes = {name: (small / name).stat().st_size for name in facts["file_sizes"]}
    assert (facts["storage"], facts["file_sizes"]) == ("int8", sizes)
    assert run(["info", str(small)]) == 0
    shown = capsys.readouterr().out
    assert f"softmax.safetensors: {sizes['softmax.safetensors']:,}" in shown
    assert run(["convert", str(plain), str(tmp_path / "x.hdf5"), "--storage", "int8"]) == 2
    assert "storage: only the native format has a choice" in capsys.readouterr().err
