"""The examples of old names, of the Hub's layout and of ONNX run and give what they promise."""

import re
import runpy
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from elmokit.integrations.onnx import export_onnx
from unit.integrations.test_onnx import MANY_LANGS, make

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(
    name: str,
    *arguments: object,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> str:
    monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    out, err = capsys.readouterr()
    assert not err
    return out


def test_allennlp_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = run("allennlp_names.py", monkeypatch=monkeypatch, capsys=capsys)
    losses = [float(loss) for loss in re.findall(r"^epoch +\d+  loss (\S+)$", out, re.M)]
    assert len(losses) == 3
    assert losses[-1] < losses[0] / 5
    (mix,) = re.findall(r"^mix (\S+) (\S+) (\S+)$", out, re.M)
    assert sum(map(float, mix)) == pytest.approx(1, abs=0.002)
    assert len(set(mix)) > 1
    assert float(out.split()[-1]) < 0.9


def test_tf_hub_names(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    out = run("tf_hub_names.py", monkeypatch=monkeypatch, capsys=capsys)
    assert "word_emb      (2, 6, 352)\n" in out
    assert "lstm_outputs2 (2, 6, 704)\n" in out
    assert "default       (2, 704)\n" in out


def test_hub_folder(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = run("hub_folder.py", tmp_path / "saved", monkeypatch=monkeypatch, capsys=capsys)
    assert re.search(r"^softmax.safetensors +23,", out, re.M)
    assert float(out.split()[-1]) < 1e-6
    assert (tmp_path / "saved" / "README.md").is_file()


@pytest.mark.parametrize("kind", ["bytes", "words and characters"])
def test_onnx_numpy(
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """It does without elmokit and torch, and its ids are right for every kind of model."""
    elmo = make() if kind == "bytes" else make(MANY_LANGS)
    export_onnx(elmo, tmp_path / "model.onnx", layers="all")
    blocked: ModuleType | None = None
    with monkeypatch.context() as context:
        for name in [*(name for name in sys.modules if name.startswith("elmokit")), "torch"]:
            context.setitem(sys.modules, name, blocked)
        texts = ["the cat sat", "eeeee 고양이"]
        out = run(
            "onnx_numpy.py", tmp_path / "model.onnx", *texts, monkeypatch=context, capsys=capsys
        )
        example: dict[str, Any] = runpy.run_path(str(EXAMPLES / "onnx_numpy.py"))
    assert f"(3, 3, {elmo.dim})" in out
    sentences = [["the", "cat", "sat"], ["eeeee", "고양이", "e" * 70, ""], []]
    found = example["OnnxElmo"](str(tmp_path / "model.onnx"))(sentences)
    for one, expected in zip(found, elmo.embed(sentences, layers="all"), strict=True):
        np.testing.assert_allclose(one, expected, atol=1e-4)
