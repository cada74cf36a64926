"""Every task from data files to answers, tiny: learnt by heart, saved, loaded, the same answers."""

import json
from pathlib import Path

import pytest

import elmokit.tasks
from elmokit.cli.main import run
from elmokit.tasks.names import TASK_NAMES
from small_tasks import CHANGES, INPUTS_TO_ASK, RECORDS, write_records

COMMON = ["epochs=40", "patience=40", "learning_rate=5e-3", "warm_up=0", "average=null",
          "vector_dim=16", "min_count=1", "character_filters=[[3, 8]]", "word_dropout=0",
          "inputs.dropout=0", "elmo_dropout=0.1"]  # fmt: skip


def trained(task: str, folder: Path, elmo: str, *extra: str) -> Path:
    data = write_records(folder / f"{task}.jsonl", RECORDS[task])
    changes = [word for c in (*COMMON, *CHANGES[task]) for word in ("--set", c)]
    arguments = ["task", "train", task, "--train", str(data), "--dev", str(data), "--test"]
    arguments += [f"{data}", "--elmo", elmo, "--device", "cpu", "-o", str(folder / "run")]
    assert run([*arguments, *changes, "--json", *extra]) == 0
    return folder / "run" / "model"


@pytest.mark.parametrize("elmo", ["none", "tiny-untrained"])
@pytest.mark.parametrize("task", TASK_NAMES)
def test_data_to_answers(
    task: str, elmo: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = trained(task, tmp_path, elmo)
    result = json.loads(capsys.readouterr().out)
    found = result["figures"][f"{task}.jsonl"][result["metric"]]
    assert found > 95, result["history"]
    predictor = elmokit.tasks.load(model, device="cpu")
    # What the trained network scored when it was saved, the loaded one scores to the last digit.
    assert predictor.evaluate(tmp_path / f"{task}.jsonl") == result["figures"][f"{task}.jsonl"]
    asked = INPUTS_TO_ASK[task]
    first = predictor.predict([asked])
    assert first == elmokit.tasks.load(model, device="cpu").predict([asked])
    assert predictor.shown(first[0])
    assert json.loads(json.dumps(first)) == first
    assert bool(predictor.mix_weights()) == (elmo != "none")
