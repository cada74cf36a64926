"""Files of vectors: what is in them, and that they are whole or not there."""

import json
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import h5py
import numpy as np
import numpy.typing as npt
import pyarrow.parquet
import pytest

from elmokit.embed import npz_writer, parquet_writer, sentence_index
from elmokit.embed.half import as_float16
from elmokit.embed.writers import SUFFIXES, check_output, writing
from elmokit.errors import InputError, MissingExtraError

Array = npt.NDArray[np.float32]
Row = tuple[str, list[str], Array]


def rows(shape: tuple[int, ...], lengths: list[int]) -> list[Row]:
    """Make sentences; ``shape`` has -1 in the place of the tokens."""
    draw = np.random.default_rng(0)
    made = []
    for number, length in enumerate(lengths):
        tokens = [f"t{i}" for i in range(length)]
        size = tuple(length if n == -1 else n for n in shape)
        text = " ".join([*tokens, str(number)]) if length else ""
        made.append((text, tokens, draw.normal(size=size).astype(np.float32)))
    return made


FLAT = rows((-1, 4), [3, 0, 1, 7])
LAYERED = rows((3, -1, 4), [3, 0, 1, 7])


def write(path: Path, sentences: list[Row], *, float16: bool = False) -> None:
    with writing(path) as writer:
        for number, (text, tokens, vectors) in enumerate(sentences):
            writer.write(text, tokens, as_float16(vectors, number) if float16 else vectors)


def read_npz(path: Path) -> list[Any]:
    with np.load(path) as archive:
        return [archive[str(i)] for i in range(len(archive.files) - 1)]


def read_hdf5(path: Path) -> list[Any]:
    with h5py.File(path) as file:
        return [file[str(i)][...] for i in range(len(file) - 1)]


def read_parquet(path: Path) -> list[Any]:
    """Read a column of nested lists back; an empty list has lost its inner size."""
    column = pyarrow.parquet.read_table(path).column("vectors").to_pylist()
    return [np.array(value, dtype=np.float32) for value in column]


READERS = {".npz": read_npz, ".h5": read_hdf5, ".hdf5": read_hdf5, ".parquet": read_parquet}


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("sentences", [FLAT, LAYERED], ids=["one layer", "all layers"])
def test_arrays_come_back(tmp_path: Path, suffix: str, sentences: list[Row]) -> None:
    path = tmp_path / f"out{suffix}"
    write(path, sentences)
    found = READERS[suffix](path)
    assert len(found) == len(sentences)
    for array, (_, tokens, vectors) in zip(found, sentences, strict=True):
        assert array.dtype == np.float32
        if tokens or suffix != ".parquet":
            assert array.shape == vectors.shape
        assert array.size == vectors.size
        np.testing.assert_array_equal(array.ravel(), vectors.ravel())
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_float16_is_half_the_size_and_close(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    write(path, FLAT, float16=True)
    for array, (_, _, vectors) in zip(READERS[suffix](path), FLAT, strict=True):
        if suffix != ".parquet":
            assert array.dtype == np.float16
        np.testing.assert_allclose(array.ravel(), vectors.ravel(), rtol=1e-3, atol=1e-7)
    if suffix == ".parquet":
        kind = pyarrow.parquet.read_schema(path).field("vectors").type
        assert "halffloat" in str(kind)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_number_too_large_for_float16_is_named_and_nothing_is_left(
    tmp_path: Path, suffix: str
) -> None:
    sentences = [FLAT[0], ("x", ["x"], np.full((1, 4), 1e6, dtype=np.float32))]
    with pytest.raises(InputError, match=r"^sentence 1: a value is too large for float16"):
        write(tmp_path / f"out{suffix}", sentences, float16=True)
    assert not list(tmp_path.iterdir())


def test_hdf5_has_the_layout_of_allennlp(tmp_path: Path) -> None:
    write(tmp_path / "out.h5", FLAT)
    with h5py.File(tmp_path / "out.h5") as file:
        assert set(file) == {"0", "1", "2", "3", "sentence_to_index"}
        assert file["sentence_to_index"].shape == (1,)
        index = json.loads(file["sentence_to_index"][0])
        assert index == {"t0 t1 t2 0": "0", "": "1", "t0 2": "2", "t0 t1 t2 t3 t4 t5 t6 3": "3"}
        for text, tokens, vectors in FLAT:
            dataset = file[index[text]]
            assert (dataset.dtype, dataset.shape) == (np.float32, vectors.shape)
            assert json.loads(dataset.attrs["tokens"]) == tokens


def test_hdf5_takes_text_that_its_strings_do_not(tmp_path: Path) -> None:
    tokens = ["nul\x00", "\ud800", "가", "\u2028"] * 5000  # attributes are short in HDF5
    write(tmp_path / "out.h5", [("a\x00b \ud800", tokens, np.zeros((20_000, 1), np.float32))])
    with h5py.File(tmp_path / "out.h5") as file:
        assert json.loads(file["0"].attrs["tokens"]) == tokens
        assert json.loads(file["sentence_to_index"][0]) == {"a\x00b \ud800": "0"}


def test_hdf5_with_an_index_that_does_not_fit_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sentence_index, "BYTES_KEPT", 1000)
    sentences = [
        (f"{number} 가 \x00 \ud800", ["t"], np.full((1, 2), number, np.float32))
        for number in range(200)
    ]
    write(tmp_path / "out.h5", sentences)
    with h5py.File(tmp_path / "out.h5") as file:
        assert len(file) == 201
        assert file["sentence_to_index"].shape == (1,)
        index = json.loads(file["sentence_to_index"][0])
        assert index == {text: str(number) for number, (text, _, _) in enumerate(sentences)}
        for text, _, vectors in sentences:
            np.testing.assert_array_equal(file[index[text]][...], vectors)
    assert [file.name for file in tmp_path.iterdir()] == ["out.h5"]


def test_hdf5_of_arrays_that_are_parts_of_others(tmp_path: Path) -> None:
    whole = np.arange(48, dtype=np.float32).reshape(3, 4, 4)
    write(tmp_path / "out.h5", [("a", ["a", "b"], whole[:, 1:3])])
    write(tmp_path / "out.npz", [("a", ["a", "b"], whole[:, 1:3])])
    for suffix in (".h5", ".npz"):
        (found,) = READERS[suffix](tmp_path / f"out{suffix}")
        np.testing.assert_array_equal(found, whole[:, 1:3])


def test_hdf5_of_more_names_than_a_group_keeps_together(tmp_path: Path) -> None:
    vectors = np.zeros((1, 1), np.float32)
    write(tmp_path / "out.h5", [(str(number), ["t"], vectors) for number in range(2000)])
    with h5py.File(tmp_path / "out.h5") as file:
        assert set(file) == {*map(str, range(2000)), "sentence_to_index"}


def test_npz_has_the_tokens(tmp_path: Path) -> None:
    write(tmp_path / "out.npz", FLAT)
    with np.load(tmp_path / "out.npz", allow_pickle=False) as archive:
        assert archive.files == ["0", "1", "2", "3", "tokens"]
        assert json.loads(str(archive["tokens"])) == [tokens for _, tokens, _ in FLAT]


def test_npz_is_what_numpy_writes(tmp_path: Path) -> None:
    write(tmp_path / "out.npz", LAYERED)
    tokens = json.dumps([tokens for _, tokens, _ in LAYERED])
    arrays: dict[str, Any] = {str(number): row[2] for number, row in enumerate(LAYERED)}
    np.savez(tmp_path / "numpy.npz", **arrays, tokens=np.array(tokens))
    with ZipFile(tmp_path / "out.npz") as ours, ZipFile(tmp_path / "numpy.npz") as theirs:
        assert ours.namelist() == theirs.namelist()
        for name in ours.namelist():
            assert ours.read(name) == theirs.read(name)


def test_npz_of_more_tokens_than_numpy_can_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(npz_writer, "MOST_TOKEN_CHARACTERS", 1_000_000)
    with pytest.raises(InputError, match=r"at most 1 million characters of tokens; write a \.parq"):
        write(tmp_path / "out.npz", rows((-1, 1), [10_000] * 20))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("sentences", [FLAT, LAYERED], ids=["one layer", "all layers"])
def test_parquet_has_a_row_per_sentence(tmp_path: Path, sentences: list[Row]) -> None:
    write(tmp_path / "out.parquet", sentences)
    table = pyarrow.parquet.read_table(tmp_path / "out.parquet")
    assert table.column_names == ["index", "text", "tokens", "vectors"]
    assert table.column("index").to_pylist() == [0, 1, 2, 3]
    assert table.column("text").to_pylist() == [text for text, _, _ in sentences]
    assert table.column("tokens").to_pylist() == [tokens for _, tokens, _ in sentences]


ROWS_PER_GROUP = 256


@pytest.fixture
def _small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_writer, "ROWS_PER_GROUP", ROWS_PER_GROUP)


@pytest.mark.usefixtures("_small_groups")
@pytest.mark.parametrize("count", [ROWS_PER_GROUP - 1, ROWS_PER_GROUP, 2 * ROWS_PER_GROUP + 3])
def test_parquet_is_written_in_groups(tmp_path: Path, count: int) -> None:
    sentences = rows((-1, 4), [number % 3 for number in range(count)])
    write(tmp_path / "out.parquet", sentences)
    file = pyarrow.parquet.ParquetFile(tmp_path / "out.parquet")
    assert file.metadata.num_row_groups == -(-count // ROWS_PER_GROUP)
    assert file.read().column("index").to_pylist() == list(range(count))
    for array, (_, _, vectors) in zip(
        read_parquet(tmp_path / "out.parquet"), sentences, strict=True
    ):
        np.testing.assert_array_equal(array.ravel(), vectors.ravel())


def test_parquet_groups_are_not_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_writer, "BYTES_PER_GROUP", 4 * 4 * 100)
    write(tmp_path / "out.parquet", rows((-1, 4), [10] * 95))
    file = pyarrow.parquet.ParquetFile(tmp_path / "out.parquet")
    assert [file.metadata.row_group(n).num_rows for n in range(10)] == [10] * 9 + [5]


@pytest.mark.usefixtures("_small_groups")
def test_parquet_whose_first_group_has_no_tokens(tmp_path: Path) -> None:
    sentences = rows((3, -1, 4), [0] * ROWS_PER_GROUP + [2])
    write(tmp_path / "out.parquet", sentences)
    np.testing.assert_array_equal(read_parquet(tmp_path / "out.parquet")[-1], sentences[-1][2])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_sentences(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    write(path, [])
    assert READERS[suffix](path) == []


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt])
def test_a_failure_leaves_what_was_there(
    tmp_path: Path, suffix: str, kind: type[BaseException]
) -> None:
    path = tmp_path / f"out{suffix}"
    path.write_bytes(b"what was there")

    def fail() -> None:
        with writing(path) as writer:
            writer.write(*FLAT[0])
            assert path.read_bytes() == b"what was there"
            raise kind("in the middle")

    with pytest.raises(kind, match="in the middle"):
        fail()
    assert path.read_bytes() == b"what was there"
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_success_replaces_what_was_there(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    path.write_bytes(b"what was there")
    write(path, FLAT)
    assert len(READERS[suffix](path)) == 4


@pytest.mark.parametrize("name", ["out", "out.txt", "out.h5.gz", "out.NPZ", ".npz"])
def test_an_unknown_suffix_is_named_with_the_known_ones(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError) as caught:
        check_output(tmp_path / name)
    message = str(caught.value)
    assert message.startswith("output: expected a name that ends in .h5, .hdf5, .npz, .parquet")
    assert message.endswith(f"found {tmp_path / name}")


@pytest.mark.parametrize(
    ("suffix", "most", "found"), [(".h5", "2,147", "2,200"), (".npz", "537", "600")]
)
def test_a_text_that_a_format_cannot_hold_is_refused_at_once(
    tmp_path: Path, suffix: str, most: str, found: str
) -> None:
    path = tmp_path / f"out{suffix}"
    size = int(found.replace(",", "")) * 10**6
    with pytest.raises(InputError) as caught:
        check_output(path, text_bytes=size)
    assert str(caught.value) == (
        f"output: a {suffix} file holds the sentences of at most {most} MB of text, found "
        f"{found} MB; write a .parquet file, or several from parts of the text"
    )
    check_output(path, text_bytes=int(most.replace(",", "")) * 10**6 - 10**6)
    check_output(tmp_path / "out.parquet", text_bytes=10**12)


@pytest.mark.parametrize("value", [65504.0, 65519.0, -65504.0, 6e-8, 0.0, 1e-10])
def test_float16_rounds_as_numpy_does(tmp_path: Path, value: float) -> None:
    vectors = np.array([[value, 0.1]], dtype=np.float32)
    write(tmp_path / "out.npz", [("a", ["a"], vectors)], float16=True)
    (found,) = read_npz(tmp_path / "out.npz")
    np.testing.assert_array_equal(found, vectors.astype(np.float16))


@pytest.mark.parametrize("value", [65520.0, -65520.0, np.inf, np.nan])
def test_float16_refuses_what_it_cannot_hold(tmp_path: Path, value: float) -> None:
    vectors = np.array([[0.0, value]], dtype=np.float32)
    with pytest.raises(InputError, match=r"^sentence 0: a value is too large for float16"):
        write(tmp_path / "out.npz", [("a", ["a"], vectors)], float16=True)


def test_a_folder_is_no_output(tmp_path: Path) -> None:
    (tmp_path / "out.h5").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        check_output(tmp_path / "out.h5")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere is not a folder; create it first"):
        write(tmp_path / "nowhere" / "out.npz", FLAT)


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError) as caught:
        check_output(tmp_path / "out.parquet")
    assert str(caught.value) == (
        "writing Parquet needs the package pyarrow, which is not installed: "
        'pip install "elmokit[arrow]"'
    )
    assert isinstance(caught.value, ImportError)
    check_output(tmp_path / "out.npz")
