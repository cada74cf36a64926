from collections.abc import Callable
from pathlib import Path

import pytest

from elmokit.cli.main import run
from elmokit.formats import native
from elmokit.pretrained.untrained import untrained_checkpoint

Shell = Callable[..., tuple[int, str, str]]


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    """Run `elmo` in this process: exit code, standard output, standard error."""

    def call(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A native folder."""
    native.write(untrained_checkpoint(), tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """Three lines, the second of them empty."""
    path = tmp_path / "in.txt"
    path.write_text("She didn't sit.\n\nOn the bank\n", encoding="utf-8")
    return path
