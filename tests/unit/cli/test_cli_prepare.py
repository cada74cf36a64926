"""`elmo prepare`: options reach the library, the report is printed."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

Shell = Callable[..., tuple[int, str, str]]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    file = tmp_path / "corpus.txt"
    file.write_text("The cat didn't sit.\nThe dog sat.\n\nA cat sat.\n", encoding="utf-8")
    return file


def facts(folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder / "corpus.json").read_text(encoding="utf-8"))
    return found


def test_the_report_for_people(shell: Shell, corpus: Path, tmp_path: Path) -> None:
    with corpus.open("ab") as stream:
        stream.write(b"caf\xe9\n")
    code, out, err = shell("prepare", corpus, "-o", tmp_path / "out", "--held-out", 0)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith(f"{tmp_path / 'out'}: ")
    assert lines[1:5] == [
        "train: 14 words in 3 sentences, 2 documents",
        "valid: no held-out text",
        "types: 12 distinct words, 12 of them in the vocabulary (marks included), "
        "cut by the tokeniser 'words'",
        "coverage: 100.00% of the words in train",
    ]
    assert lines[5].startswith("note: no word in train is unknown")
    assert lines[5].endswith("--min-count 2 leaves words out that occur once")
    assert lines[6:9] == [
        "problems:",
        "  lines that are not UTF-8, skipped: 1",
        rf"    {corpus}:5: byte 3 is 0xe9: b'caf\xe9'",
    ]
    assert " words/s with " in lines[9]
    assert len(lines) == 10


def test_no_note_where_some_words_are_unknown(shell: Shell, corpus: Path, tmp_path: Path) -> None:
    _, out, _ = shell("prepare", corpus, "-o", tmp_path / "out", "--min-count", 2)
    assert "note:" not in out


def test_json(shell: Shell, corpus: Path, tmp_path: Path) -> None:
    code, out, err = shell("prepare", corpus, "-o", tmp_path / "out", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    stored = facts(tmp_path / "out")
    assert {key: found[key] for key in stored} == stored
    assert found.keys() - stored.keys() == {
        "folder",
        "folder_bytes",
        "seconds",
        "words_per_second",
        "processes",
    }


def test_all_options(shell: Shell, corpus: Path, tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    records.write_text('{"body": "one two"}\n{"body": "one two"}\n')
    valid = tmp_path / "valid.txt"
    valid.write_text("held out\n")
    code, out, _ = shell(
        "prepare",
        *(corpus, records, "--output", tmp_path / "out", "--field", "body", "--tokenised"),
        *("--vocabulary-size", 6, "--min-count", 2, "--valid", valid, "--duplicates", "drop"),
        *("--longest-line", 100, "--processes", 1, "--strict", "--overwrite"),
    )
    assert code == 0
    assert "duplicates: 1 sentences that occurred before, dropped" in out
    assert "problems: none" in out
    found = facts(tmp_path / "out")
    assert found["tokeniser"] == "whitespace"
    assert found["vocabulary_size"] == 6
    assert (tmp_path / "out" / "words.txt").read_text().split("\n")[3:6] == ["The", "cat", "sat."]
    assert np.load(tmp_path / "out" / "valid-00000.npy").tolist()[0] == 0


def test_folders_and_several_held_out_files(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    for name in ("texts/a", "texts/b", "v1", "v2"):
        (tmp_path / name).write_text(f"{name}\n")
    code, out, _ = shell(
        "prepare",
        *(tmp_path / "texts", "-o", tmp_path / "out", "--tokeniser", "whitespace", "--json"),
        *("--valid", tmp_path / "v1", "--valid", tmp_path / "v2"),
    )
    assert code == 0
    splits = json.loads(out)["splits"]
    assert (splits["train"]["words"], splits["valid"]["words"]) == (2, 2)
    words = (tmp_path / "out" / "words.txt").read_text().split("\n")
    assert words[3:-1] == ["texts/a", "texts/b", "v1", "v2"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.txt", "-o", "out"], "missing.txt: no such file or folder"),
        (["corpus.txt"], "Missing option '--output'"),
        (["-o", "out"], "Missing argument 'CORPUS'"),
        (["corpus.txt", "-o", "out", "--tokenised", "--tokeniser", "words"], "exclude each other"),
        (["corpus.txt", "-o", "out", "--held-out", "2"], "held_out is 2.0"),
        (["corpus.txt", "-o", "corpus.txt"], "is a file"),
        (["broken.txt", "-o", "out", "--strict"], "broken.txt:1: byte 0 is 0xff"),
        (["empty.txt", "-o", "out"], "the corpus holds no words: empty.txt: is empty"),
        (["a.jsonl", "-o", "out"], "a.jsonl holds JSON records; say in which field"),
    ],
)
def test_mistakes(
    shell: Shell,
    corpus: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(corpus.parent)
    Path("broken.txt").write_bytes(b"\xff\n")
    Path("empty.txt").write_bytes(b"")
    Path("a.jsonl").write_bytes(b"{}\n")
    code, out, err = shell("prepare", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("elmo: error: ")
    assert err.count("\n") == 1
    assert message in err
    assert not Path("out").exists()


@pytest.mark.parametrize("field", [[], ["--field", "text"]])
def test_standard_input(tmp_path: Path, field: list[str]) -> None:
    text = '{"text": "a b\\nc"}\n' if field else "a b\nc\n"
    found = subprocess.run(
        [
            *(sys.executable, "-c", "from elmokit.cli.main import main; main()"),
            *("prepare", "-", "-o", str(tmp_path / "out"), "--held-out", "0", *field),
        ],
        input=text,
        capture_output=True,
        check=True,
        text=True,
    )
    assert found.stderr == ""
    assert "train: 3 words in 2 sentences, 1 documents" in found.stdout


def test_a_bar_is_shown_on_a_terminal_only(
    shell: Shell, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    _, _, err = shell("prepare", corpus, "-o", tmp_path / "out")
    assert "Reading" in err
    assert "100%" in err
    _, _, err = shell("prepare", corpus, "-o", tmp_path / "out", "--overwrite", "--json")
    assert err == ""
