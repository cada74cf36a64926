import dataclasses
import json

import pytest

from elmokit.errors import InputError
from elmokit.tasks.names import TASK_NAMES, task_named
from elmokit.tasks.settings import InputSettings, Recipe, TaskSettings


@pytest.mark.parametrize("name", TASK_NAMES)
def test_defaults_survive_json(name: str) -> None:
    defaults = task_named(name).defaults()
    plain = json.loads(json.dumps(defaults.to_dict()))
    assert defaults.from_dict(plain) == defaults
    assert type(defaults.from_dict(plain).model) is type(defaults.model)


def test_changes_reach_the_part_that_has_the_key() -> None:
    changed = task_named("ner").defaults().changed(
        ["epochs=5", "elmo_at=both", "hidden_dim=7", "character_filters=[[2, 3]]", "clip=null",
         "elmo_weights=[1, 2, 3]", "train_elmo=true", "elmo_layers=[]", "learning_rate=1"]
    )  # fmt: skip
    assert changed.recipe.epochs == 5
    assert changed.recipe.clip is None
    assert changed.recipe.learning_rate == 1.0
    assert isinstance(changed.recipe.learning_rate, float)
    assert changed.inputs.elmo_at == "both"
    assert changed.inputs.character_filters == ((2, 3),)
    assert changed.inputs.elmo_weights == (1.0, 2.0, 3.0)
    assert changed.inputs.train_elmo is True
    assert dataclasses.asdict(changed.model)["hidden_dim"] == 7


def test_what_is_not_named_stays_as_it_was() -> None:
    defaults = task_named("srl").defaults()
    changed = defaults.changed(["model.dropout=0.25"])
    assert changed.recipe == defaults.recipe
    assert changed.inputs == defaults.inputs
    assert dataclasses.replace(defaults.model, dropout=0.25) == changed.model  # type: ignore[call-arg]
    assert defaults.changed([]) == defaults


def test_the_last_of_two_changes_counts() -> None:
    assert task_named("ner").defaults().changed(["seed=1", "recipe.seed=2"]).recipe.seed == 2


def test_a_value_may_hold_an_equals_sign() -> None:
    with pytest.raises(InputError, match="found 'a=b'"):
        task_named("ner").defaults().changed(["elmo_at=a=b"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("epochs", "set: expected key=value, found 'epochs'"),
        ("epoch=3", "set: unknown key 'epoch'; known keys are .*decay, dropout, elmo_at, .*epochs"),
        ("model.epochs=3", "set: unknown key 'model.epochs'"),
        ("=3", "set: unknown key ''"),
        ("dropout=0.1", "'dropout' is ambiguous; write inputs.dropout or model.dropout"),
    ],
)
def test_keys_that_name_nothing_or_two_things(change: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        task_named("ner").defaults().changed([change])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("epochs=many", "settings.recipe.epochs: expected int, found 'many'"),
        ("epochs=2.5", "settings.recipe.epochs: expected int, found 2.5"),
        ("epochs=true", "settings.recipe.epochs: expected int, found True"),
        ("epochs=null", "settings.recipe.epochs: expected int, found None"),
        ("learning_rate=fast", "settings.recipe.learning_rate: expected float, found 'fast'"),
        ("decay=step", r"settings.recipe.decay: expected one of \['none', .*, found 'step'"),
        ("precision=half", "settings.recipe.precision: expected one of .*, found 'half'"),
        ("vectors=1", "settings.inputs.vectors: expected bool, found 1"),
        ("elmo_at=inside", "settings.inputs.elmo_at: expected one of .*, found 'inside'"),
        ("elmo_layers=1", "settings.inputs.elmo_layers: expected a list, found 1"),
        ("elmo_layers=[1.5]", "settings.inputs.elmo_layers: expected int, found 1.5"),
        ("character_filters=[[3]]", r"character_filters: expected 2 values, found \[3\]"),
    ],
)
def test_values_of_a_wrong_type(change: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        task_named("ner").defaults().changed([change])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("epochs=0", "epochs: expected a number above 0, found 0"),
        ("batch_size=-1", "batch_size: expected a number above 0, found -1"),
        ("learning_rate=0", "learning_rate: expected a number above 0, found 0"),
        ("learning_rate=NaN", "learning_rate: expected a number above 0, found nan"),
        ("learning_rate=Infinity", "learning_rate: expected a number above 0, found inf"),
        ("clip=0", "clip: expected a number above 0, found 0"),
        ("patience=0", "patience: expected a number above 0, found 0"),
        ("warm_up=-1", "warm_up: expected a number 0 or more, found -1"),
        ("seed=-1", "seed: expected a number 0 or more, found -1"),
        ("final_share=2", "final_share: expected a number 0 to 1, found 2"),
        ("beta2=1", "beta2: expected a number 0 up to but not 1, found 1"),
        ("average=1", "average: expected a number 0 up to but not 1, found 1"),
        ("vector_dim=0", "vector_dim: expected a number above 0, found 0"),
        ("min_count=0", "min_count: expected a number above 0, found 0"),
        ("word_dropout=1", "word_dropout: expected a number 0 up to but not 1, found 1"),
        ("capitals=1", "capitals: expected a number 0 up to but not 1, found 1"),
        ("inputs.dropout=-0.1", "dropout: expected a number 0 up to but not 1, found -0.1"),
        ("model.dropout=1", "dropout: expected 0 up to but not 1, found 1"),
        ("elmo_l2=-1", "elmo_l2: expected a number 0 or more, found -1"),
        ("character_filters=[[0, 8]]", r"character_filters: .* widths of 1 to 32 .*\[0, 8\]"),
        ("character_filters=[[33, 8]]", r"character_filters: .* widths of 1 to 32 .*\[33, 8\]"),
        ("character_filters=[[3, 0]]", r"character_filters: .* numbers above 0, .*\[3, 0\]"),
    ],
)
def test_values_that_cannot_be(change: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        task_named("ner").defaults().changed([change])


@pytest.mark.parametrize("values", [[], {}, {"recipe": {}, "inputs": {}}, None])
def test_settings_have_three_parts(values: object) -> None:
    with pytest.raises(InputError, match="settings: expected recipe, inputs and model, found"):
        TaskSettings().from_dict(values)


def test_keys_of_another_task_are_refused() -> None:
    plain = task_named("sst").defaults().to_dict()
    with pytest.raises(InputError, match=r"settings\.model: unknown key 'batch_norm'"):
        task_named("ner").defaults().from_dict(plain)


def test_limits_that_may_be_reached() -> None:
    assert Recipe(final_share=1.0, warm_up=0, average=0.0, patience=None).average == 0.0
    assert InputSettings(elmo_l2=0, word_dropout=0, character_filters=((32, 1),)).elmo_l2 == 0


def test_a_task_is_known_by_name() -> None:
    assert [task_named(name).name for name in TASK_NAMES] == list(TASK_NAMES)
    with pytest.raises(InputError, match=r"task: expected one of ner, sst, .*, found 'pos'"):
        task_named("pos")
