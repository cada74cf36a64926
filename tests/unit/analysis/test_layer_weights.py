"""Mix weights of runs: read from every place they are kept in, averaged, drawn."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from elmokit.analysis.layer_weights import layer_weights, layer_weights_chart
from elmokit.cli.main import run as run_command
from elmokit.errors import FormatError, InputError
from task_runs import run_small, tiny_elmo

INPUT, OUTPUT = [0.2, 0.5, 0.3, 1.5], [0.6, 0.3, 0.1, 0.5]


def record(**changes: Any) -> dict[str, Any]:
    return {
        "task": "ner",
        "share": 1.0,
        "mix_weights": {"input": INPUT, "output": OUTPUT},
        "settings": {"inputs": {"elmo_layers": [], "elmo_form": "layers"}},
        **changes,
    }


def write_run(folder: Path, **changes: Any) -> Path:
    folder.mkdir()
    (folder / "result.json").write_text(json.dumps(record(**changes)), encoding="utf-8")
    return folder


def write_table(file: Path, records: list[dict[str, Any]]) -> Path:
    file.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return file


def row(key: str, values: list[float] | None = None, **changes: Any) -> dict[str, Any]:
    mixes = {} if values is None else {"input": values}
    return record(key=key, data="자료", variant="elmo", mix_weights=mixes) | changes


def test_one_run(tmp_path: Path) -> None:
    at_input, at_output = layer_weights([write_run(tmp_path / "run")])
    assert (at_input.name, at_input.place, at_input.runs) == ("ner", "input", 1)
    assert at_input.layers == ("layer 0", "layer 1", "layer 2")
    assert at_input.weights == (0.2, 0.5, 0.3)
    assert at_input.deviations == (0.0, 0.0, 0.0)
    assert (at_input.scale, at_input.scale_deviation) == (1.5, 0.0)
    assert (at_output.place, at_output.weights, at_output.scale) == ("output", (0.6, 0.3, 0.1), 0.5)


def test_runs_of_a_task_are_averaged(tmp_path: Path) -> None:
    values = ([0.2, 0.8, 1.0], [0.4, 0.6, 2.0], [0.9, 0.1, 6.0])
    runs = [
        write_run(tmp_path / str(number), mix_weights={"input": one})
        for number, one in enumerate(values)
    ]
    other = write_run(tmp_path / "other", task="sst", mix_weights={"input": [0.1, 0.9, 1.0]})
    ner, sst = layer_weights([runs[0], other, *runs[1:]])
    # numpy's own, to 12 digits: sums of three numbers differ in the last bit at most.
    np.testing.assert_allclose([*ner.weights, ner.scale], np.mean(values, axis=0), rtol=1e-12)
    deviations = np.std(values, axis=0, ddof=1)
    np.testing.assert_allclose([*ner.deviations, ner.scale_deviation], deviations, rtol=1e-12)
    assert (ner.runs, sst.runs, sst.name, sst.weights) == (3, 1, "sst", (0.1, 0.9))


def test_a_table_of_runs(tmp_path: Path) -> None:
    file = write_table(
        tmp_path / "runs.jsonl",
        [
            row("a/base"),
            row("a/0", [0.1, 0.9, 1.0]),
            row("b/0", [0.5, 0.5, 1.0], share=0.05),
            row("c/0", [0.4, 0.6, 1.0], variant="at both"),
            row("d/0", [1.0, 1.0], variant="top layer"),  # one layer: nothing to weigh
            row("a/0", [0.3, 0.7, 1.0]),  # done again
        ],
    )
    for source in (file, tmp_path):
        found = {one.name: one.weights for one in layer_weights([source])}
        assert found == {"ner: 자료": (0.3, 0.7)}
        found = {one.name: one.weights for one in layer_weights([source], every=True)}
        assert found == {
            "ner: 자료": (0.3, 0.7),
            "ner: 자료, 5% of the data": (0.5, 0.5),
            "ner: 자료, at both": (0.4, 0.6),
        }


def test_a_table_without_usual_runs_shows_the_others(tmp_path: Path) -> None:
    records = [row("a/0", [1.0, 1.0]), row("b/0", [0.5, 0.5, 1.0], share=0.05)]
    (found,) = layer_weights([write_table(tmp_path / "runs.jsonl", records)])
    assert found.name == "ner: 자료, 5% of the data"


@pytest.mark.parametrize(
    ("inputs", "count", "names"),
    [
        ({"elmo_layers": [1, 2], "elmo_form": "layers"}, 2, ("layer 1", "layer 2")),
        (
            {"elmo_layers": [], "elmo_form": "directions"},
            5,
            (
                "layer 0",
                "layer 1 forward",
                "layer 2 forward",
                "layer 1 backward",
                "layer 2 backward",
            ),
        ),
    ],
)
def test_weights_have_the_names_of_their_layers(
    tmp_path: Path, inputs: dict[str, Any], count: int, names: tuple[str, ...]
) -> None:
    mixes = {"input": [1 / count] * count + [1.0]}
    run = write_run(tmp_path / "run", settings={"inputs": inputs}, mix_weights=mixes)
    (found,) = layer_weights([run])
    assert found.layers == names


def test_a_real_run_and_its_model_say_the_same(tmp_path: Path) -> None:
    run_small("ner", tmp_path, "epochs=1", "elmo_at=both", elmo="tiny-untrained")
    from_run, from_model = (layer_weights([tmp_path / "run" / part]) for part in ("", "model"))
    assert [one.place for one in from_run] == ["input", "output"]
    for first, second in zip(from_run, from_model, strict=True):
        assert (first.name, first.layers) == (second.name, second.layers)
        # The softmax of the run is float32's.
        np.testing.assert_allclose(first.weights, second.weights, rtol=1e-6)
        assert sum(second.weights) == pytest.approx(1.0)
        assert first.scale == second.scale
    with pytest.raises(InputError, match=r"model is given twice"):
        layer_weights([tmp_path / "run", tmp_path / "run" / "model"])


def test_the_picture_has_a_row_for_each_mix_and_a_column_for_each_layer(tmp_path: Path) -> None:
    upper = {"inputs": {"elmo_layers": [1, 2], "elmo_form": "layers"}}
    rows = layer_weights(
        [
            write_run(
                tmp_path / "a", task="한국어", settings=upper, mix_weights={"input": [0.3, 0.7, 1]}
            ),
            write_run(tmp_path / "b", mix_weights={"output": OUTPUT}),
        ]
    )
    chart = layer_weights_chart(rows).to_dict()
    (cells,) = chart["datasets"].values()
    assert [(cell["name"], cell["value"]) for cell in cells] == [
        ("한국어, input, layer 1", 0.3),
        ("한국어, input, layer 2", 0.7),
        ("ner, output, layer 0", 0.6),
        ("ner, output, layer 1", 0.3),
        ("ner, output, layer 2", 0.1),
    ]


def test_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="runs: expected one or more"):
        layer_weights([])
    with pytest.raises(FormatError, match=r"none: is not there.*result\.json"):
        layer_weights([tmp_path / "none"])
    with pytest.raises(FormatError, match=r"is no run of a task.*result\.json"):
        layer_weights([tmp_path])


def test_runs_without_a_mix(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"trained without ELMo.*train with --elmo"):
        layer_weights([write_run(tmp_path / "base", mix_weights={})])
    with pytest.raises(FormatError, match="one layer alone"):
        layer_weights([write_run(tmp_path / "top", mix_weights={"input": [1.0, 1.0]})])
    with pytest.raises(FormatError, match="has no run that mixes layers of a biLM: found 1 runs"):
        layer_weights([write_table(tmp_path / "runs.jsonl", [row("a/base")])])


def test_a_bilm_by_itself_has_no_mix(tmp_path: Path) -> None:
    tiny_elmo().save(tmp_path / "bilm")
    with pytest.raises(FormatError, match=r"config\.json: is no task model's.*a task learns it"):
        layer_weights([tmp_path / "bilm"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mix_weights": {"input": [0.5, "half", 1.0]}}, "is no record of a run .*half"),
        ({"mix_weights": [0.5, 0.5]}, "is no record of a run"),
        ({"mix_weights": {"input": [0.5, float("nan"), 1.0]}}, "expected finite mix weights"),
        ({"settings": {}}, "is no record of a run .*inputs"),
        (
            {"settings": {"inputs": {"elmo_layers": [1], "elmo_form": "layers"}}},
            r"has 3 weights for the layers \[1\]",
        ),
    ],
)
def test_damaged_results(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=rf"result\.json: {message}"):
        layer_weights([write_run(tmp_path / "run", **changes)])


def test_damaged_tables_and_models(tmp_path: Path) -> None:
    file = write_table(tmp_path / "runs.jsonl", [row("a/0", [0.5, 0.5, 1.0])])
    file.write_text(file.read_text(encoding="utf-8") + '{"key": ', encoding="utf-8")
    with pytest.raises(FormatError, match=r"runs\.jsonl: line 2 is no record of a run"):
        layer_weights([file])
    model = tmp_path / "model"
    model.mkdir()
    settings = {"inputs": {"elmo_layers": [], "elmo_form": "layers"}}
    config = {"format": "elmokit-task", "task": "ner", "settings": settings}
    (model / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(FormatError, match=r"model\.safetensors: cannot be read"):
        layer_weights([model])
    safetensors.numpy.save_file({"other": np.zeros(1)}, model / "model.safetensors")
    with pytest.raises(FormatError, match="trained without ELMo"):
        layer_weights([model])


def test_the_command_prints_a_table_and_draws(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [write_run(tmp_path / name, task="한국어") for name in ("a", "b")]
    assert run_command(["layers", *map(str, runs), "-o", str(tmp_path / "map.svg")]) == 0
    out = capsys.readouterr().out
    assert "0.20±0.00" in out
    assert out.endswith(f"wrote {tmp_path / 'map.svg'}\n")
    assert ">한국어, output</text>" in (tmp_path / "map.svg").read_text(encoding="utf-8")
    assert run_command(["layers", str(runs[0]), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["output"] is None
    assert facts["mixes"][0]["weights"] == [0.2, 0.5, 0.3]
    assert facts["mixes"][0]["name"] == "한국어"


def test_the_table_fits_a_narrow_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    rows = [row(f"a/{seed}", [0.2, 0.5, 0.3, 1.5], data="SNLI, 28k other pairs") for seed in (1, 2)]
    assert run_command(["layers", str(write_table(tmp_path / "runs.jsonl", rows))]) == 0
    out = capsys.readouterr().out
    assert "…" not in out
    assert max(map(len, out.splitlines())) <= 80
    assert "1.50±0.00" in out


def test_the_command_refuses_a_suffix_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["layers", str(tmp_path / "none"), "-o", "map.jpg"]) == 2
    assert "map.jpg: expected a name that ends in .png, .svg or .html" in capsys.readouterr().err
