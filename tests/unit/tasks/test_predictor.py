import json
from pathlib import Path
from typing import Any

import pytest

import elmokit.tasks
from elmokit.errors import FormatError, InputError
from elmokit.pretrained import bundled_task_folder
from elmokit.tasks.predictor import Predictor
from small_tasks import INPUTS_TO_ASK
from task_runs import TINY, run_small


def trained(task: str, folder: Path, *changes: str, elmo: str | None = None) -> Predictor:
    outcome = run_small(task, folder, "epochs=25", *changes, elmo=elmo)
    assert outcome.model is not None
    return elmokit.tasks.load(outcome.model, device="cpu")


@pytest.fixture(scope="module")
def ner(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    return trained("ner", tmp_path_factory.mktemp("ner"), elmo=TINY)


@pytest.fixture(scope="module")
def srl(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    return trained("srl", tmp_path_factory.mktemp("srl"))


@pytest.mark.parametrize("alone", ["Ada went home", {"tokens": ["Ada"]}, 3, None])
def test_one_input_alone_is_refused(ner: Predictor, alone: Any) -> None:
    with pytest.raises(InputError, match="inputs: expected a list of inputs, found one alone: "):
        ner.predict(alone)


def test_no_inputs_have_no_answers(ner: Predictor, srl: Predictor) -> None:
    assert ner.predict([]) == srl.predict([]) == []
    assert ner.predict(iter(())) == []


def test_texts_and_tokens_are_answered_alike(ner: Predictor) -> None:
    text = "Ada went to New Rome today"
    [from_text, from_tokens] = ner.predict([text, text.split()])
    assert from_text == from_tokens
    found = {entity["text"]: entity["label"] for entity in from_text["entities"]}
    assert found == {"Ada": "PER", "New Rome": "LOC"}
    assert ner.shown(from_text) == "[PER Ada] went to [LOC New Rome] today"


def test_answers_come_in_order_and_do_not_depend_on_each_other(ner: Predictor) -> None:
    asked = ["Eve went", "Bob went to New Oslo today", "today", "Dan Dan Dan Dan to Lima ."] * 2
    together = ner.predict(asked)
    assert [" ".join(answer["tokens"]) for answer in together] == asked
    assert together == [ner.predict([one])[0] for one in asked]
    assert together == ner.predict(one for one in asked)


@pytest.mark.parametrize("asked", ["", "  ", [], [""], [1]])
def test_an_input_without_words_is_named(ner: Predictor, asked: object) -> None:
    with pytest.raises(InputError, match=r"sentence: expected .*, found "):
        ner.predict(["Ada went", asked])


def test_a_text_may_ask_for_several_answers(srl: Predictor) -> None:
    asked = ["Ada *gave* Dan a pen *today*", "Eve *gave* Dan a hat", "Nothing here", "Bob gave Dan"]
    answers = srl.predict(asked)
    assert [[one["predicate"] for one in answer] for answer in answers] == [
        ["gave", "today"],
        ["gave"],
        [],
        ["gave"],  # known from the training data
    ]
    assert [[one["tokens"][0] for one in answer] for answer in answers] == [
        ["Ada", "Ada"],
        ["Eve"],
        [],
        ["Bob"],
    ]
    assert answers == [srl.predict([one])[0] for one in asked]
    assert srl.shown(answers[0]).count("\n") == 1
    assert srl.shown(answers[1]) == "gave: [ARG0 Eve] [V gave] [ARG2 Dan] [ARG1 a hat]"
    assert srl.shown(answers[2]) == ""


def test_questions_with_no_answer_at_all(srl: Predictor) -> None:
    assert srl.predict(["Nothing here", "Nor there"]) == [[], []]


def test_a_file_is_evaluated_as_at_the_end_of_training(tmp_path: Path) -> None:
    outcome = run_small("snli", tmp_path, "epochs=2")
    assert outcome.model is not None
    predictor = elmokit.tasks.load(str(outcome.model), device="cpu")
    figures = predictor.evaluate(str(tmp_path / "data.jsonl"))
    assert figures == outcome.result["figures"]["data.jsonl"]
    assert predictor.evaluate(tmp_path / "data.jsonl") == figures
    assert predictor.trained.figures == outcome.result["figures"]


def test_a_file_that_does_not_fit_the_model(tmp_path: Path) -> None:
    predictor = trained("snli", tmp_path, "epochs=1")
    record = {"premise": "A cat sleeps", "hypothesis": "A cat", "label": "perhaps"}
    (tmp_path / "other.jsonl").write_text(json.dumps(record) + "\n")
    with pytest.raises(FormatError, match=r"other\.jsonl: example 1 has a label .*'perhaps'"):
        predictor.evaluate(tmp_path / "other.jsonl")


def test_one_at_a_time_where_training_was_so(tmp_path: Path) -> None:
    predictor = trained("coref", tmp_path, "epochs=1", "batch_size=1", elmo=TINY)
    asked = [INPUTS_TO_ASK["coref"], "Eve saw snow."]
    assert predictor.predict(asked) == [predictor.predict([one])[0] for one in asked]


def test_layers_are_not_kept_after_the_answers(ner: Predictor) -> None:
    ner.predict(["Ada went"])
    assert ner.trained.network.store is None
    with pytest.raises(InputError):
        ner.predict([""])
    assert ner.trained.network.store is None


def test_weights_of_layers(ner: Predictor, srl: Predictor) -> None:
    [weights] = ner.mix_weights().values()
    assert list(ner.mix_weights()) == ["input"]
    assert sum(weights[:3]) == pytest.approx(1)
    assert srl.mix_weights() == {}


def test_it_says_what_it_is(ner: Predictor, srl: Predictor) -> None:
    assert repr(ner) == "Predictor('ner', tiny-untrained, device='cpu')"
    assert repr(srl) == "Predictor('srl', no ELMo, device='cpu')"


def test_the_package_has_two_names_and_no_others() -> None:
    assert elmokit.tasks.Predictor is Predictor
    with pytest.raises(AttributeError, match=r"module 'elmokit\.tasks' has no attribute 'train'"):
        elmokit.tasks.train  # noqa: B018


def test_forms_of_long_ago_are_forgotten(ner: Predictor, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ["Ada went to New Rome today"]
    first = ner.predict(asked)
    monkeypatch.setattr("elmokit.tasks.predictor.MOST_FORMS", 50)
    for number in range(20):
        ner.predict([" ".join(f"word{number}x{other}" for other in range(10))])
        assert len(ner.trained.network.lexicon) <= 50 + 10
    assert ner.predict(asked) == first


def test_the_model_in_the_box_finds_names() -> None:
    predictor = elmokit.tasks.load("ner", device="cpu")
    texts = [
        "Barack Obama visited Seoul .",
        ["He", "moved", "to", "New", "York", "."],
        "so it is",
    ]
    found = [
        [(entity["label"], entity["text"]) for entity in answer["entities"]]
        for answer in predictor.predict(texts)
    ]
    assert found == [[("PER", "Barack Obama"), ("LOC", "Seoul")], [("LOC", "New York")], []]


def test_the_model_in_the_box_is_small_and_says_its_licence() -> None:
    folder = bundled_task_folder("ner")
    assert folder is not None
    assert sum(file.stat().st_size for file in folder.iterdir()) < 15e6
    assert "CC BY-SA 4.0" in (folder / "README.md").read_text(encoding="utf-8")
    assert bundled_task_folder("sst") is None


def test_a_folder_of_that_name_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ner").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FormatError, match=r"is no task model.*in the box is one for ner"):
        elmokit.tasks.load("ner")
