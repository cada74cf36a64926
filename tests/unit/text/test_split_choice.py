from pathlib import Path

import pytest

from elmokit.text.records import split_choice


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("data.jsonl.xz#train", ("data.jsonl.xz", "train")),
        ("data.jsonl.xz", ("data.jsonl.xz", None)),
        ("c#.jsonl#dev", ("c#.jsonl", "dev")),
        ("data.jsonl#", ("data.jsonl#", None)),
        ("#dev", ("#dev", None)),
    ],
)
def test_a_split_stands_after_the_last_hash(
    tmp_path: Path, name: str, expected: tuple[str, str | None]
) -> None:
    assert split_choice(tmp_path / name) == (tmp_path / expected[0], expected[1])


def test_a_hash_in_the_folder_is_no_split() -> None:
    assert split_choice(Path("a#b/data.jsonl")) == (Path("a#b/data.jsonl"), None)


def test_a_file_of_the_whole_name_is_taken_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "c#.jsonl"
    file.touch()
    assert split_choice(file) == (file, None)
