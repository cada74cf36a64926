"""A run of a task from files to a folder: what is used, what is reported, what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from elmokit.errors import FormatError, InputError
from elmokit.tasks import load
from elmokit.tasks.names import TASK_NAMES, task_named
from elmokit.tasks.network import Batch, TaskNetwork
from elmokit.tasks.run import RESULT_FILE, Prepared, TaskFiles, prepare
from elmokit.tasks.task import Task, Tokens
from elmokit.training.journal import LiveLine
from small_tasks import RECORDS, write_records
from task_runs import CPU, TINY, data_of, run_small, settings_of, tiny_elmo


def prepared(task: str, folder: Path, *changes: str, share: float = 1.0, **more: Any) -> Prepared:
    data = more.pop("data", None) or data_of(task, folder)
    return prepare(
        task_named(task),
        settings_of(task, *changes),
        TaskFiles(train=(data,), dev=data),
        more.pop("elmo", None),
        None,
        share,
        None,
        CPU,
        LiveLine(quiet=True),
    )


@pytest.mark.parametrize("share", [0, -0.5, 1.01, float("nan")])
def test_a_share_is_above_nothing_and_up_to_everything(tmp_path: Path, share: float) -> None:
    with pytest.raises(InputError, match="share: expected a number above 0, up to 1, found"):
        run_small("ner", tmp_path, share=share)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("share", "count"), [(0.5, 10), (0.25, 5), (1e-9, 1), (1.0, 20)])
def test_a_share_of_the_texts_is_used(tmp_path: Path, share: float, count: int) -> None:
    whole = prepared("ner", tmp_path).train
    some = prepared("ner", tmp_path, share=share).train
    assert len(some) == count
    assert [example for example in whole if example in some] == some  # their order stays


def test_the_seed_chooses_the_texts(tmp_path: Path) -> None:
    chosen = [prepared("ner", tmp_path, f"seed={s}", share=0.5).train for s in (1, 1, 2)]
    assert chosen[0] == chosen[1] != chosen[2]


def test_all_frames_of_a_sentence_are_used_or_none(tmp_path: Path) -> None:
    records = [
        record
        | {
            "frames": [
                {"pred": place, "spans": [["V", place, place], ["A", 2, 2]]} for place in (0, 1, 4)
            ]
        }
        for record in RECORDS["srl"][:8]
    ]
    data = write_records(tmp_path / "frames.jsonl", records)
    for seed in range(4):
        examples = prepared("srl", tmp_path, f"seed={seed}", share=0.5, data=data).train
        assert len(examples) == 4 * 3
        assert len({example.tokens for example in examples}) == 4


def test_labels_are_those_of_all_data(tmp_path: Path) -> None:
    # A share may lack a class that the dev data have.
    found = prepared("sst", tmp_path, share=1e-9)
    assert len(found.train) == 1
    assert found.trained.labels == {"classes": ["0", "2", "4"]}


def test_a_result_says_everything(tmp_path: Path) -> None:
    outcome = run_small("ner", tmp_path, "seed=3", elmo=TINY, share=0.5)
    result = outcome.result
    assert outcome.ending == "finished"
    assert outcome.step == outcome.steps == 3 * 2
    assert json.loads((tmp_path / "run" / RESULT_FILE).read_text()) == json.loads(
        json.dumps(result)
    )
    facts = ("task", "metric", "elmo", "seed", "share", "train_examples", "epochs")
    assert [result[name] for name in facts] == ["ner", "f1", TINY, 3, 0.5, 10, 3]
    assert len(result["history"]) == 3
    assert result["history"][result["best_epoch"] - 1] == max(result["history"])
    assert result["figures"]["data.jsonl"]["f1"] == pytest.approx(max(result["history"]), abs=1e-6)
    assert list(result["mix_weights"]) == ["input"]
    assert result["embedded_tokens"] == 20 * 6
    assert result["embedding_seconds"] > 0
    assert result["training_seconds"] > 0
    assert result["settings"] == settings_of("ner", "seed=3").to_dict()


@pytest.mark.parametrize("task", TASK_NAMES)
def test_a_share_of_the_examples_is_read_in_capitals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    made: list[tuple[list[list[Tokens]], Batch]] = []
    make = TaskNetwork.batch
    stores = set()

    def noted(network: TaskNetwork, task: Task[Any], examples: Any, *rest: Any, **how: Any) -> Any:
        batch = make(network, task, examples, *rest, **how)
        plain = make(network, task, examples, *rest)
        assert all(torch.equal(plain.targets[name], t) for name, t in batch.targets.items())
        made.append((task.texts(examples), batch))
        stores.add(network.store)
        return batch

    monkeypatch.setattr(TaskNetwork, "batch", noted)
    run_small(task, tmp_path, "capitals=0.3", "epochs=6", elmo=TINY)
    (store,) = stores
    assert store is not None
    written = [
        (original, text, layers)
        for roles, batch in made
        for role, texts in zip(roles, batch.texts, strict=True)
        for original, text, layers in zip(role, texts.tokens, texts.layers, strict=True)
    ]
    in_capitals = [tuple(token.upper() for token in original) for original, _, _ in written]
    for (original, text, layers), large in zip(written, in_capitals, strict=True):
        assert text in (original, large)
        assert layers[0] == store.place(text)
    share = sum(t == c != o for (o, t, _), c in zip(written, in_capitals, strict=True))
    # The dev data, as many again, are read as they are written.
    assert 0.05 < share / len(written) < 0.3


def test_layers_are_kept_in_a_cache(tmp_path: Path) -> None:
    for number in (1, 2):
        run_small("ner", tmp_path / str(number), "epochs=1", elmo=TINY, cache=tmp_path / "cache")
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_every_file_is_reported_on(tmp_path: Path) -> None:
    train, dev, test = (data_of("ner", tmp_path, f"{name}.jsonl") for name in ("a", "b", "c"))
    other = data_of("ner", tmp_path / "other", "c.jsonl")
    files = TaskFiles(train=(train, train), dev=dev, test=(test, other))
    result = run_small("ner", tmp_path, "epochs=1", files=files).result
    assert list(result["figures"]) == ["b.jsonl", str(test), str(other)]
    assert result["train_examples"] == 40


def test_a_finished_run_is_not_trained_again(tmp_path: Path) -> None:
    first = run_small("ner", tmp_path)
    log = (tmp_path / "run" / "log.jsonl").read_text()
    again = run_small("ner", tmp_path)
    assert (tmp_path / "run" / "log.jsonl").read_text() == log
    assert again.result["figures"] == first.result["figures"]
    assert again.step == first.step


def test_data_that_do_not_fit_the_labels_are_named_before_training(tmp_path: Path) -> None:
    data = data_of("sst", tmp_path)
    odd = write_records(tmp_path / "odd.jsonl", [{"tokens": ["a"], "label": "7"}])
    with pytest.raises(FormatError, match=r"odd\.jsonl: example 1 has a label"):
        run_small("sst", tmp_path, files=TaskFiles(train=(data,), dev=data, test=(odd,)))
    assert not (tmp_path / "run").exists()


def test_words_that_no_list_can_hold_do_not_harm_a_model(tmp_path: Path) -> None:
    records = [record | {"tokens": ["\n", *record["tokens"][1:]]} for record in RECORDS["ner"][:10]]
    data = write_records(tmp_path / "odd.jsonl", records)
    outcome = run_small("ner", tmp_path, "epochs=1", files=TaskFiles(train=(data,), dev=data))
    assert outcome.model is not None
    figures = load(outcome.model, device="cpu").evaluate(data)
    assert figures == outcome.result["figures"]["odd.jsonl"]


def test_the_card_says_what_the_model_is(tmp_path: Path) -> None:
    outcome = run_small("ner", tmp_path, "elmo_at=both", elmo=TINY)
    assert outcome.model is not None
    card = (outcome.model / "README.md").read_text()
    figures = outcome.result["figures"]["data.jsonl"]
    assert card.startswith("# A model for NER\n")
    assert "on data.jsonl (20 examples), 3 epochs" in card
    assert "chosen by data.jsonl; seed 0. With ELMo: tiny-untrained." in card
    assert "| data | precision | recall | f1 |\n| --- | --- | --- | --- |\n" in card
    cells = " | ".join(f"{figures[name]:.2f}" for name in ("precision", "recall", "f1"))
    assert f"| data.jsonl | {cells} |\n" in card
    for place in ("input", "output"):
        weights = outcome.result["mix_weights"][place]
        assert f"- at the {place}: " + ", ".join(f"{w:.3f}" for w in weights) in card
    assert 'elmokit.tasks.load("this-folder")' in card


def test_the_card_of_a_model_without_elmo(tmp_path: Path) -> None:
    outcome = run_small("ner", tmp_path, "epochs=1")
    assert outcome.model is not None
    card = (outcome.model / "README.md").read_text()
    assert "Without ELMo." in card
    assert "layers" not in card


def test_a_bilm_in_a_folder_is_found_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_elmo().save(tmp_path / "bilm")
    monkeypatch.chdir(tmp_path)
    outcome = run_small("ner", tmp_path, "epochs=1", elmo="bilm")
    assert outcome.result["elmo"] == str(tmp_path / "bilm")
    assert outcome.model is not None
    monkeypatch.chdir("/")
    assert load(outcome.model, device="cpu").trained.elmo is not None
