"""`elmo train` as people run and stop it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from integration.training_children import PATIENCE, Nursery
from integration.training_run import RECIPES, STEPS, last_state, log_of, saved_steps, task

ELMO = shutil.which("elmo", path=str(Path(sys.executable).parent)) or "elmo"

# Python runs this file first of all: it sends the process a signal when it opens its log for
# the fifth time, which is in the middle of a training.
SIGNALS_ITSELF = """
import os, signal, sys

opened = 0

def audit(event, arguments):
    global opened
    if event == "open" and str(arguments[0]).endswith("log.jsonl") and arguments[1] == "a":
        opened += 1
        if opened == 5:
            os.kill(os.getpid(), signal.SIGNAL)

sys.addaudithook(audit)
"""


def train(
    corpus: Path, run: Path, *options: str, hook: Path | None = None
) -> subprocess.CompletedProcess[str]:
    changes = [word for change in RECIPES["adamw, full softmax"] for word in ("--set", change)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    if hook is not None:
        environment["PYTHONPATH"] = str(hook)
    return subprocess.run(
        [
            *(ELMO, "train", str(corpus), "-o", str(run), *changes, "--device", "cpu"),
            *("--log-every", "1", "--save-every", "100", *options),
        ],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env=environment,
        timeout=PATIENCE,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_stopped_by_signals_and_finished(
    nursery: Nursery, training_corpus: Path, tmp_path: Path
) -> None:
    whole, run = tmp_path / "whole", tmp_path / "run"
    assert nursery.run(**task(training_corpus, whole)).code == 0
    for name, stopped in (("SIGINT", 5), ("SIGTERM", 10)):
        hook = tmp_path / name
        hook.mkdir()
        text = SIGNALS_ITSELF.replace("SIGNAL", name)
        (hook / "sitecustomize.py").write_text(text, encoding="utf-8")
        found = train(training_corpus, run, hook=hook)
        assert found.returncode == 0, found.stderr
        assert found.stdout == (
            f"stopped at step {stopped} of {STEPS}; everything is saved: the same command goes on "
            "from here\n"
        )
        assert saved_steps(run)[-1] == stopped
    assert "resuming at step 5: 18 steps" in found.stderr
    found = train(training_corpus, run, "--json")
    assert found.returncode == 0, found.stderr
    report = json.loads(found.stdout)
    assert (report["ending"], report["step"]) == ("finished", STEPS)
    assert log_of(run) == log_of(whole)
    assert last_state(run) == last_state(whole)
