"""`elmo embed`: every output, every kind of line, and nothing left where it fails."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow.parquet
import pytest

from elmokit.embed.load import load

Shell = Callable[..., tuple[int, str, str]]

# A small model, where any will do.
TINY = ["--model", "tiny-untrained"]
TOKENS = [["She", "did", "n't", "sit", "."], [], ["On", "the", "bank"]]


@pytest.fixture(scope="module")
def expected() -> dict[str, list[Any]]:
    elmo = load("tiny-untrained", device="cpu")
    return {layers: elmo.embed(TOKENS, layers=layers) for layers in ("average", "top", "all")}


def names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


def test_hdf5_is_laid_out_as_allennlp_does(
    shell: Shell, text: Path, expected: dict[str, list[Any]]
) -> None:
    output = text.parent / "out.h5"
    code, out, err = shell("embed", *TINY, text, "-o", output)
    assert (code, err) == (0, "")
    assert out.startswith(f"{output}: 3 sentences, 8 tokens, 64 numbers a vector")
    with h5py.File(output) as file:
        assert set(file) == {"0", "1", "2", "sentence_to_index"}
        assert file["sentence_to_index"].shape == (1,)
        index = json.loads(file["sentence_to_index"][0])
        assert index == {"She didn't sit.": "0", "": "1", "On the bank": "2"}
        for key, vectors in enumerate(expected["average"]):
            assert (file[str(key)].dtype, file[str(key)].shape) == (np.float32, vectors.shape)
            np.testing.assert_allclose(file[str(key)][...], vectors, atol=1e-6)


def test_all_layers(shell: Shell, text: Path, expected: dict[str, list[Any]]) -> None:
    assert shell("embed", *TINY, text, "-o", text.parent / "out.hdf5", "--layers", "all")[0] == 0
    with h5py.File(text.parent / "out.hdf5") as file:
        assert file["0"].shape == (3, 5, 64)
        assert file["1"].shape == (3, 0, 64)
        np.testing.assert_allclose(file["2"][...], expected["all"][2], atol=1e-6)


def test_npz(shell: Shell, text: Path, expected: dict[str, list[Any]]) -> None:
    assert (
        shell("embed", *TINY, text, "--output", text.parent / "out.npz", "--layers", "top")[0] == 0
    )
    with np.load(text.parent / "out.npz") as archive:
        assert json.loads(str(archive["tokens"])) == TOKENS
        for key, vectors in enumerate(expected["top"]):
            np.testing.assert_allclose(archive[str(key)], vectors, atol=1e-6)


@pytest.mark.parametrize("layers", ["average", "all"])
def test_parquet(shell: Shell, text: Path, expected: dict[str, list[Any]], layers: str) -> None:
    assert (
        shell("embed", *TINY, text, "-o", text.parent / "out.parquet", "--layers", layers)[0] == 0
    )
    table = pyarrow.parquet.read_table(text.parent / "out.parquet")
    assert table.num_rows == 3
    assert table.column("text").to_pylist() == ["She didn't sit.", "", "On the bank"]
    assert table.column("tokens").to_pylist() == TOKENS
    for nested, vectors in zip(table.column("vectors").to_pylist(), expected[layers], strict=True):
        found = np.array(nested, dtype=np.float32).reshape(vectors.shape)
        np.testing.assert_allclose(found, vectors, atol=1e-6)


@pytest.mark.parametrize("suffix", ["npz", "h5"])
def test_float16(shell: Shell, text: Path, expected: dict[str, list[Any]], suffix: str) -> None:
    output = text.parent / f"out.{suffix}"
    assert shell("embed", *TINY, text, "-o", output, "--float16")[0] == 0
    if suffix == "npz":
        with np.load(output) as archive:
            found = archive["0"]
    else:
        with h5py.File(output) as file:
            found = file["0"][...]
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, expected["average"][0], rtol=1e-3, atol=1e-3)


def test_tokenised(shell: Shell, text: Path) -> None:
    assert shell("embed", *TINY, text, "-o", text.parent / "out.npz", "--tokenised")[0] == 0
    with np.load(text.parent / "out.npz") as archive:
        tokens = json.loads(str(archive["tokens"]))
    assert tokens == [["She", "didn't", "sit."], [], ["On", "the", "bank"]]


@pytest.mark.parametrize(
    ("layers", "shape"),
    [("0", (5, 64)), ("-1", (5, 64)), ("0.5,0.5,0", (5, 64)), ("all", (3, 5, 64))],
)
def test_every_kind_of_layers(
    shell: Shell, text: Path, layers: str, shape: tuple[int, ...]
) -> None:
    assert shell("embed", *TINY, text, "-o", text.parent / "out.npz", "--layers", layers)[0] == 0
    with np.load(text.parent / "out.npz") as archive:
        assert archive["0"].shape == shape


def test_weights_are_used_as_given(
    shell: Shell, text: Path, expected: dict[str, list[Any]]
) -> None:
    output = text.parent / "out.npz"
    assert shell("embed", *TINY, text, "-o", output, "--layers", "1,0,-2")[0] == 0
    every = expected["all"][0]
    with np.load(output) as archive:
        np.testing.assert_allclose(archive["0"], every[0] - 2 * every[2], atol=1e-5)


def test_json_is_one_object(shell: Shell, text: Path) -> None:
    code, out, err = shell("embed", *TINY, text, "-o", text.parent / "out.npz", "--json")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert out.count("\n") == 1
    assert facts.pop("seconds") >= 0
    assert facts == {
        "output": str(text.parent / "out.npz"),
        "sentences": 3,
        "tokens": 8,
        "dim": 64,
    }


def test_a_model_by_path_and_the_start_states(shell: Shell, text: Path, model: Path) -> None:
    vectors = {}
    for start in ("warm", "zeros", "carry"):
        output = text.parent / f"{start}.npz"
        code, _, err = shell("embed", text, "-o", output, "-m", model, "--start", start)
        assert (code, err) == (0, "")
        with np.load(output) as archive:
            vectors[start] = archive["0"]
    assert np.abs(vectors["warm"] - vectors["zeros"]).max() > 1e-3
    np.testing.assert_allclose(vectors["carry"], vectors["zeros"], atol=1e-6)  # the first batch


def test_number_types(shell: Shell, text: Path) -> None:
    for dtype in ("float64", "bfloat16"):
        output = text.parent / f"{dtype}.npz"
        assert (
            shell("embed", *TINY, text, "-o", output, "--dtype", dtype, "--device", "cpu")[0] == 0
        )
        with np.load(output) as archive:
            assert archive["0"].dtype == np.float32


def test_standard_input(shell: Shell, text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with text.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        code, out, _ = shell("embed", *TINY, "-", "-o", text.parent / "out.npz", "--json")
    assert code == 0
    assert json.loads(out)["sentences"] == 3


@pytest.mark.parametrize(
    ("content", "tokens"),
    [
        (b"", []),
        (b"a\r\n\r\nb\r\n", [["a"], [], ["b"]]),
        (b"\xef\xbb\xbfa\nb", [["a"], ["b"]]),
        (b"\n\n", [[], []]),
    ],
    ids=["empty file", "CRLF", "byte order mark, no final newline", "empty lines"],
)
@pytest.mark.parametrize("suffix", ["h5", "npz", "parquet"])
def test_kinds_of_files(
    shell: Shell, text: Path, content: bytes, tokens: list[list[str]], suffix: str
) -> None:
    text.write_bytes(content)
    output = text.parent / f"out.{suffix}"
    code, out, _ = shell("embed", *TINY, text, "-o", output, "--json")
    assert code == 0
    assert json.loads(out)["sentences"] == len(tokens)
    if suffix == "npz":
        with np.load(output) as archive:
            assert json.loads(str(archive["tokens"])) == tokens
    elif suffix == "parquet":
        table = pyarrow.parquet.read_table(output)
        assert table.column("tokens").to_pylist() == tokens
    else:
        with h5py.File(output) as file:
            assert len(file) == len(tokens) + 1


def test_a_byte_that_is_not_utf8(shell: Shell, text: Path) -> None:
    text.write_bytes(b"fine\nnot \xff fine\n")
    code, out, err = shell("embed", *TINY, text, "-o", text.parent / "out.h5")
    assert (code, out) == (2, "")
    assert err == (
        f"elmo: error: {text}, line 2: not UTF-8 (byte 4 is 0xff); convert the file to UTF-8\n"
    )
    assert names(text.parent) == {"in.txt"}


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["missing.txt", "-o", "out.h5"], ["missing.txt", "no such file"]),
        (["in.txt", "-o", "nowhere/out.h5"], ["nowhere is not a folder; create it first"]),
        (["in.txt", "-o", "out.txt"], ["out.txt", ".h5, .hdf5, .npz, .parquet"]),
        (["in.txt", "-o", "out"], [".h5, .hdf5, .npz, .parquet"]),
        (["in.txt", "-o", "out.h5", "--layers", "bottom"], ["layers", "'bottom'", "'average'"]),
        (["in.txt", "-o", "out.h5", "--layers", "7"], ["layers 0 to 2, found 7"]),
        (["in.txt", "-o", "out.h5", "--layers", "1,2"], ["3 layers", "[1.0, 2.0]"]),
        (["in.txt", "-o", "out.h5", "--layers", "1,x,2"], ["'1,x,2'"]),
        (["in.txt", "-o", "out.h5", "--start", "hot"], ["zeros, warm, carry", "'hot'"]),
        (["in.txt", "-o", "out.h5", "--device", "gpu"], ["device", "'gpu'"]),
        (["in.txt", "-o", "out.h5", "--dtype", "int4"], ["dtype", "'int4'", "float32"]),
        (["in.txt", "-o", "out.h5", "--batch-tokens", "0"], ["batch_tokens", "above 0", "0"]),
        (["in.txt", "-o", "out.h5", "--workers", "0"], ["workers", "above 0", "found 0"]),
        (["in.txt", "-o", "out.h5", "--workers", "-1"], ["workers", "above 0", "found -1"]),
        (["in.txt", "-o", "out.h5", "--workers", "two"], ["--workers", "integer"]),
        (["in.txt", "-o", "out.h5", "--workers", "2", "--start", "carry"], ["workers", "'carry'"]),
        (["in.txt", "-o", "out.h5", "--device", "cpu,gpu"], ["device", "'gpu'"]),
        (["in.txt", "-o", "out.h5", "--device", "cpu,"], ["device", "''"]),
        (["in.txt", "-o", "out.h5", "--device", "cpu,cpu", "--start", "carry"], ["'carry'"]),
        (
            ["in.txt", "-o", "out.h5", "--device", "cpu,cpu", "--workers", "3"],
            ["one worker for each device, found 3 and 2"],
        ),
        (["in.txt", "-o", "out.h5", "--model", "nothing"], ["'nothing'", "tiny-untrained"]),
        (["in.txt", "-o", "out.h5", "--model", "./nothing"], ["nothing", "no such file"]),
        (["in.txt", "-o", "out.h5", "--options", "x.json"], ["options", "without a model"]),
    ],
)
def test_mistakes(
    shell: Shell,
    text: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    parts: list[str],
) -> None:
    monkeypatch.chdir(text.parent)
    code, out, err = shell("embed", *TINY, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("elmo: error: ")
    assert err.count("\n") == 1
    for part in parts:
        assert part in err
    assert names(text.parent) == {"in.txt"}


def test_what_was_there_is_replaced_on_success_alone(shell: Shell, text: Path) -> None:
    output = text.parent / "out.npz"
    output.write_bytes(b"precious")
    good = text.read_bytes()
    text.write_bytes(good + b"\xff\n")
    assert shell("embed", *TINY, text, "-o", output)[0] == 2
    assert output.read_bytes() == b"precious"
    text.write_bytes(good)
    assert shell("embed", *TINY, text, "-o", output)[0] == 0
    with np.load(output) as archive:
        assert len(archive.files) == 4
    assert names(text.parent) == {"in.txt", "out.npz"}


def test_parquet_without_pyarrow(shell: Shell, text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, out, err = shell("embed", *TINY, text, "-o", text.parent / "out.parquet")
    assert (code, out) == (2, "")
    assert err == (
        "elmo: error: writing Parquet needs the package pyarrow, which is not installed: "
        'pip install "elmokit[arrow]"\n'
    )


def test_a_device_that_is_not_there_is_the_user_s_mistake(shell: Shell, text: Path) -> None:
    code, _, err = shell("embed", *TINY, text, "-o", text.parent / "out.npz", "--device", "hpu")
    assert (code, "'hpu'" in err) == (2, True)


def test_mistakes_about_workers_leave_the_output_as_it_was(shell: Shell, text: Path) -> None:
    output = text.parent / "out.npz"
    output.write_bytes(b"precious")
    before = output.stat()
    assert shell("embed", *TINY, text, "-o", output, "--workers", "0")[0] == 2
    assert output.read_bytes() == b"precious"
    assert output.stat().st_mtime_ns == before.st_mtime_ns
