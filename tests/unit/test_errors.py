"""One family of errors, one readable line each."""

import copy
import pickle
from pathlib import Path

import pytest

import elmokit
from elmokit.errors import ElmoError, FormatError, InputError, MissingExtraError


def every_error() -> list[ElmoError]:
    return [
        InputError("layers: expected a number, found 'two'"),
        FormatError("model.file", "damaged"),
        FormatError(Path("a") / "b", "tensor", key="x", found=(1, 2), expected=(2, 1), hint="go"),
        MissingExtraError("pyarrow", "arrow", "Parquet output"),
    ]


def test_one_family() -> None:
    assert all(isinstance(error, elmokit.ElmoError) for error in every_error())
    assert issubclass(InputError, ValueError)
    assert issubclass(MissingExtraError, ImportError)
    assert not issubclass(FormatError, InputError)
    assert elmokit.FormatError is FormatError


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "a/b.hdf5: damaged"),
        ({"key": "x/y"}, "a/b.hdf5: damaged (key 'x/y')"),
        ({"found": 5}, "a/b.hdf5: damaged: found 5"),
        ({"expected": 6}, "a/b.hdf5: damaged: expected 6"),
        ({"found": 5, "expected": 6}, "a/b.hdf5: damaged: expected 6, found 5"),
        ({"found": 0, "expected": 0}, "a/b.hdf5: damaged: expected 0, found 0"),
        ({"hint": "get it again"}, "a/b.hdf5: damaged; get it again"),
        (
            {"key": "k", "found": (1,), "expected": "(2,)", "hint": "try h"},
            "a/b.hdf5: damaged (key 'k'): expected (2,), found (1,); try h",
        ),
    ],
)
def test_messages(arguments: dict[str, str], message: str) -> None:
    for file in ("a/b.hdf5", Path("a/b.hdf5")):
        error = FormatError(file, "damaged", **arguments)
        assert str(error) == message
        assert error.file == Path("a/b.hdf5")
        for name in ("key", "found", "expected", "hint"):
            assert getattr(error, name) == arguments.get(name)


@pytest.mark.parametrize("line_end", ["\n", "\r", "\r\n", "\x0b", "\x85", "\u2028", "\n\n  \t"])
def test_always_one_line(line_end: str) -> None:
    error = FormatError(
        "file",
        f"what{line_end}happened",
        key=f"a{line_end}b",
        found=f"c{line_end}d",
        hint=f"e{line_end}f",
    )
    assert len(str(error).splitlines()) == 1
    assert str(error).startswith("file: what happened (key 'a")
    assert str(error).endswith("found c d; e f")


def test_a_path_is_given_as_it_is() -> None:
    assert str(FormatError("a  b/c", "damaged")) == "a  b/c: damaged"


def test_no_control_characters() -> None:
    assert str(FormatError("file", "damaged (\x1b[31mred\x07)", found="\x1b[0m")).isprintable()


def test_what_is_missing_can_be_installed() -> None:
    error = MissingExtraError("pyarrow", "arrow", "Parquet output")
    assert str(error) == (
        "Parquet output needs the package pyarrow, which is not installed: "
        'pip install "elmokit[arrow]"'
    )


@pytest.mark.parametrize("number", range(1, 4))
def test_errors_can_be_copied_and_pickled(number: int) -> None:
    """Else they break the pool of processes, or the data loader, that they are raised in."""
    error = every_error()[number]
    for again in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert vars(again) == vars(error)
