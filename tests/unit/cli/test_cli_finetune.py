"""`elmo finetune` in the shell: what it prints, writes and refuses."""

import json
from pathlib import Path

import pytest

from elmokit.formats import native
from unit.cli.conftest import Shell
from unit.lm.small_text import CLINIC, trained, write_text

FAST = ("--device", "cpu", "--set", "steps=6", "--set", "rows=8", "--set", "window=8")


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("cli-parent"))


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    write_text(tmp_path / "held-out.txt", CLINIC, 20, seed=2)
    return write_text(tmp_path / "clinic.txt", CLINIC, 200, seed=1)


def test_finetune(shell: Shell, parent: Path, clinic: Path, tmp_path: Path) -> None:
    held_out = clinic.parent / "held-out.txt"
    arguments = ("finetune", parent, clinic, "--valid", held_out, "-o", tmp_path / "out")
    code, out, err = shell(*arguments, *FAST, "--new-words", 3)
    assert code == 0, err
    assert "3 new words join the" in err
    lines = out.splitlines()
    assert "over the 14 old words: " in lines[0]
    assert "over all words, 3 of them new: " in lines[1]
    assert lines[2] == f"the model is in {tmp_path / 'out/model'}"
    assert len(native.read(tmp_path / "out/model").vocabulary or ()) == 17
    assert (tmp_path / "out/corpus/corpus.json").is_file()
    code, out, _ = shell("evaluate", tmp_path / "out/model", held_out, "--start", "zeros", "--json")
    assert code == 0
    after = json.loads(out)["perplexity"]
    assert f"{after:.2f} after" in lines[1], "the model that was written is the one measured"


def test_json(shell: Shell, parent: Path, clinic: Path, tmp_path: Path) -> None:
    arguments = ("finetune", parent, clinic, "-o", tmp_path / "out", "--keep-vocabulary", "--json")
    code, out, err = shell(*arguments, *FAST)
    assert code == 0, err
    assert err == ""
    facts = json.loads(out)
    assert facts["ending"] == "finished"
    assert facts["step"] == facts["steps"] == 6
    assert facts["model"] == str(tmp_path / "out/model")
    assert facts["parent"] == "run"
    assert facts["new_words"] == 0
    assert facts["new_vocabulary"] is None
    for part in ("before", "after"):
        assert facts["old_vocabulary"][part]["perplexity"] > 1
        assert facts["old_vocabulary"][part]["bits_per_byte"] > 0


def test_a_stopped_run_is_told(shell: Shell, parent: Path, clinic: Path, tmp_path: Path) -> None:
    arguments = ("finetune", parent, clinic, "-o", tmp_path / "out", *FAST)
    code, out, _ = shell(*arguments, "--minutes", "1e-9")
    assert code == 0
    assert out.startswith("out of time at step 0 of 6; everything is saved")
    code, out, _ = shell(*arguments)
    assert code == 0
    assert "the model is in" in out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--keep-vocabulary", "--new-words", "3"], "--new-words 3 exclude each other"),
        (["--set", "projection_dim=3"], "keeps the model as it is"),
        (["--set", "nonsense=3"], "unknown key 'nonsense'"),
        (["--valid", "held-out.txt", "--held-out", "0.1"], "exclude each other"),
        (["--new-words", "-3"], "expected 0 or more, found -3"),
    ],
)
def test_mistakes(
    shell: Shell, parent: Path, clinic: Path, tmp_path: Path, more: list[str], message: str
) -> None:
    arguments = ["finetune", parent, clinic, "-o", tmp_path / "out", *FAST, *more]
    code, _, err = shell(*arguments)
    assert code == 2
    assert message in err


def test_models_and_texts_that_are_not_there(
    shell: Shell, parent: Path, model: Path, clinic: Path, tmp_path: Path
) -> None:
    code, _, err = shell("finetune", tmp_path / "no/where", clinic, "-o", tmp_path / "out")
    assert code == 2
    assert "no/where" in err
    code, _, err = shell("finetune", parent, tmp_path / "nothing.txt", "-o", tmp_path / "out")
    assert code == 2
    assert "nothing.txt: no such file" in err
    code, _, err = shell("finetune", model, clinic, "-o", tmp_path / "out")
    assert code == 2
    assert "has no softmax" in err
    assert "--new-softmax" in err
