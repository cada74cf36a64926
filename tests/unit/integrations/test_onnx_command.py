"""`elmo export onnx`: options, answers and errors in the shell."""

import json
import sys
from pathlib import Path

import pytest

from elmokit.cli.main import run
from elmokit.formats import native
from elmokit.pretrained.untrained import untrained_checkpoint
from small_models import CONFIG


@pytest.fixture
def model(tmp_path: Path) -> Path:
    native.write(untrained_checkpoint(CONFIG), tmp_path / "model")
    return tmp_path / "model"


def shell(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = run(["export", "onnx", *map(str, arguments)])
    return code, *capsys.readouterr()


@pytest.mark.parametrize(
    ("layers", "output"), [("all", "layers"), ("0.2,0.3,0.5", "vectors"), ("1", "vectors")]
)
def test_export(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], layers: str, output: str
) -> None:
    file = tmp_path / "model.onnx"
    code, out, _ = shell(capsys, model, "-o", file, "--layers", layers, "--start", "zeros")
    assert code == 0
    first, second = out.splitlines()
    assert first.startswith(f"{file}: 0.")
    assert first.endswith(f"MB, opset 17, character_ids, lengths -> {output}")
    assert second.startswith("onnxruntime agrees with elmokit to ")
    code, _, err = shell(capsys, model, "-o", file)
    assert (code, "exists already" in err) == (2, True)
    code, out, _ = shell(capsys, model, "-o", file, "--layers", layers, "--overwrite", "--json")
    facts = json.loads(out)
    assert code == 0
    assert facts["outputs"] == [output]
    assert facts["difference"] <= 1e-4


def test_without_onnxruntime(
    model: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    code, out, _ = shell(capsys, model, "-o", tmp_path / "model.onnx")
    assert (code, out.splitlines()[-1]) == (0, "not checked: onnxruntime is not installed")
    code, out, _ = shell(capsys, model, "-o", tmp_path / "other.onnx", "--no-check")
    assert (code, len(out.splitlines())) == (0, 1)
    monkeypatch.setitem(sys.modules, "onnx", None)
    code, _, err = shell(capsys, model, "-o", tmp_path / "third.onnx")
    assert code == 2
    assert 'pip install "elmokit[onnx]"' in err


def test_wrong_usage(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = shell(capsys, model, "-o", tmp_path / "model.onnx", "--start", "carry")
    assert (code, "found start='carry'" in err) == (2, True)
    code, _, err = shell(capsys, model, "-o", tmp_path / "model.onnx", "--layers", "bottom")
    assert (code, "found 'bottom'" in err) == (2, True)
    assert run(["export"]) == 0
    assert "onnx" in capsys.readouterr().out
