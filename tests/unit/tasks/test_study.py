"""Which runs a study has, and which records count as done."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from elmokit.errors import InputError
from elmokit.tasks.datasets import DATA_SETS, DataSet, data_sets
from elmokit.tasks.study import LAYER_VARIANTS, SHARES, Job, Study, jobs_of

NER = DataSet(task="ner", name="Small set", train=("a",), dev="b", test=("c",))
SST = DataSet(task="sst", name="Trees", train=("a",), dev="b", test=("c",))


def record_of(job: Job, **changes: Any) -> dict[str, Any]:
    """Give the record as it is read from the file."""
    record = {
        "key": job.key,
        "task": job.data.task,
        "data": job.data.name,
        "share": job.share,
        "settings": job.settings().to_dict(),
        "elmo": job.elmo or "",
    }
    read: dict[str, Any] = json.loads(json.dumps(record | changes))
    return read


def test_the_main_study_has_two_variants_and_the_first_seed_first() -> None:
    jobs = jobs_of("main", [NER, SST], elmo="english-base", seeds=2)
    assert [(job.seed, job.data.task, job.variant, job.elmo) for job in jobs] == [
        (0, "ner", "base", None),
        (0, "ner", "elmo", "english-base"),
        (0, "sst", "base", None),
        (0, "sst", "elmo", "english-base"),
        (1, "ner", "base", None),
        (1, "ner", "elmo", "english-base"),
        (1, "sst", "base", None),
        (1, "sst", "elmo", "english-base"),
    ]
    assert {job.share for job in jobs} == {1.0}


def test_a_data_set_may_ask_for_more_seeds_in_the_main_table() -> None:
    cheap = replace(NER, main_seeds=5)

    def seeds_of(study: Study, seeds: int | None = None) -> dict[str, set[int]]:
        jobs = jobs_of(study, [cheap, SST], elmo="english-base", seeds=seeds)
        assert [job.seed for job in jobs] == sorted(job.seed for job in jobs)
        return {
            task: {job.seed for job in jobs if job.data.task == task} for task in ("ner", "sst")
        }

    assert seeds_of("main") == {"ner": set(range(5)), "sst": set(range(3))}
    assert seeds_of("layers") == {"ner": set(range(3)), "sst": set(range(3))}
    assert seeds_of("main", 2) == {"ner": {0, 1}, "sst": {0, 1}}
    assert jobs_of("main", [], elmo="english-base") == []


def test_variants_of_a_seed_differ_by_the_bilm_alone() -> None:
    base, elmo = jobs_of("main", [NER], elmo="english-base", seeds=1, changes=("epochs=3",))
    assert base.settings() == elmo.settings()
    assert base.settings().recipe.epochs == 3
    assert base.settings().recipe.seed == 0


def test_a_base_model_may_have_better_settings_of_its_own() -> None:
    own = replace(NER, base_changes=("model.dropout=0.4", "min_count=20", "epochs=50"))
    base, elmo = jobs_of("main", [own], elmo="english-base", seeds=1)
    assert elmo.settings() == jobs_of("main", [NER], elmo="english-base", seeds=1)[1].settings()
    assert base.settings().inputs.min_count == 20
    assert base.settings().recipe.epochs == 50
    # What is asked for holds above it, and small shares are longer by as much.
    asked = jobs_of("main", [own], elmo="english-base", seeds=1, changes=("min_count=3",))
    assert {job.settings().inputs.min_count for job in asked} == {3}
    least = jobs_of("samples", [own], elmo="english-base", seeds=1)[0]
    assert (least.variant, least.share) == ("base", 0.01)
    assert least.settings().recipe.epochs == 250
    layers = jobs_of("layers", [own], elmo="english-base", seeds=1)
    assert {job.settings().recipe.epochs for job in layers} == {25}


def test_the_study_of_layers_has_elmo_everywhere() -> None:
    jobs = jobs_of("layers", [SST], elmo="english-base", seeds=1, changes=("epochs=3",))
    assert [job.variant for job in jobs] == list(LAYER_VARIANTS)
    assert {job.elmo for job in jobs} == {"english-base"}
    inputs = {job.variant: job.settings().inputs for job in jobs}
    assert inputs["all layers, l2 1"].elmo_l2 == 1.0
    assert inputs["all layers, l2 0.001"].elmo_l2 == 0.001
    assert inputs["top layer"].elmo_layers == (-1,)
    assert inputs["at the input"].elmo_at == "input"
    assert inputs["at the output"].elmo_at == "output"
    assert inputs["at both"].elmo_at == "both"
    assert {job.settings().recipe.epochs for job in jobs} == {3}


def test_the_study_of_samples_has_both_variants_at_every_share() -> None:
    jobs = jobs_of("samples", [NER], elmo="english-base", seeds=1)
    found = [(job.variant, job.share) for job in jobs]
    assert found == [(v, share) for share in (*SHARES, 1.0) for v in ("base", "elmo")]
    assert min(SHARES) == 0.01


def test_small_shares_make_as_many_steps_as_a_twentieth_does() -> None:
    jobs = jobs_of(
        "samples", [NER], elmo="english-base", seeds=1, changes=("epochs=8", "warm_up=2")
    )
    recipes = {job.share: job.settings().recipe for job in jobs}
    patience = recipes[1.0].patience
    assert patience is not None
    least = recipes[0.01]
    assert (least.epochs, least.warm_up, least.patience) == (40, 10.0, 5 * patience)
    assert all(recipes[share] == recipes[1.0] for share in SHARES if share >= 0.05)
    (endless, *_) = jobs_of("samples", [NER], elmo="e", seeds=1, changes=("patience=null",))
    assert endless.settings().recipe.patience is None


def test_the_tuned_study_has_a_bilm_of_its_own_for_each_data_set() -> None:
    jobs = jobs_of("tuned", [NER, SST], elmo="english-base", seeds=1)
    assert [(job.data.task, job.variant, job.is_tuned) for job in jobs] == [
        (task, variant, variant == "elmo, tuned")
        for task in ("ner", "sst")
        for variant in ("base", "elmo", "elmo, tuned")
    ]
    assert {job.settings() for job in jobs if job.data is NER} == {jobs[0].settings()}
    assert [job.bilm for job in jobs[3:]] == ["", "english-base", "english-base tuned on sst/Trees"]
    main = jobs_of("main", [NER], elmo="english-base", seeds=1)
    assert jobs[:2] == main
    tuned = jobs[2]
    assert not tuned.is_done_by(record_of(main[1]))
    assert tuned.is_done_by(record_of(main[1], elmo="english-base tuned on ner/Small set"))
    assert tuned.folder != main[1].folder
    # Of another biLM another one is made.
    other = jobs_of("tuned", [NER], elmo="tiny-untrained", seeds=2)
    assert other[2].tuned_folder == other[5].tuned_folder != tuned.tuned_folder


def test_names_are_unique() -> None:
    jobs = [
        job
        for study in ("layers", "samples")
        for job in jobs_of(study, DATA_SETS, elmo="e", seeds=2)
    ]
    assert len({job.key for job in jobs}) == len(jobs)
    folders = {job.folder for job in jobs}
    assert len(folders) == len(jobs)
    assert not any(mark in folder for folder in folders for mark in "/\\ ")


def test_all_of_the_data_is_one_run_for_two_studies() -> None:
    main = jobs_of("main", [NER], elmo="english-base", seeds=1)
    samples = jobs_of("samples", [NER], elmo="english-base", seeds=1)
    assert samples[-2:] == main
    assert all(new.is_done_by(record_of(old)) for old, new in zip(main, samples[-2:], strict=True))


@pytest.mark.parametrize("data", data_sets([]), ids=lambda data: data.task)
def test_a_job_knows_its_record(data: DataSet) -> None:
    base, elmo = jobs_of("main", [data], elmo="english-base", seeds=1)
    assert base.is_done_by(record_of(base))
    assert elmo.is_done_by(record_of(elmo))
    assert not base.is_done_by(record_of(elmo))


def test_what_makes_another_run() -> None:
    (_, job) = jobs_of("main", [NER], elmo="english-base", seeds=1)
    changed = [
        jobs_of("main", [NER], elmo="english-base", seeds=1, changes=("epochs=3",))[1],
        jobs_of("main", [NER], elmo="tiny-untrained", seeds=1)[1],
        jobs_of("main", [NER], elmo="english-base", seeds=2)[3],
        jobs_of("samples", [NER], elmo="english-base", seeds=1)[1],
        jobs_of("main", [SST], elmo="english-base", seeds=1)[1],
    ]
    for other in changed:
        assert not other.is_done_by(record_of(job))
        assert not job.is_done_by(record_of(other))
        assert other.folder != job.folder
    # Said in other words it is the same run.
    same = jobs_of("main", [NER], elmo="english-base", seeds=1, changes=("epochs=25",))[1]
    assert job.settings().recipe.epochs == 25
    assert same.is_done_by(record_of(job))
    assert same.folder == job.folder


def test_a_record_from_before_a_setting_was_there_still_counts() -> None:
    (_, job) = jobs_of("main", [NER], elmo="english-base", seeds=1)
    (_, other) = jobs_of("main", [NER], elmo="english-base", seeds=1, changes=("capitals=0.1",))
    record = record_of(job)
    del record["settings"]["inputs"]["capitals"]
    assert job.is_done_by(record)
    assert not other.is_done_by(record)


def test_a_bilm_in_a_folder_is_known_by_its_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run" / "model").mkdir(parents=True)
    (tmp_path / "other" / "model").mkdir(parents=True)
    path = tmp_path / "run" / "model"
    (_, whole) = jobs_of("main", [NER], elmo=str(path), seeds=1)
    record = record_of(whole)
    monkeypatch.chdir(tmp_path / "run")
    (_, short) = jobs_of("main", [NER], elmo="model", seeds=1)
    assert short.is_done_by(record)
    assert short.folder == whole.folder
    monkeypatch.chdir(tmp_path / "other")
    assert not short.is_done_by(record)


def test_a_wrong_change_names_the_key() -> None:
    (job, _) = jobs_of("main", [NER], elmo="e", seeds=1, changes=("epoch=3",))
    with pytest.raises(InputError, match="unknown key 'epoch'"):
        job.settings()


@pytest.mark.parametrize("name", ["pos", "ner/WNUT-18", "all"])
def test_an_unknown_data_set_is_named(name: str) -> None:
    with pytest.raises(InputError, match=rf"ner/WNUT-17.*found '{name}'"):
        data_sets([name, "sst"])


def test_files_lie_below_the_folder() -> None:
    (coref,) = data_sets(["coref"])
    files = coref.files(Path("/data"))
    assert files.train == (Path("/data/coref/ontogum.jsonl.xz#train"),)
    assert files.dev == Path("/data/coref/ontogum.jsonl.xz#dev")
    assert files.test[0].name == "ontogum.jsonl.xz#test"
