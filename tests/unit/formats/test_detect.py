"""Which format is it, and what is said where it is none."""

import gzip
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

import elmokit
from elmokit.embed.load import read_checkpoint
from elmokit.formats import bilm_hdf5, detect, many_langs, native, tf_checkpoint
from elmokit.pretrained import bundled_names
from unit.formats.small_checkpoints import (
    BASE,
    MANY_LANGS,
    WORDS,
    assert_same,
    contents,
    model,
    refuses,
    refuses_input,
)

FORMS = [native.NAME, bilm_hdf5.NAME, many_langs.NAME, tf_checkpoint.NAME]
CONFIG_OF = dict.fromkeys(FORMS, BASE) | {many_langs.NAME: MANY_LANGS}


def written(folder: Path, form: str) -> Path:
    assert detect.write(model(CONFIG_OF[form]), folder, form=form) == form
    return folder


@pytest.mark.parametrize("form", FORMS)
def test_a_folder_of_each_format(form: str, tmp_path: Path) -> None:
    folder = written(tmp_path / "model", form)
    assert detect.detect(folder) == form
    assert detect.read(folder).source_format == form
    elmo = elmokit.load(folder, device="cpu")
    assert elmo.source_format == form
    assert elmokit.load(str(folder), device="cpu").config == elmo.config


@pytest.mark.parametrize(
    ("form", "name"),
    [
        (bilm_hdf5.NAME, "weights.hdf5"),
        (tf_checkpoint.NAME, "model.ckpt-0"),
        (tf_checkpoint.NAME, "model.ckpt-0.index"),
        (tf_checkpoint.NAME, "model.ckpt-0.data-00000-of-00001"),
    ],
)
def test_a_file_of_each_format(form: str, name: str, tmp_path: Path) -> None:
    folder = written(tmp_path / "model", form)
    assert detect.detect(folder / name) == form
    assert_same(detect.read(folder / name), model(CONFIG_OF[form]))


@pytest.mark.parametrize(
    ("form", "name"),
    [
        (native.NAME, "model.safetensors"),
        (native.NAME, "config.json"),
        (native.NAME, "manifest.json"),
        (bilm_hdf5.NAME, "options.json"),
        (many_langs.NAME, "encoder.pkl"),
        (many_langs.NAME, "token_embedder.pkl"),
        (many_langs.NAME, "config.json"),
    ],
)
def test_one_file_of_a_model(form: str, name: str, tmp_path: Path) -> None:
    folder = written(tmp_path / "model", form)
    with refuses(folder / name, "is one file of a model", f"name its folder {folder}"):
        elmokit.load(folder / name)


def test_the_form_that_is_written(tmp_path: Path) -> None:
    assert detect.write(model(), tmp_path / "a") == "native"
    assert detect.write(model(), tmp_path / "b.hdf5") == "bilm-hdf5"
    assert detect.write(model(), tmp_path / "c.h5", overwrite=True) == "bilm-hdf5"
    assert detect.write(model(), tmp_path / "d.hdf5", form="native") == "native"
    assert (tmp_path / "d.hdf5" / "model.safetensors").is_file()


@pytest.mark.parametrize("form", FORMS)
def test_a_folder_of_other_things_is_never_replaced(form: str, tmp_path: Path) -> None:
    folder = written(tmp_path / "model", form)
    (folder / "thesis.txt").write_text("mine", encoding="utf-8")
    before = contents(tmp_path)
    for other in FORMS:
        with refuses_input(str(folder), "'thesis.txt', which is no part of a model"):
            detect.write(model(CONFIG_OF[other]), folder, form=other, overwrite=True)
    assert contents(tmp_path) == before
    (folder / "thesis.txt").unlink()
    detect.write(model(BASE, seed=1), folder, overwrite=True)
    assert_same(detect.read(folder), model(BASE, seed=1))


@pytest.mark.parametrize("form", ["", "hdf5", "Native", "onnx"])
def test_an_unknown_form(form: str, tmp_path: Path) -> None:
    with refuses_input(f"expected one of {', '.join(FORMS[:1])}", f"found {form!r}"):
        detect.write(model(), tmp_path / "model", form=form)
    assert list(tmp_path.iterdir()) == []


def test_native_comes_first(tmp_path: Path) -> None:
    """A folder may hold what somebody converted from."""
    folder = written(tmp_path / "model", native.NAME)
    bilm_hdf5.write(model(seed=1), folder / "weights.hdf5")
    assert detect.detect(folder) == "native"
    assert_same(detect.read(folder), model())
    assert_same(detect.read(folder / "weights.hdf5"), model(seed=1))


@pytest.mark.parametrize(
    ("form", "arguments"),
    [
        (native.NAME, ["options", "vocabulary", "token_embedding"]),
        (many_langs.NAME, ["options", "vocabulary", "token_embedding"]),
        (tf_checkpoint.NAME, ["token_embedding"]),
    ],
)
def test_files_that_a_format_has_no_use_for(
    form: str, arguments: list[str], tmp_path: Path
) -> None:
    folder = written(tmp_path / "model", form)
    for name in arguments:
        with refuses_input(f"{name}: {folder} is in the {form} format", "takes no such file"):
            elmokit.load(folder, **{name: tmp_path / "file"})  # type: ignore[arg-type]


# What is no model.


def test_nothing_there(tmp_path: Path) -> None:
    for name in ("absent", "absent.hdf5", "absent/below", "absent.index", "字"):
        with (
            refuses(tmp_path / name, "no such file or folder")
            if "\0" not in name
            else (pytest.raises(elmokit.FormatError, match="no such file or folder"))
        ):
            elmokit.load(tmp_path / name)


@pytest.mark.parametrize("name", ["a\0b", "\udcff", "\ud800", "a\nb", "\x1b[31m"])
def test_names_that_hardly_any_file_has(name: str, tmp_path: Path) -> None:
    with pytest.raises(elmokit.FormatError, match="no such file or folder") as caught:
        elmokit.load(tmp_path / name)
    assert len(str(caught.value).splitlines()) == 1


def test_an_empty_folder(tmp_path: Path) -> None:
    with refuses(tmp_path, "holds no model", "found nothing", "model.safetensors, *.hdf5"):
        elmokit.load(tmp_path)


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number:02d}.txt").touch()
    with refuses(tmp_path, "holds no model", "found 00.txt, 01.txt", "07.txt"):
        elmokit.load(tmp_path)


@pytest.mark.parametrize(
    ("octets", "found"),
    [
        (b"", "an empty file"),
        (b"<!DOCTYPE html>\n<html><body>404", "a web page"),
        (b"<html><body>404", "a web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1", "run `git lfs pull`"),
        (b"PK\x03\x04rest", "a zip archive"),
        (gzip.compress(b"x", mtime=0), "a gzip archive"),
        (b"\x89HDF\r\n\x1a\nrest", "an HDF5 file"),
        (b"hello world, how are you", "a file that starts with b'hello world, how'"),
        (b"\x1b[31m\n\x00", "a file that starts with b'\\x1b[31m\\n\\x00'"),
    ],
)
def test_a_file_of_something_else(octets: bytes, found: str, tmp_path: Path) -> None:
    for name in ("model", "model.bin", "weights.pt"):
        (tmp_path / name).write_bytes(octets)
        with refuses(tmp_path / name, "is not a model file that elmokit knows", found):
            elmokit.load(tmp_path / name)


@pytest.mark.parametrize(
    "octets", [b"<!doctype html><html>", b"\n  <!DOCTYPE html>", b"<HTML>", b"\xef\xbb\xbf<html>"]
)
def test_a_web_page_in_other_words(octets: bytes, tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(octets)
    with refuses(tmp_path / "model", "a web page"):
        elmokit.load(tmp_path / "model")


def test_a_zipped_model(tmp_path: Path) -> None:
    folder = written(tmp_path / "model", bilm_hdf5.NAME)
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as archive:
        for file in folder.iterdir():
            archive.write(file, file.name)
    with refuses(tmp_path / "model.zip", "a zip archive"):
        elmokit.load(tmp_path / "model.zip")


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.bin").write_bytes(b"x")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with refuses(tmp_path / "model.bin", "Permission denied"):
        elmokit.load(tmp_path / "model.bin")


@pytest.mark.parametrize("name", ["a" * 300, "a/" * 3000 + "x"])
def test_a_name_that_is_too_long(name: str) -> None:
    with pytest.raises(elmokit.ElmoError, match=r"aaa|a/a"):
        elmokit.load(name)


# By name.


def test_bundled_models() -> None:
    assert elmokit.load(device="cpu").metadata["name"] == bundled_names()[0]
    for name in bundled_names():
        assert elmokit.load(name, device="cpu").metadata["name"] == name


@pytest.mark.parametrize("name", ["tiny-untraind", "elmo", "original", "Tiny-Untrained"])
def test_a_typo(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with refuses_input(f"called {name!r}", f"bundled are {', '.join(bundled_names())}"):
        elmokit.load(name)


def test_a_folder_wins_over_a_bundled_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    native.write(model(), Path(bundled_names()[0]))
    assert elmokit.load(bundled_names()[0], device="cpu").config == BASE


def test_arguments_that_do_not_go_together(tmp_path: Path) -> None:
    folder = written(tmp_path / "model", bilm_hdf5.NAME)
    weights = folder / "weights.hdf5"
    with refuses_input("source, weights: give one of them", repr(str(folder))):
        elmokit.load(str(folder), weights=weights)
    for name in ("options", "vocabulary", "token_embedding"):
        with refuses_input(f"{name}: given without a model", "weights="):
            elmokit.load(**{name: weights})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("argument", "value", "problem"),
    [
        ("dtype", "float8", "dtype: expected one of float32, bfloat16, int8, float64 on cpu"),
        ("start", "cold", "start: expected one of zeros, warm, carry, found 'cold'"),
        ("device", "tpu9", "device: "),
    ],
)
def test_other_arguments(argument: str, value: str, problem: str, tmp_path: Path) -> None:
    folder = written(tmp_path / "model", native.NAME)
    with refuses_input(problem, value):
        elmokit.load(folder, **{argument: value})  # type: ignore[arg-type]


def test_read_checkpoint_keeps_the_softmax(tmp_path: Path) -> None:
    config = replace(WORDS, softmax_size=7)
    native.write(model(config), tmp_path / "model")
    assert_same(read_checkpoint(tmp_path / "model"), model(config))
    assert read_checkpoint(str(tmp_path / "model"), softmax=False).config.softmax_size is None


def test_reading_leaves_every_file_as_it_was(tmp_path: Path) -> None:
    for form in FORMS:
        written(tmp_path / form, form)
    before = contents(tmp_path)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    for form in FORMS:
        elmokit.load(tmp_path / form, device="cpu").embed([["a", "b"]])
    assert contents(tmp_path) == before
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == times


def test_links_to_a_model_are_followed(tmp_path: Path) -> None:
    for form in FORMS:
        folder = written(tmp_path / form, form)
        (tmp_path / f"{form}-link").symlink_to(folder)
        assert_same(detect.read(tmp_path / f"{form}-link"), model(CONFIG_OF[form]))
