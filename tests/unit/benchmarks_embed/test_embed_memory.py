"""The text whose embedding is watched, and the report about it."""

from pathlib import Path

import pytest

from embed_memory import Run, Sample, make_text, markdown


def test_lines_are_repeated_and_numbered(tmp_path: Path) -> None:
    lines, text = tmp_path / "lines.txt", tmp_path / "text.txt"
    lines.write_bytes("a b\n\n다\n".encode())
    make_text(lines, 20, text)
    assert text.read_text(encoding="utf-8") == "a b 0\n다 1\na b 2\n다 3\n"


def test_a_file_without_lines(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_bytes(b"\n\n")
    with pytest.raises(SystemExit, match=r"found none in .*lines\.txt"):
        make_text(tmp_path / "lines.txt", 20, tmp_path / "text.txt")


def test_the_report_sets_the_peak_beside_the_model() -> None:
    samples = [Sample(float(n), n * 10**6, n * 10**5) for n in range(1, 10)]
    empty = Run("npz", 0, True, 2.0, 300 * 10**6, 0, samples[:1])
    found = Run("npz", 5 * 10**6, False, 9.0, 450 * 10**6, 2 * 10**6, samples)
    report = markdown({"python": "3.11"}, [(found, empty)])
    assert "- python: 3.11" in report
    assert report.splitlines()[-1] == "| npz | 5 | 2 | 9 | 300 | 450 | **150** | 3, 5, 7, 9 |"
