"""The commands of `elmo task` as people type them, on tiny data."""

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from elmokit.cli.main import run
from elmokit.tasks.datasets import DataSet
from elmokit.tasks.study import jobs_of
from small_tasks import CHANGES, RECORDS, write_records

Shell = Callable[..., tuple[int, str, str]]

SMALL = [
    *CHANGES["ner"],
    *("epochs=25", "patience=25", "learning_rate=1e-2", "average=null", "vector_dim=16"),
    *("min_count=1", "character_filters=[[3, 8]]", "word_dropout=0", "inputs.dropout=0"),
]
SET = [word for change in SMALL for word in ("--set", change)]

# What the model was trained on: it knows it by heart.
SENTENCE = "Ada went to New Rome today"
SHOWN = "[PER Ada] went to [LOC New Rome] today"
ANSWER = {
    "tokens": ["Ada", "went", "to", "New", "Rome", "today"],
    "entities": [
        {"label": "PER", "first": 0, "last": 0, "text": "Ada"},
        {"label": "LOC", "first": 3, "last": 4, "text": "New Rome"},
    ],
}

SMALL_SET = DataSet(
    task="ner", name="Small", train=("ner.jsonl",), dev="ner.jsonl", test=("ner.jsonl",)
)
TASKS_ROW = [
    "task",
    "data",
    "metric",
    "base_mean",
    "base_std",
    "elmo_mean",
    "elmo_std",
    "seeds",
    "relative_error_reduction",
    "paper_relative_error_reduction",
]


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    """Run `elmo task` in this process: exit code, standard output, standard error."""

    def call(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(["task", *map(str, arguments)])
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_records(tmp_path_factory.mktemp("data") / "ner.jsonl", RECORDS["ner"])


@pytest.fixture(scope="module")
def model(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that knows the data by heart."""
    folder = tmp_path_factory.mktemp("model") / "run"
    files = ["--train", data, "--dev", data, "-o", folder]
    assert run(["task", "train", "ner", *map(str, files), "--elmo", "none", "--json", *SET]) == 0
    return folder / "model"


def assert_one_line(err: str, *parts: object) -> None:
    assert err.startswith("elmo: error: ")
    assert err.count("\n") == 1
    for part in parts:
        assert str(part) in err


# --- help


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["task", "--help"], ["train", "evaluate", "predict", "table"]),
        (["task", "train", "--help"], ["--train", "--dev", "--elmo", "--vectors", "--set"]),
        (["task", "table", "--help"], ["--study", "--seeds", "--minutes"]),
        (["task", "predict", "--help"], ["--input", "--json"]),
    ],
)
def test_help_imports_nothing_heavy(arguments: list[str], shown: list[str]) -> None:
    found = subprocess.run(
        [
            *(sys.executable, "-X", "importtime", "-c"),
            "from elmokit.cli.main import main; main()",
            *arguments,
        ],
        capture_output=True,
        check=True,
        text=True,
    )
    for word in shown:
        assert word in found.stdout
    imported = {line.rsplit("|", 1)[-1].strip() for line in found.stderr.splitlines()}
    assert "elmokit.cli.task_table" in imported
    assert not imported & {"torch", "numpy", "h5py", "safetensors", "altair"}


def test_without_a_command_there_is_help(shell: Shell) -> None:
    code, out, err = shell()
    assert (code, err) == (0, "")
    assert out.startswith("Usage: elmo task [OPTIONS] COMMAND")
    assert shell("--help") == (0, out, "")


# --- train


def test_train_says_what_it_does_and_where_the_model_is(
    shell: Shell, data: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    arguments = ["train", "ner", "--train", data, "--dev", data, "--elmo", "none", "-o", folder]
    few = [*SET, "--set", "epochs=2"]
    code, out, err = shell(*arguments, "--test", data, *few)
    assert code == 0
    first, last = out.splitlines()
    assert first.startswith("ner.jsonl: precision ")
    assert "f1/" not in first
    assert last == f"the model is in {folder / 'model'}"
    assert "starting: NER, 20 examples, at most 8 steps" in err
    assert "no ELMo" in err
    assert "epoch 2: f1 " in err
    card = (folder / "model" / "README.md").read_text(encoding="utf-8")
    assert "Without ELMo." in card
    # The same command finds that all is done.
    code, again, err = shell(*arguments, "--test", data, *few)
    assert (code, again) == (0, out)
    assert "resuming at step 8" in err
    # Other settings are refused there.
    code, out, err = shell(*arguments, *SET, "--set", "epochs=3")
    assert (code, out) == (2, "")
    assert "recipe.epochs = 2, found 3" in err.splitlines()[-1]


def test_train_stops_when_the_time_is_over(shell: Shell, data: Path, tmp_path: Path) -> None:
    arguments = ["train", "ner", "--train", data, "--dev", data, "--elmo", "none", *SET]
    arguments += ["-o", tmp_path / "run", "--minutes", "1e-9"]
    code, out, _ = shell(*arguments)
    assert code == 0
    assert out == (
        "out of time at step 0 of 100; everything is saved: the same command goes on from here\n"
    )
    code, out, err = shell(*arguments, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {"ending": "out of time", "step": 0, "steps": 100, "model": None}


def test_train_with_a_share_static_vectors_and_elmo(
    shell: Shell, data: Path, tmp_path: Path
) -> None:
    words = {word for record in RECORDS["ner"] for word in record["tokens"]}
    vectors = "".join(f"{word} 0.{len(word)} 0.1 -0.2\n" for word in sorted(words))
    (tmp_path / "vectors.txt").write_text(vectors, encoding="utf-8")
    arguments = ["train", "ner", "--train", data, "--dev", data, "-o", tmp_path / "run", *SET]
    arguments += ["--elmo", "tiny-untrained", "--vectors", tmp_path / "vectors.txt"]
    arguments += ["--share", "0.5", "--cache", tmp_path / "layers", "--set", "epochs=1"]
    code, out, _ = shell(*arguments, "--set", "elmo_at=both", "--json")
    assert code == 0
    result = json.loads(out)
    assert result["ending"] == "finished"
    assert (result["share"], result["train_examples"]) == (0.5, 10)
    assert result["elmo"] == "tiny-untrained"
    assert set(result["mix_weights"]) == {"input", "output"}
    assert len(list((tmp_path / "layers").glob("*.npy"))) >= 1
    config = json.loads((tmp_path / "run/model/config.json").read_text(encoding="utf-8"))
    assert config["static_words"] == len(words)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["pos"], ["task: expected one of ner, sst, snli, squad, srl, coref, found 'pos'"]),
        (["ner", "--set", "epoch=3"], ["unknown key 'epoch'", "epochs"]),
        (["ner", "--set", "epochs"], ["expected key=value, found 'epochs'"]),
        (["ner", "--set", "dropout=0.1"], ["ambiguous", "inputs.dropout or model.dropout"]),
        (["ner", "--set", "epochs=many"], ["recipe.epochs", "'many'"]),
        (["ner", "--set", "elmo_at=top"], ["elmo_at", "'top'"]),
        (["ner", "--share", "0"], ["share", "0.0"]),
        (["ner", "--elmo", "no-such-model"], ["'no-such-model'"]),
        (["ner", "--vectors", "no-vectors.txt"], ["no-vectors.txt"]),
        (["ner", "--train", "nowhere.jsonl"], ["nowhere.jsonl"]),
    ],
)
def test_what_train_refuses(
    shell: Shell, data: Path, tmp_path: Path, arguments: list[str], parts: list[str]
) -> None:
    given = [*arguments, "--train", data, "--dev", data, "-o", tmp_path / "run"]
    elmo = [] if "--elmo" in arguments else ["--elmo", "none"]
    code, out, err = shell("train", *given, *elmo, "--json")
    assert (code, out) == (2, "")
    assert_one_line(err, *parts)


def test_train_needs_data(shell: Shell, data: Path, tmp_path: Path) -> None:
    code, out, err = shell("train", "ner", "--dev", data, "-o", tmp_path / "run")
    assert (code, out) == (2, "")
    assert_one_line(err, "Missing option '--train'", "see elmo --help")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"tokens": ["A"], "tags": ["O"]}\n{"tokens": ["A"]}\n', "line 2: key 'tags' is missing"),
        (
            '{"tokens": ["A"], "tags": ["O"]}\n\n{"tokens": ["A"], "tags": ["O", "O"]}\n',
            "line 3: expected a tag for each of 1 tokens, found 2",
        ),
        ('{"tokens": ["A"], "tags": ["O"]\n', "line 1: is no JSON"),
        ("Ada B-PER\nwent\n", "line 2: expected a token and its tag, found 'went'"),
        ('{"tokens": "Ada", "tags": ["O"]}\n', "line 1: key 'tokens': expected a list of tokens"),
    ],
)
def test_malformed_data_are_named_by_file_and_line(
    shell: Shell, data: Path, model: Path, tmp_path: Path, content: str, message: str
) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text(content, encoding="utf-8")
    files = ["--train", data, "--dev", bad, "--elmo", "none", "-o", tmp_path / "run"]
    for arguments in (["train", "ner", *files, "--json"], ["evaluate", model, bad]):
        code, out, err = shell(*arguments)
        assert (code, out) == (2, "")
        assert_one_line(err, f"{bad}: {message}")


def test_figures_of_files_of_one_name_are_kept_apart(
    shell: Shell, data: Path, tmp_path: Path
) -> None:
    files = [tmp_path / name / "data.jsonl" for name in ("dev", "test")]
    for place, file in enumerate(files):
        file.parent.mkdir()
        write_records(file, RECORDS["ner"][place * 4 : 20])
    arguments = ["train", "ner", "--train", data, "--dev", files[0], "--test", files[1]]
    arguments += [*SET, "--set", "epochs=1", "--elmo", "none", "-o", tmp_path / "run", "--json"]
    code, out, _ = shell(*arguments)
    assert code == 0
    assert list(json.loads(out)["figures"]) == [str(files[0]), str(files[1])]


# --- evaluate


def test_evaluate(shell: Shell, model: Path, data: Path, tmp_path: Path) -> None:
    code, out, err = shell("evaluate", model, data)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == str(data)
    figures = {name: float(value) for name, value in map(str.split, lines[1:])}
    assert figures == {
        "precision": 100.0,
        "recall": 100.0,
        "f1": 100.0,
        "f1/LOC": 100.0,
        "f1/PER": 100.0,
    }
    half = write_records(tmp_path / "half.jsonl", RECORDS["ner"][:10])
    code, out, err = shell("evaluate", model, data, half, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["task"] == "ner"
    assert list(found["figures"]) == [str(data), str(half)]
    assert found["figures"][str(half)] == figures


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["nowhere", "data"], ["nowhere", "is no task model", "elmo task train writes one"]),
        (["MODEL", "nowhere.jsonl"], ["nowhere.jsonl"]),
        (["MODEL", "DATA", "--elmo", "english-base"], ["trained without one", "'english-base'"]),
        (["MODEL"], ["Missing argument 'DATA'"]),
    ],
)
def test_what_evaluate_refuses(
    shell: Shell, model: Path, data: Path, arguments: list[str], parts: list[str]
) -> None:
    places = {"MODEL": str(model), "DATA": str(data)}
    code, out, err = shell("evaluate", *(places.get(word, word) for word in arguments))
    assert (code, out) == (2, "")
    assert_one_line(err, *parts)


# --- predict


def test_predict_of_arguments(shell: Shell, model: Path) -> None:
    code, out, err = shell("predict", model, SENTENCE, "Bob went to New Oslo today")
    assert (code, err) == (0, "")
    assert out == f"{SHOWN}\n[PER Bob] went to [LOC New Oslo] today\n"


def test_predict_of_a_file(shell: Shell, model: Path, tmp_path: Path) -> None:
    file = tmp_path / "in.txt"
    tokens = json.dumps(ANSWER["tokens"])
    file.write_text(f"{SENTENCE}\n\n{tokens}\n", encoding="utf-8")
    code, out, err = shell("predict", model, "--input", file, "--json")
    assert (code, err) == (0, "")
    assert [json.loads(line) for line in out.splitlines()] == [ANSWER, ANSWER]


def test_predict_of_standard_input(
    shell: Shell, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"\n{SENTENCE}\r\n{SENTENCE}\n"))
    assert shell("predict", model) == (0, f"{SHOWN}\n{SHOWN}\n", "")
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert shell("predict", model) == (0, "", "")


def test_what_looks_like_json_and_is_none_is_text(shell: Shell, model: Path) -> None:
    code, out, _ = shell("predict", model, "[PER Ada went", "--json")
    assert code == 0
    assert json.loads(out)["tokens"] == ["[", "PER", "Ada", "went"]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["MODEL", "text", "--input", "in.txt"], ["either as arguments or in a file", "in.txt"]),
        (["MODEL", "--input", "nowhere.txt"], ["nowhere.txt"]),
        (["MODEL", "  "], ["sentence: expected at least one word"]),
        (["MODEL", "[1, 2]"], ["sentence: expected a text or a list of tokens, found [1, 2]"]),
        (["MODEL", '{"tokens": ["Ada"]}'], ["sentence: expected a text or a list of tokens"]),
        (["nowhere", "text"], ["nowhere", "is no task model"]),
    ],
)
def test_what_predict_refuses(
    shell: Shell, model: Path, arguments: list[str], parts: list[str]
) -> None:
    code, out, err = shell("predict", *(str(model) if w == "MODEL" else w for w in arguments))
    assert (code, out) == (2, "")
    assert_one_line(err, *parts)


# --- table


@pytest.fixture
def small_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """One data set, in place of those of the paper's table."""
    monkeypatch.setattr("elmokit.tasks.datasets.DATA_SETS", (SMALL_SET,))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def write_runs(folder: Path, study: Any, values: list[float], *, seeds: int = 1) -> None:
    """Pretend that the first runs of a study were done before."""
    jobs = jobs_of(study, [SMALL_SET], elmo="tiny-untrained", seeds=seeds, changes=tuple(SMALL))
    records = [
        {
            "key": job.key,
            "variant": job.variant,
            "data": job.data.name,
            "task": "ner",
            "metric": "f1",
            "elmo": job.elmo or "",
            "share": job.share,
            "figures": {"ner.jsonl": {"f1": value}},
            "mix_weights": {},
            "settings": job.settings().to_dict(),
        }
        for job, value in zip(jobs, values, strict=False)
    ]
    folder.mkdir()
    write_records(folder / "runs.jsonl", records)


def table(data: Path, folder: Path) -> list[object]:
    return ["table", "--data", data.parent, "-o", folder, "--elmo", "tiny-untrained", *SET]


@pytest.mark.usefixtures("small_set")
def test_table_from_real_runs(shell: Shell, data: Path, tmp_path: Path) -> None:
    command = [*table(data, tmp_path / "out"), "--seeds", "1", "--jobs", "2", "--device", "cpu"]
    command += ["--set", "epochs=1"]
    code, out, err = shell(*command)
    assert (code, err) == (0, "")
    assert out.startswith("2 runs, 0 of them done before\n")
    (row,) = json.loads((tmp_path / "out" / "tasks.json").read_text(encoding="utf-8"))
    assert list(row)[: len(TASKS_ROW)] == TASKS_ROW
    assert (row["task"], row["data"], row["metric"]) == ("ner", "Small", "f1")
    report = (tmp_path / "out" / "tasks.md").read_text(encoding="utf-8")
    assert report.startswith("| task | data | metric |")
    assert "missing" not in report
    assert out.endswith(report + "\n")
    # Asked again it only shows the table.
    code, out, err = shell(*command, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == [row]


@pytest.mark.usefixtures("small_set")
def test_when_the_time_is_over_there_is_the_table_of_what_is_done(
    shell: Shell, data: Path, tmp_path: Path
) -> None:
    write_runs(tmp_path / "out", "main", [80.0, 90.0], seeds=3)
    command = [*table(data, tmp_path / "out"), "--seeds", "3", "--minutes", "0"]
    note = "4 of 6 runs are missing; the same command goes on with them."
    code, out, err = shell(*command)
    assert (code, err) == (0, "")
    assert out.startswith("6 runs, 2 of them done before\n")
    assert "| ner | Small | f1 | 80.00 ± 0.00 | 90.00 ± 0.00 | +10.00 | 50.0% |" in out
    assert out.rstrip().splitlines()[-1] == note
    assert note in (tmp_path / "out" / "tasks.md").read_text(encoding="utf-8")
    code, out, err = shell(*command, "--json")
    assert (code, err) == (0, f"elmo: note: {note}\n")
    (row,) = json.loads(out)
    assert row["relative_error_reduction"] == pytest.approx(50.0)
    assert json.loads((tmp_path / "out" / "tasks.json").read_text(encoding="utf-8")) == [row]


@pytest.mark.usefixtures("small_set")
def test_a_table_of_nothing(shell: Shell, data: Path, tmp_path: Path) -> None:
    code, out, err = shell(*table(data, tmp_path / "out"), "--minutes", "0", "--json")
    assert (code, out) == (0, "[]\n")
    assert err == "elmo: note: 6 of 6 runs are missing; the same command goes on with them.\n"


@pytest.mark.usefixtures("small_set")
def test_the_study_of_samples_is_drawn(
    shell: Shell, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = [20.0, 40.0, 50.0, 60.0, 60.0, 70.0, 70.0, 80.0, 75.0, 85.0, 80.0, 90.0]
    write_runs(tmp_path / "out", "samples", values)
    command = [*table(data, tmp_path / "out"), "--study", "samples", "--seeds", "1"]
    code, out, err = shell(*command)
    assert (code, err) == (0, "")
    assert "| ner | Small | base | 1% | f1 | 20.00 ± 0.00 | 1 |" in out
    rows = json.loads((tmp_path / "out" / "samples.json").read_text(encoding="utf-8"))
    assert [row["mean"] for row in rows] == values
    drawn = (tmp_path / "out" / "samples.svg").read_text(encoding="utf-8")
    for label in ("ner: Small", "base", "+ ELMo", "f1, %"):
        assert f">{label}</text>" in drawn
    png = tmp_path / "out" / "samples.png"
    assert png.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")

    png.unlink()
    monkeypatch.setitem(sys.modules, "altair", None)
    code, again, err = shell(*command)
    assert (code, again) == (0, out)
    assert err.startswith("elmo: note: no plot: ")
    assert 'pip install "elmokit[viz]"' in err
    assert not png.exists()


@pytest.mark.usefixtures("small_set")
def test_the_study_of_layers(shell: Shell, data: Path, tmp_path: Path) -> None:
    write_runs(tmp_path / "out", "layers", [81.0, 82.0, 83.0])
    command = [*table(data, tmp_path / "out"), "--study", "layers", "--seeds", "1"]
    code, out, _ = shell(*command, "--minutes", "0")
    assert code == 0
    assert "| ner | Small | top layer | 100% | f1 | 83.00 ± 0.00 | 1 |" in out
    # At the input is where a mix enters anyway, so that is the run of all layers.
    assert "| ner | Small | at the input | 100% | f1 | 82.00 ± 0.00 | 1 |" in out
    assert "2 of 6 runs are missing" in out
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        "layers.json",
        "layers.md",
        "runs.jsonl",
    ]


@pytest.mark.usefixtures("small_set")
def test_a_failing_run_ends_the_table_with_its_name(shell: Shell, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged" / "ner.jsonl"
    damaged.parent.mkdir()
    damaged.write_text("{}\n", encoding="utf-8")
    code, out, err = shell(*table(damaged, tmp_path / "out"), "--json")
    assert (code, out) == (2, "")
    assert_one_line(err, "ner/Small/base/1/0 failed: ", damaged)


@pytest.mark.usefixtures("small_set")
def test_a_table_without_its_data_begins_nothing(shell: Shell, tmp_path: Path) -> None:
    missing = tmp_path / "nowhere" / "ner.jsonl"
    code, out, err = shell(*table(missing, tmp_path / "out"))
    assert (code, out) == (2, "")
    assert_one_line(err, f"{missing}: is not there, and ner/Small needs it", "--task")


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--task", "pos"], ["tasks: expected a task", "ner/CoNLL-2003", "found 'pos'"]),
        (["--seeds", "0"], ["seeds: expected 1 or more, found 0"]),
        (["--study", "paper"], ["'paper'", "main"]),
    ],
)
def test_what_table_refuses(
    shell: Shell, tmp_path: Path, arguments: list[str], parts: list[str]
) -> None:
    code, out, err = shell("table", "--data", tmp_path, "-o", tmp_path / "out", *arguments)
    assert (code, out) == (2, "")
    assert_one_line(err, *parts)
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("small_set")
def test_the_tuned_study(shell: Shell, data: Path, tmp_path: Path) -> None:
    text, bilm, out = tmp_path / "text.txt", tmp_path / "bilm", tmp_path / "out"
    assert shell("text", "ner", data, "-o", text)[0] == 0
    options = ["--new-softmax", "--set", "steps=1", "--min-count", "1", "--json"]
    assert run(["finetune", "tiny-untrained", str(text), "-o", str(bilm), *options]) == 0
    command = [*table(data, out), "--study", "tuned", "--seeds", "1", "--device", "cpu"]
    code, said, err = shell(*command, "--elmo", bilm / "model", "--set", "epochs=1")
    assert (code, err) == (0, "")
    (row,) = json.loads((out / "tuned.json").read_text(encoding="utf-8"))
    assert list(row)[: len(TASKS_ROW)] == TASKS_ROW
    variants = [line.split("|")[3].strip() for line in said.splitlines() if "| 100% |" in line]
    assert variants == ["base", "elmo", "elmo, tuned"]
    (tuned,) = (out / "tuned").glob("ner_Small-*/model")
    assert (tuned / "config.json").is_file()
    assert Path(f"{tuned.parent}.txt").read_bytes() == text.read_bytes()


def test_text_of_labelled_data(shell: Shell, tmp_path: Path) -> None:
    file = write_records(tmp_path / "snli.jsonl", RECORDS["snli"])
    code, out, _ = shell("text", "snli", file, file, "-o", tmp_path / "text.txt")
    assert code == 0
    lines = (tmp_path / "text.txt").read_text().splitlines()
    # A premise has three hypotheses, and is there once.
    assert lines[:4] == ["Ada sleeps in a bed", "Ada sleeps", "Ada runs fast", "Ada may dream"]
    assert len(lines) == len(set(lines)) == 20
    assert out == f"20 texts with 65 tokens are in {tmp_path / 'text.txt'}\n"
    code, out, _ = shell("text", "snli", file, "-o", tmp_path / "text.txt", "--json")
    assert json.loads(out) == {"texts": 20, "tokens": 65, "output": str(tmp_path / "text.txt")}


def test_text_names_the_line_that_is_wrong(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "ner.jsonl"
    file.write_text('{"tokens": ["Ada"], "tags": ["O", "O"]}\n', encoding="utf-8")
    code, _, err = shell("text", "ner", file, "-o", tmp_path / "text.txt")
    assert code != 0
    assert f"{file}: line 1: expected a tag for each of 1 tokens" in err
    assert not (tmp_path / "text.txt").exists()
