"""Static vectors of a task: the reader is `elmokit.formats.word_vectors`, with tests of its own."""

from pathlib import Path

import pytest
import torch

from elmokit.errors import FormatError
from elmokit.tasks.inputs.static_vectors import read_static_vectors

GLOVE = "the 0.5 -1 2\n, 1e-1 0 0.25\ncat 3 3 3\nmouse 1 0 0\nate 2 0 0\n"


def test_the_first_words_and_those_that_are_wanted_in_float16(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text(GLOVE)
    found = read_static_vectors(tmp_path / "v.txt", most=2, wanted=frozenset({"ate", "none"}))
    assert found.words == ("the", ",", "ate")
    assert found.vectors.dtype == torch.float16
    expected = torch.tensor([[0.5, -1, 2], [0.1, 0, 0.25], [2, 0, 0]]).half()
    assert torch.equal(found.vectors, expected)


@pytest.mark.parametrize("number", ["70000", "-1e60"])
def test_what_float16_cannot_hold_is_named(tmp_path: Path, number: str) -> None:
    (tmp_path / "v.txt").write_text(f"a 1 2\nb 1 {number}\n")
    with pytest.raises(FormatError, match=r"v\.txt: line 2: expected numbers of ordinary size"):
        read_static_vectors(tmp_path / "v.txt", most=9, wanted=())
