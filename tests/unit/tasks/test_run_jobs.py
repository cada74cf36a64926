"""Runs in processes of their own: what is run, what is kept, what is said, how it stops."""

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from elmokit.errors import FormatError, InputError
from elmokit.tasks.datasets import DataSet
from elmokit.tasks.run_jobs import read_records, run_jobs
from elmokit.tasks.study import Job, jobs_of
from elmokit.tasks.table import table
from small_tasks import CHANGES, RECORDS, write_records

NER = DataSet(
    task="ner", name="Made up", train=("ner.jsonl",), dev="dev.jsonl", test=("test.jsonl",)
)
# Sizes at which a run takes about a second, most of it to import torch.
TINY = (
    *CHANGES["ner"],
    *("epochs=15", "patience=15", "vector_dim=8", "min_count=1", "character_filters=[]"),
    "learning_rate=1e-2",
)

Runs = list[list[str]]


def jobs(
    *, elmo: str = "tiny-untrained", seeds: int = 1, changes: Sequence[str] = TINY
) -> list[Job]:
    return jobs_of("main", [NER], elmo=elmo, seeds=seeds, changes=tuple(changes))


def tuned_jobs(seeds: int = 1) -> list[Job]:
    return jobs_of("tuned", [NER], elmo="tiny-untrained", seeds=seeds, changes=TINY)


def layer_jobs() -> list[Job]:
    return jobs_of("layers", [NER], elmo="tiny-untrained", seeds=1, changes=TINY)


def option(command: list[str], name: str) -> str:
    return command[command.index(name) + 1]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The made-up data set in a folder."""
    folder = tmp_path / "data"
    folder.mkdir()
    for name in ("ner.jsonl", "dev.jsonl", "test.jsonl"):
        write_records(folder / name, RECORDS["ner"])
    return folder


@pytest.fixture
def real_runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    """Notes the commands that are run."""
    commands: Runs = []
    run = subprocess.run

    def noted(command: list[str], **options: Any) -> Any:
        commands.append(command)
        return run(command, **options)

    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr(subprocess, "run", noted)
    return commands


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    """Nothing is trained: a run reaches 50 plus its seed, and 60 with ELMo.

    A biLM is tuned in a minute.
    """
    commands: Runs = []

    def pretended(command: list[str], **_: Any) -> Any:
        commands.append(command)
        place = Path(option(command, "--output"))
        if "text" in command:
            place.write_text("Ada went to New Rome today\n", encoding="utf-8")
            return subprocess.CompletedProcess(command, 0, stdout="{}\n", stderr="")
        place.mkdir(parents=True, exist_ok=True)
        if "finetune" in command:
            if "--minutes" not in command or float(option(command, "--minutes")) > 1:
                (place / "model").mkdir()
            return subprocess.CompletedProcess(command, 0, stdout="{}\n", stderr="")
        changes = [command[i + 1] for i, word in enumerate(command) if word == "--set"]
        (job,) = [
            job
            for job in [
                *jobs(seeds=9),
                *jobs(seeds=9, changes=[*TINY, "epochs=5"]),
                *layer_jobs(),
                *tuned_jobs(seeds=3)[2::3],
            ]
            if job.folder == place.name
        ]
        assert tuple(changes) == (*job.changes, f"seed={job.seed}")
        elmo = option(command, "--elmo")
        result = {
            "task": "ner",
            "metric": "f1",
            "elmo": "" if elmo == "none" else elmo,
            "seed": job.seed,
            "share": 1.0,
            "figures": {"test.jsonl": {"f1": (50.0 if elmo == "none" else 60.0) + job.seed}},
            "mix_weights": {},
            "settings": job.settings().to_dict(),
        }
        (place / "result.json").write_text(json.dumps(result), encoding="utf-8")
        said = json.dumps({"ending": "finished", "step": 1, "steps": 1})
        return subprocess.CompletedProcess(command, 0, stdout=said + "\n", stderr="")

    monkeypatch.setattr(subprocess, "run", pretended)
    return commands


def run_all(
    folder: Path, data: Path, chosen: list[Job], **options: Any
) -> tuple[list[dict[str, Any]], list[str]]:
    """Run jobs and give their records and what was said."""
    said: list[str] = []
    arguments = {"data": data, "vectors": None, "device": "cpu", "say": said.append} | options
    return run_jobs(chosen, folder, **arguments), said


def test_records_are_kept_and_not_run_again(tmp_path: Path, data: Path, runs: Runs) -> None:
    first, said = run_all(tmp_path / "out", data, jobs())
    assert said[0] == "2 runs, 0 of them done before"
    assert len(runs) == 2
    assert [record["key"] for record in first] == [job.key for job in jobs()]
    again, said = run_all(tmp_path / "out", data, jobs())
    assert said == ["2 runs, 2 of them done before"]
    assert len(runs) == 2
    assert again == first == read_records(tmp_path / "out")
    more, said = run_all(tmp_path / "out", data, jobs(seeds=2))
    assert said[0] == "4 runs, 2 of them done before"
    assert len(runs) == 4
    assert [record["seed"] for record in more] == [0, 0, 1, 1]
    # Fewer are asked for now: only theirs are given, and nothing is forgotten.
    assert run_all(tmp_path / "out", data, jobs())[0] == first
    assert len(read_records(tmp_path / "out")) == 4


@pytest.mark.parametrize(
    ("at_once", "own", "threads"), [(1, None, "8"), (3, None, "2"), (9, None, "2"), (3, "5", "5")]
)
def test_runs_side_by_side_share_the_cores(
    tmp_path: Path,
    data: Path,
    runs: Runs,
    monkeypatch: pytest.MonkeyPatch,
    at_once: int,
    own: str | None,
    threads: str,
) -> None:
    """Four are to be made on eight cores; who says how many threads each has is heard."""
    del runs
    environments = []
    pretended = subprocess.run

    def noted(command: list[str], **options: Any) -> Any:
        environments.append(options["env"])
        return pretended(command, **options)

    monkeypatch.setattr(subprocess, "run", noted)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if own is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", own)
    run_all(tmp_path / "out", data, jobs(seeds=2), at_once=at_once)
    assert [one["OMP_NUM_THREADS"] for one in environments] == [threads] * 4
    assert all(one["PATH"] == os.environ["PATH"] for one in environments)


def test_one_run_serves_all_variants_that_are_the_same(
    tmp_path: Path, data: Path, runs: Runs
) -> None:
    # Sentences are tagged with ELMo at the input and an l2 of 0.001 anyway.
    same = {"elmo", "all layers, l2 0.001", "at the input"}
    main, _ = run_all(tmp_path / "out", data, jobs())
    found, said = run_all(tmp_path / "out", data, layer_jobs())
    assert said[0] == "5 runs, 1 of them done before"
    assert len(runs) == 2 + 4
    assert [(record["key"], record["variant"]) for record in found] == [
        (job.key, job.variant) for job in layer_jobs()
    ]
    figures = [r["figures"] for r in [*main, *found] if r["variant"] in same]
    assert len(figures) == 3
    assert len(read_records(tmp_path / "out")) == 6


def test_a_bilm_is_tuned_once_for_all_seeds(tmp_path: Path, data: Path, runs: Runs) -> None:
    out = tmp_path / "out"
    found, _ = run_all(out, data, tuned_jobs(seeds=3), at_once=3)
    (text,) = [command for command in runs if "text" in command]
    (tuning,) = [command for command in runs if "finetune" in command]
    assert text[3:7] == ["task", "text", "ner", str(data / "ner.jsonl")]
    assert tuning[3:6] == ["finetune", "tiny-untrained", option(text, "--output")]
    model = str(Path(option(tuning, "--output")) / "model")
    assert [option(c, "--elmo") for c in runs if "train" in c].count(model) == 3
    names = {(record["variant"], record["elmo"]) for record in found}
    assert names == {
        ("base", ""),
        ("elmo", "tiny-untrained"),
        ("elmo, tuned", "tiny-untrained tuned on ner/Made up"),
    }
    # On another machine the records are all that is needed.
    (tmp_path / "other").mkdir()
    (out / "runs.jsonl").rename(tmp_path / "other" / "runs.jsonl")
    again, said = run_all(tmp_path / "other", data, tuned_jobs(seeds=3))
    assert said == ["9 runs, 9 of them done before"]
    assert again == found


def test_a_tuning_that_runs_out_of_time_goes_on(tmp_path: Path, data: Path, runs: Runs) -> None:
    (job,) = tuned_jobs()[2:]
    none, said = run_all(tmp_path / "out", data, [job], minutes=0.5)
    assert none == []
    assert said[1] == f"{job.key}: out of time while its biLM was tuned; the next call goes on"
    assert len(runs) == 2
    (record,) = run_all(tmp_path / "out", data, [job])[0]
    assert record["variant"] == "elmo, tuned"


def test_what_a_bilm_is_tuned_on_may_be_other_text(tmp_path: Path, data: Path, runs: Runs) -> None:
    other = replace(tuned_jobs()[2], data=replace(NER, text=("dev.jsonl",)))
    run_all(tmp_path / "out", data, [other])
    assert runs[0][5:7] == ["ner", str(data / "dev.jsonl")]


def test_changed_settings_are_run_beside_the_old(tmp_path: Path, data: Path, runs: Runs) -> None:
    old, _ = run_all(tmp_path / "out", data, jobs())
    changed = jobs(changes=[*TINY, "epochs=5"])
    new, said = run_all(tmp_path / "out", data, changed)
    assert said[0] == "2 runs, 0 of them done before"
    assert len(runs) == 4
    assert {record["settings"]["recipe"]["epochs"] for record in new} == {5}
    # Each has a folder of its own, or a run would meet another's checkpoints.
    assert len({option(command, "--output") for command in runs}) == 4
    assert run_all(tmp_path / "out", data, jobs())[0] == old
    assert run_all(tmp_path / "out", data, changed)[0] == new
    assert len(runs) == 4


def test_what_a_run_is_told(tmp_path: Path, data: Path, runs: Runs) -> None:
    run_all(
        tmp_path / "out", data, jobs(), vectors=tmp_path / "vectors.txt", device="cpu", minutes=5
    )
    base, elmo = runs
    assert base[2:6] == ["elmokit.cli", "task", "train", "ner"]
    assert option(base, "--train") == str(data / "ner.jsonl")
    assert option(base, "--dev") == str(data / "dev.jsonl")
    assert option(base, "--test") == str(data / "test.jsonl")
    assert (option(base, "--elmo"), option(elmo, "--elmo")) == ("none", "tiny-untrained")
    assert option(base, "--vectors") == str(tmp_path / "vectors.txt")
    assert option(base, "--share") == "1.0"
    assert option(base, "--cache") == option(elmo, "--cache")
    assert 0 < float(option(elmo, "--minutes")) <= float(option(base, "--minutes")) <= 5


def test_runs_side_by_side_keep_all_records(tmp_path: Path, data: Path, runs: Runs) -> None:
    wanted = jobs(seeds=9)
    found, said = run_all(tmp_path / "out", data, wanted, at_once=6)
    assert sorted(line.split(" in ")[0] for line in said[1:]) == sorted(
        f"{job.key}: {(60 if job.elmo else 50) + job.seed:.2f}" for job in wanted
    )
    assert len(read_records(tmp_path / "out")) == len(found) == 18
    assert not [file for file in (tmp_path / "out").iterdir() if "partial" in file.name]


def test_so_many_runs_are_side_by_side(
    tmp_path: Path, data: Path, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretended: Callable[..., Any] = subprocess.run
    meeting = threading.Barrier(3, timeout=20)

    def together(command: list[str], **options: Any) -> Any:
        meeting.wait()  # fails if there are never three
        return pretended(command, **options)

    monkeypatch.setattr(subprocess, "run", together)
    run_all(tmp_path / "out", data, jobs(seeds=3), at_once=3)
    assert len(runs) == 6


def test_no_time_no_run(tmp_path: Path, data: Path, runs: Runs) -> None:
    done, _ = run_all(tmp_path / "out", data, jobs())
    found, said = run_all(tmp_path / "out", data, jobs(seeds=3), minutes=0)
    assert found == done
    assert said == ["6 runs, 2 of them done before"]
    assert len(runs) == 2


def test_the_last_moment_is_long_enough(tmp_path: Path, data: Path, runs: Runs) -> None:
    # Rounded to hundredths of a minute it would be nothing, which training refuses.
    run_all(tmp_path / "out", data, jobs(), minutes=0.004)
    assert runs
    assert all(float(option(command, "--minutes")) > 0 for command in runs)


def test_real_runs_stop_and_go_on(tmp_path: Path, data: Path, real_runs: Runs) -> None:
    # The first finds its time to be over when it has begun; the second is not begun.
    none, said = run_all(tmp_path / "out", data, jobs(), minutes=0.002)
    assert none == []
    assert len(real_runs) == 1
    name = jobs()[0].key
    assert said[1].startswith(f"{name}: out of time at step ")
    assert said[1].endswith(" of at most 60; the next call goes on")
    stopped = tmp_path / "out" / "runs" / jobs()[0].folder
    assert list((stopped / "checkpoints").iterdir())
    assert not (tmp_path / "out" / "runs.jsonl").exists()

    records, said = run_all(tmp_path / "out", data, jobs(), at_once=2)
    assert len(real_runs) == 3
    assert len(said) == 3
    assert len(list((tmp_path / "out" / "runs").iterdir())) == 2, "it went on where it was"
    by_variant = {record["variant"]: record for record in records}
    assert (by_variant["base"]["elmo"], by_variant["elmo"]["elmo"]) == ("", "tiny-untrained")
    assert by_variant["base"]["mix_weights"] == {}
    assert len(by_variant["elmo"]["mix_weights"]["input"]) == 4
    assert [len(record["history"]) for record in records] == [15, 15]
    (row,) = table([NER], records)
    assert (row["data"], row["seeds"]) == ("Made up", 1)
    assert 0 <= row["base_mean"] <= 100
    assert list((tmp_path / "out" / "layers").glob("layers-*.npy")), "for other runs"

    assert run_all(tmp_path / "out", data, jobs())[0] == records
    assert len(real_runs) == 3


def test_a_file_that_is_not_there_is_named_before_anything_is_begun(
    tmp_path: Path, data: Path, runs: Runs
) -> None:
    split = replace(NER, train=("ner.jsonl#train",), dev="ner.jsonl#dev")
    run_all(tmp_path / "out", data, [replace(job, data=split) for job in jobs()])
    assert len(runs) == 2, "the names of splits are no part of a file's"

    (data / "test.jsonl").unlink()
    with pytest.raises(FormatError, match=r"test\.jsonl: is not there, and ner/Made up needs it"):
        run_all(tmp_path / "out", data, jobs(seeds=2))
    assert len(runs) == 2
    # What is done already can be shown without the data.
    assert len(run_all(tmp_path / "out", data, jobs(seeds=2), minutes=0)[0]) == 2


def test_a_failing_run_is_named_with_its_message(
    tmp_path: Path, data: Path, real_runs: Runs
) -> None:
    (data / "dev.jsonl").write_text('{"tokens": ["Ada"], "tags": ["O", "O"]}\n', encoding="utf-8")
    wanted = jobs(seeds=2)
    with pytest.raises(InputError) as raised:
        run_all(tmp_path / "out", data, wanted)
    assert str(raised.value).startswith(f"{wanted[0].key} failed: ")
    assert f"{data / 'dev.jsonl'}: line 1: expected a tag for each of 1 tokens" in str(raised.value)
    assert len(real_runs) == 1, "the others would only fail too"
    assert read_records(tmp_path / "out") == []


def without_memory(monkeypatch: pytest.MonkeyPatch, *, most: int) -> None:
    """Let a run die where more than ``most`` are side by side."""
    pretended: Callable[..., Any] = subprocess.run
    lock, running = threading.Lock(), 0

    def crowded(command: list[str], **options: Any) -> Any:
        nonlocal running
        with lock:
            running += 1
            fits = running <= most
        time.sleep(0.02)
        try:
            if fits:
                return pretended(command, **options)
            said = "CUDA out of memory. Tried to allocate 2 GiB" + 900 * "."
            return subprocess.CompletedProcess(command, 1, stdout="", stderr=said)
        finally:
            with lock:
                running -= 1

    monkeypatch.setattr(subprocess, "run", crowded)


def test_a_run_without_memory_begins_again_beside_fewer(
    tmp_path: Path, data: Path, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_memory(monkeypatch, most=2)
    wanted = jobs(seeds=4)
    found, said = run_all(tmp_path / "out", data, wanted, at_once=4)
    assert [record["key"] for record in found] == [job.key for job in wanted]
    fewer = [line for line in said if "out of memory" in line]
    assert fewer[0].endswith(": out of memory; 3 go on side by side")
    assert len(fewer) in (2, 3), "once two or one are left there is enough"


def test_the_last_run_is_not_lost_when_the_others_have_ended(
    tmp_path: Path, data: Path, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_memory(monkeypatch, most=1)
    found, _ = run_all(tmp_path / "out", data, jobs(), at_once=2)
    assert len(found) == 2


def test_a_run_that_has_too_little_memory_alone_fails(
    tmp_path: Path, data: Path, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_memory(monkeypatch, most=0)
    with pytest.raises(InputError, match="failed: "):
        run_all(tmp_path / "out", data, jobs(), at_once=2)
    assert runs == []
