"""`elmo info`, `elmo convert`, `elmo verify` and `elmo demo`, for people and for scripts."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from elmokit.embed.load import read_checkpoint
from elmokit.formats import native
from elmokit.pretrained.untrained import TINY_CONFIG, untrained_checkpoint
from elmokit.text.vocabulary import Vocabulary

Shell = Callable[..., tuple[int, str, str]]

# The keys that scripts may rely on.
INFO_KEYS = {
    "name",
    "description",
    "licence",
    "trained",
    "format",
    "input",
    "alphabet",
    "max_characters",
    "layers",
    "dim",
    "lstm_dim",
    "projection_dim",
    "skip_connections",
    "tokeniser",
    "vocabulary_size",
    "parameters",
    "softmax_parameters",
    "has_start_state",
}
CONVERT_KEYS = {"source", "source_format", "destination", "format", "tensors"}
VERIFY_KEYS = {"ok", "checks"}
CHECK_KEYS = {"name", "ok", "detail"}
DEMO_KEYS = {"model", "trained", "words", "substitutes"}
WORD_KEYS = {"word", "senses", "sentences", "same_sense", "other_sense", "similarity"}


def one_object(out: str) -> dict[str, Any]:
    assert out.count("\n") == 1
    facts = json.loads(out)
    assert isinstance(facts, dict)
    assert all(re.fullmatch("[a-z][a-z0-9_]*", key) for key in facts)
    return facts


def test_info_for_people(shell: Shell, model: Path) -> None:
    code, out, err = shell("info", model)
    assert (code, err) == (0, "")
    for part in ("tiny-untrained", "Apache-2.0", "230,272", "lstm dim", "128"):
        assert part in out


def test_info_for_scripts(shell: Shell, model: Path) -> None:
    code, out, err = shell("info", model, "--json")
    assert (code, err) == (0, "")
    facts = one_object(out)
    assert facts.keys() >= INFO_KEYS
    assert (facts["layers"], facts["dim"], facts["format"]) == (3, 64, "native")
    assert (facts["licence"], facts["trained"]) == ("Apache-2.0", False)


def test_info_without_a_model_is_about_the_bundled_one(shell: Shell) -> None:
    code, out, _ = shell("info", "--json")
    assert code == 0
    facts = one_object(out)
    assert (facts["name"], facts["storage"]) == ("english-base", "int8")
    assert facts["file_sizes"].keys() >= {"model.safetensors", "softmax.safetensors"}


def test_info_says_when_the_licence_is_unknown(shell: Shell, tmp_path: Path) -> None:
    native.write(replace(untrained_checkpoint(), metadata={}), tmp_path / "model")
    code, out, _ = shell("info", tmp_path / "model")
    assert code == 0
    assert re.search("licence +unknown", out)
    assert one_object(shell("info", tmp_path / "model", "--json")[1])["licence"] is None


def test_convert_for_people_and_scripts(shell: Shell, tmp_path: Path, model: Path) -> None:
    code, out, err = shell("convert", model, tmp_path / "first.hdf5")
    assert (code, err) == (0, "")
    assert out == f"{model} (native) -> {tmp_path / 'first.hdf5'} (bilm-hdf5)\n"
    (tmp_path / "other").mkdir()
    code, out, err = shell("convert", model, tmp_path / "other" / "second.hdf5", "--json")
    assert (code, err) == (0, "")
    facts = one_object(out)
    assert facts.keys() >= CONVERT_KEYS
    assert facts["source"] == str(model)
    assert facts["destination"] == str(tmp_path / "other" / "second.hdf5")
    assert (facts["source_format"], facts["format"]) == ("native", "bilm-hdf5")


@pytest.mark.parametrize("softmax", [False, True])
def test_a_chain_of_conversions_keeps_every_tensor(
    shell: Shell, tmp_path: Path, softmax: bool
) -> None:
    checkpoint = untrained_checkpoint()
    if softmax:
        words = ("<S>", "</S>", "<UNK>", "the", "bank")
        checkpoint = untrained_checkpoint(
            replace(TINY_CONFIG, softmax_size=len(words)), vocabulary=Vocabulary(words)
        )
    native.write(checkpoint, tmp_path / "start")
    chain = [
        ("start", "weights/model.hdf5", None),
        ("weights/model.hdf5", "again", None),
        ("again", "checkpoint/model.ckpt", "tf-checkpoint"),
        ("checkpoint/model.ckpt", "last", "native"),
    ]
    (tmp_path / "weights").mkdir()
    (tmp_path / "checkpoint").mkdir()
    for source, destination, form in chain:
        wish = ["--format", form] if form else []
        code, _, err = shell("convert", tmp_path / source, tmp_path / destination, *wish)
        assert (code, err) == (0, ""), (source, destination)
    found = read_checkpoint(tmp_path / "last")
    assert found.tensors.keys() == checkpoint.tensors.keys()
    for name, tensor in checkpoint.tensors.items():
        assert torch.equal(found.tensors[name], tensor), name
    assert found.config == checkpoint.config
    assert found.vocabulary == checkpoint.vocabulary


def test_convert_does_not_overwrite_unless_told(shell: Shell, tmp_path: Path, model: Path) -> None:
    other = tmp_path / "other"
    assert shell("convert", model, other)[0] == 0
    before = (other / "manifest.json").stat().st_mtime_ns
    code, out, err = shell("convert", model, other)
    assert (code, out) == (2, "")
    assert "exists already" in err
    assert (other / "manifest.json").stat().st_mtime_ns == before
    assert shell("convert", model, other, "--overwrite")[0] == 0


def test_convert_does_not_remove_a_folder_of_other_things(
    shell: Shell, tmp_path: Path, model: Path
) -> None:
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "thesis.txt").write_text("years of work", encoding="utf-8")
    assert shell("convert", model, tmp_path / "documents")[0] == 2
    shell("convert", model, tmp_path / "documents", "--overwrite")
    assert (tmp_path / "documents" / "thesis.txt").exists()


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["out", "--format", "zip"], ["'zip'", "native, bilm-hdf5, many-langs, tf-checkpoint"]),
        (["out", "--format", "many-langs"], ["many-langs", "byte alphabet"]),
        (["nowhere/out"], ["nowhere is not a folder; create it first"]),
    ],
)
def test_convert_mistakes(
    shell: Shell,
    tmp_path: Path,
    model: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    parts: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = shell("convert", model, *arguments)
    assert (code, out) == (2, "")
    for part in parts:
        assert part in err
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


def test_verify_for_people_and_scripts(shell: Shell, model: Path) -> None:
    code, out, err = shell("verify", model)
    assert (code, err) == (0, "")
    assert [line[:6] for line in out.splitlines()] == ["ok    "] * 4
    code, out, err = shell("verify", model, "--json")
    assert (code, err) == (0, "")
    facts = one_object(out)
    assert facts.keys() >= VERIFY_KEYS
    assert facts["ok"] is True
    assert all(check.keys() >= CHECK_KEYS and check["ok"] for check in facts["checks"])


@pytest.mark.parametrize("file", ["model.safetensors", "config.json"])
def test_verify_finds_damage(shell: Shell, model: Path, file: str) -> None:
    content = bytearray((model / file).read_bytes())
    content[len(content) // 2] ^= 0x10
    (model / file).write_bytes(content)
    code, out, err = shell("verify", model)
    assert code == 2
    assert out.startswith("FAILED  files: ")
    assert err.startswith("elmo: error: ")
    assert file in err
    code, out, err = shell("verify", model, "--json")
    assert code == 2
    facts = one_object(out)
    assert facts["ok"] is False
    assert facts["checks"][-1]["ok"] is False
    assert file in facts["checks"][-1]["detail"]


def test_verify_of_nothing(shell: Shell) -> None:
    code, out, err = shell("verify", "nothing", "--json")
    assert code == 2
    assert one_object(out)["ok"] is False
    assert err.startswith("elmo: error: ")
    assert err.count("\n") == 1


def test_demo_for_people(shell: Shell) -> None:
    code, out, _ = shell("demo", "--model", "tiny-untrained")
    assert code == 0
    for part in ("layer 0", "layer 2", "bank", "spring", "north bank of", "untrained", "Next:"):
        assert part in out


def test_demo_for_scripts(shell: Shell) -> None:
    code, out, _ = shell("demo", "--json", "--model", "tiny-untrained")
    assert code == 0
    facts = one_object(out)
    assert facts.keys() >= DEMO_KEYS
    assert (facts["trained"], facts["substitutes"]) == (False, None)
    assert [row["word"] for row in facts["words"]] == ["bank", "play", "right", "spring"]
    for row in facts["words"]:
        assert row.keys() >= WORD_KEYS
        assert len(row["same_sense"]) == len(row["other_sense"]) == len(row["similarity"]) == 3
        assert row["same_sense"][0] == pytest.approx(1.0), "the same word, before context"
        assert row["other_sense"][2] < 0.9999


def test_senses_come_apart_in_the_demo(shell: Shell) -> None:
    """At the top every pair of sentences with one sense is nearer than any with two."""
    code, out, err = shell("demo", "--json")
    assert (code, err) == (0, "")
    facts = one_object(out)
    assert (facts["model"], facts["trained"]) == ("english-base", True)
    for row in facts["words"]:
        senses, top = row["senses"], row["similarity"][-1]
        pairs = [(a, b) for a in range(len(senses)) for b in range(a)]
        same = [top[a][b] for a, b in pairs if senses[a] == senses[b]]
        other = [top[a][b] for a, b in pairs if senses[a] != senses[b]]
        assert (len(same), len(other)) == (2, 4)
        # Measured gaps: bank 0.23, play 0.48, right 0.31, spring 0.13.
        assert min(same) - max(other) > 0.1, row["word"]
    (river, *_) = facts["substitutes"].values()
    assert "edge" in river


def test_demo_with_another_model(shell: Shell, tmp_path: Path) -> None:
    trained = replace(untrained_checkpoint(), metadata={"name": "mine"})
    native.write(trained, tmp_path / "model")
    code, out, err = shell("demo", "--model", tmp_path / "model")
    assert (code, err) == (0, "")
    assert "random" not in out
    assert one_object(shell("demo", "--model", tmp_path / "model", "--json")[1])["trained"] is True
