"""Tensors in fewer bytes: how far they come back, and what is refused."""

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from torch import Tensor

from elmokit.formats.storage import LEAST_NUMBERS, SCALE_SUFFIX, Storage, pack, unpack
from unit.formats.small_checkpoints import bits, refuses, refuses_input

FILE = Path("somewhere/model.safetensors")
NAME = "forward_lstm.layers.0.input_weight"
SCALE = NAME + SCALE_SUFFIX
# One row more than is needed to be packed, of few numbers each.
ROWS, COLUMNS = LEAST_NUMBERS // 4 + 1, 4

Columns = npt.NDArray[np.float32]


def matrix(*, seed: int = 0, shape: tuple[int, ...] = (ROWS, COLUMNS)) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def there_and_back(tensor: Tensor, storage: Storage) -> Tensor:
    return unpack(pack({NAME: tensor}, storage), storage, file=FILE)[NAME]


def numbers(largest: float, smallest: float = 0.0) -> st.SearchStrategy[Columns]:
    """A few rows of numbers of all sizes, to be repeated into a large tensor."""
    values = st.floats(-largest, largest, width=32).filter(lambda x: x == 0 or abs(x) >= smallest)
    return arrays(np.float32, (3, COLUMNS), elements=values)


def repeated(values: Columns) -> Tensor:
    return torch.from_numpy(values).repeat(ROWS // 3 + 1, 1)


# Values.


@given(numbers(float(np.finfo(np.float32).max)))
def test_float32_keeps_every_bit(values: Columns) -> None:
    tensor = repeated(values)
    assert torch.equal(bits(there_and_back(tensor, "float32")), bits(tensor))


@given(numbers(65504.0))
def test_float16_is_half_precision(values: Columns) -> None:
    tensor = repeated(values)
    error = (there_and_back(tensor, "float16") - tensor).abs()
    # Eleven bits, and below 2^-14 steps of 2^-24.
    assert (error <= (tensor.abs() * 2.0**-11).clamp(min=2.0**-25)).all()


@given(numbers(2.0**126, smallest=1e-30))
def test_int8_is_within_half_a_step(values: Columns) -> None:
    tensor = repeated(values)
    stored = pack({NAME: tensor}, "int8")
    assert (stored[NAME].dtype, stored[SCALE].dtype) == (torch.int8, torch.float32)
    step = tensor.double().abs().amax(dim=1) / 127
    assert torch.allclose(stored[SCALE].double(), step, rtol=1e-6, atol=0)
    error = (unpack(stored, "int8", file=FILE)[NAME].double() - tensor.double()).abs()
    # The product of 127 and a scale is itself rounded to float32.
    assert (error <= step[:, None] * (0.5 + 1e-4)).all()


@given(numbers(2.0**-100))
def test_int8_of_numbers_next_to_nothing(values: Columns) -> None:
    tensor = repeated(values)
    error = (there_and_back(tensor, "int8") - tensor).abs()
    assert (error <= 2.0**-106).all()


@pytest.mark.parametrize("storage", ["float16", "int8"])
def test_zeros_and_signs(storage: Storage) -> None:
    tensor = matrix()
    tensor[5] = 0.0
    found = there_and_back(tensor, storage)
    assert torch.equal(found[5], tensor[5])
    large = tensor.abs() > 0.1
    assert torch.equal(found[large].sign(), tensor[large].sign())
    assert torch.equal(there_and_back(-tensor, storage), -found)


def test_int8_keeps_the_largest_of_each_row() -> None:
    tensor = matrix()
    found = there_and_back(tensor, "int8")
    largest = tensor.abs().amax(dim=1)
    assert torch.allclose(found.abs().amax(dim=1), largest, rtol=1e-6)
    assert pack({NAME: tensor}, "int8")[NAME].abs().max() == 127


def test_int8_again_changes_nothing_that_counts() -> None:
    once = there_and_back(matrix(), "int8")
    assert torch.equal(pack({NAME: matrix()}, "int8")[NAME], pack({NAME: once}, "int8")[NAME])
    assert torch.allclose(there_and_back(once, "int8"), once, rtol=1e-6, atol=0)


def test_int8_rows_of_a_filter() -> None:
    """A filter is one row, whatever its own shape, and has its own scale."""
    tensor = matrix(shape=(ROWS, 2, 3)) * torch.logspace(-3, 3, ROWS)[:, None, None]
    stored = pack({NAME: tensor}, "int8")
    assert stored[NAME].shape == tensor.shape
    assert stored[SCALE].shape == (ROWS,)
    gap = (unpack(stored, "int8", file=FILE)[NAME] - tensor).abs().flatten(1).amax(dim=1)
    assert (gap <= stored[SCALE] * 0.501).all()


def test_views_are_stored_as_they_look() -> None:
    tensor = matrix(shape=(COLUMNS, ROWS)).T
    for storage in ("float32", "float16", "int8"):
        stored = pack({NAME: tensor}, storage)
        assert all(part.is_contiguous() for part in stored.values())
        assert torch.allclose(unpack(stored, storage, file=FILE)[NAME], tensor, atol=0.02)


# Which tensors are packed.


@pytest.mark.parametrize("storage", ["float16", "int8"])
@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("forward_lstm.layers.0.bias", (LEAST_NUMBERS,)),
        ("softmax.bias", (LEAST_NUMBERS * 9,)),
        ("token_encoder.characters.convolutions.0.weight", (LEAST_NUMBERS // 16 - 1, 16, 1)),
        ("token_encoder.characters.embedding.weight", (LEAST_NUMBERS, 16)),
        ("start_state.forward.cell", (2, LEAST_NUMBERS)),
    ],
)
def test_what_stays_float32(storage: Storage, name: str, shape: tuple[int, ...]) -> None:
    tensor = matrix(shape=shape)
    stored = pack({name: tensor}, storage)
    assert stored.keys() == {name}
    assert torch.equal(bits(stored[name]), bits(tensor))


@pytest.mark.parametrize(
    ("storage", "bytes_of_a_number"), [("float32", 4), ("float16", 2), ("int8", 1)]
)
def test_sizes(storage: Storage, bytes_of_a_number: int) -> None:
    stored = pack({"softmax.weight": matrix(shape=(500, 64))}, storage)
    scales = 4 * 500 if storage == "int8" else 0
    assert sum(part.nbytes for part in stored.values()) == 500 * 64 * bytes_of_a_number + scales


# What cannot be stored.


def test_an_unknown_storage() -> None:
    with refuses_input("storage: expected one of float32, float16, int8, found 'int4'"):
        pack({NAME: matrix()}, "int4")  # type: ignore[arg-type]


def test_float16_overflow() -> None:
    tensor = matrix()
    tensor[3, 1] = -70000.0
    with refuses_input("float16 cannot hold", repr(NAME), "70000", "choose float32 or int8"):
        pack({NAME: tensor}, "float16")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_int8_of_no_number(value: float) -> None:
    tensor = matrix()
    tensor[3, 1] = value
    with refuses_input("int8 cannot hold", repr(NAME), "NaN or infinity"):
        pack({NAME: tensor}, "int8")


# What cannot be read.


def test_a_missing_scale() -> None:
    stored = pack({NAME: matrix()}, "int8")
    del stored[SCALE]
    with refuses(FILE, "scale of an int8 tensor missing", repr(SCALE), f"shape ({ROWS},)"):
        unpack(stored, "int8", file=FILE)


@pytest.mark.parametrize("shape", [(), (1,), (ROWS - 1,), (ROWS + 1,), (ROWS, 1), (COLUMNS,)])
def test_a_scale_of_another_shape(shape: tuple[int, ...]) -> None:
    stored = pack({NAME: matrix()}, "int8") | {SCALE: torch.ones(shape)}
    with refuses(FILE, "scale of the wrong shape", repr(SCALE), f"({ROWS},)", f"found {shape}"):
        unpack(stored, "int8", file=FILE)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), -1.0, -(2.0**-149)])
def test_a_wrong_scale(value: float) -> None:
    stored = pack({NAME: matrix()}, "int8")
    stored[SCALE][-1] = value
    with refuses(FILE, "wrong scale", repr(SCALE), f"found {value}"):
        unpack(stored, "int8", file=FILE)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64, torch.int8])
def test_a_scale_of_another_type(dtype: torch.dtype) -> None:
    stored = pack({NAME: matrix()}, "int8")
    stored[SCALE] = stored[SCALE].to(dtype)
    with refuses(FILE, "wrong number type", repr(SCALE), str(dtype)):
        unpack(stored, "int8", file=FILE)


def test_a_scale_alone() -> None:
    stored = pack({NAME: matrix()}, "int8")
    for kept in ({SCALE: stored[SCALE]}, {SCALE: stored[SCALE], NAME: matrix()}):
        with refuses(FILE, "scale without an int8 tensor", repr(SCALE)):
            unpack(kept, "int8", file=FILE)


def test_int8_without_rows() -> None:
    number = torch.tensor(5, dtype=torch.int8)
    with refuses(FILE, "scale of the wrong shape", repr(SCALE)):
        unpack({NAME: number, SCALE: torch.ones(())}, "int8", file=FILE)


@pytest.mark.parametrize(
    ("storage", "allowed"),
    [
        ("float32", {torch.float32}),
        ("float16", {torch.float32, torch.float16}),
        ("int8", {torch.float32, torch.int8}),
    ],
)
def test_number_types(storage: Storage, allowed: set[torch.dtype]) -> None:
    types = [torch.float32, torch.float16, torch.int8, torch.bfloat16, torch.float64, torch.uint8]
    for dtype in [*types, torch.int32, torch.bool, torch.complex64, torch.float8_e4m3fn]:
        stored = {NAME: torch.ones(3, 2).to(dtype)}
        if dtype == torch.int8 and storage == "int8":
            stored[SCALE] = torch.full((3,), 0.5)
        if dtype in allowed:
            found = unpack(stored, storage, file=FILE)
            assert found.keys() == {NAME}
            assert found[NAME].dtype == torch.float32
            assert (found[NAME] == (0.5 if dtype == torch.int8 else 1.0)).all()
        else:
            with refuses(FILE, f"wrong number type (key {NAME!r})", f"found {dtype}"):
                unpack(stored, storage, file=FILE)


def test_a_scale_in_a_folder_without_scales_is_a_tensor_like_others() -> None:
    found = unpack({SCALE: torch.ones(3)}, "float32", file=FILE)
    assert re.search(r"\.scale$", next(iter(found)))
