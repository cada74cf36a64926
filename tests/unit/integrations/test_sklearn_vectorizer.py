"""ElmoVectorizer is at home in scikit-learn: its checks, pipelines, searches and pickles."""

import importlib
import pickle
import runpy
import shutil
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_array

from elmokit.embed.elmo import Elmo
from elmokit.embed.load import load
from elmokit.errors import InputError, MissingExtraError
from elmokit.integrations import loaded_models
from elmokit.integrations.loaded_models import loaded_model
from elmokit.integrations.sklearn import ElmoVectorizer
from unit.integrations.guest_models import save_model

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"

TEXTS = ["She sat on the bank of the river.", "", "He took the money to the bank.", "고양이"]
TINY = "tiny-untrained"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("guest") / "model"
    save_model(place)
    return place


@pytest.fixture(scope="module")
def elmo(folder: Path) -> Elmo:
    return loaded_model(folder).elmo


def assert_near(found: Any, expected: Any) -> None:
    # Vectors may differ in their last digits with what shares a batch.
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


class OnNumbers(ElmoVectorizer):
    """Reads the numbers of scikit-learn's checks as words, so that the checks can run at all.

    Of itself `check_estimator` asks an estimator of strings no more than whether it can be cloned.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = False
        tags.input_tags.two_d_array = True
        return tags

    def fit(self, X: Any, y: Any = None) -> "OnNumbers":  # noqa: N803
        super().fit(_words(X), y)
        return self

    def transform(self, X: Any) -> Any:  # noqa: N803
        return super().transform(_words(X))


def _words(numbers: Any) -> list[list[str]]:
    return [[f"{number:.1f}" for number in row] for row in check_array(numbers)]


NO_COLUMNS = "a sentence has no columns, so there is no number of them to remember and to hold to"
DO_NOT_APPLY = {
    "check_n_features_in": NO_COLUMNS,
    "check_n_features_in_after_fitting": NO_COLUMNS,
    "check_transformer_general": NO_COLUMNS,
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_what_scikit_learn_asks_of_estimators() -> None:
    check_estimator(ElmoVectorizer(TINY))
    results = check_estimator(OnNumbers(TINY), on_fail=None, on_skip=None)
    failed = {result["check_name"] for result in results if result["status"] == "failed"}
    assert failed == DO_NOT_APPLY.keys(), [result["exception"] for result in results]
    assert sum(result["status"] == "passed" for result in results) >= 35


def test_rows_are_those_of_encode(folder: Path, elmo: Elmo) -> None:
    choices: list[tuple[Any, Any]] = [("average", "mean"), (0, "max"), ([0.2, -0.3, 1.5], "mean")]
    for layers, pooling in choices:
        vectorizer = ElmoVectorizer(folder, layers=layers, pooling=pooling)
        rows = vectorizer.fit_transform(TEXTS)
        expected = elmo.encode(TEXTS, layers=layers, pooling=pooling)
        assert (rows.shape, rows.dtype) == ((len(TEXTS), elmo.dim), np.float32)
        assert_near(rows, expected)
    assert not rows[1].any()


def test_many_kinds_of_collections_are_read(folder: Path) -> None:
    vectorizer = ElmoVectorizer(folder).fit(TEXTS)
    expected = vectorizer.transform(TEXTS)
    pandas = pytest.importorskip("pandas")
    tokens = [loaded_model(folder).elmo.tokeniser.words(text) for text in TEXTS]
    for same in (
        tuple(TEXTS),
        np.array(TEXTS),
        np.array(TEXTS, dtype=object),
        pandas.Series(TEXTS),
        iter(TEXTS),
        tokens,
    ):
        assert_near(vectorizer.transform(same), expected)
    assert vectorizer.transform([]).shape == (0, vectorizer.dim_)


def test_columns_have_names_and_frames_come_out(folder: Path) -> None:
    pandas = pytest.importorskip("pandas")
    series = pandas.Series(TEXTS, index=["a", "b", "c", "d"])
    vectorizer = ElmoVectorizer(folder).fit(series)
    names = vectorizer.get_feature_names_out()
    assert list(names[:2]) == ["elmovectorizer0", "elmovectorizer1"]
    assert len(names) == vectorizer.dim_
    frame = vectorizer.set_output(transform="pandas").transform(series)
    assert list(frame.columns) == list(names)
    assert list(frame.index) == ["a", "b", "c", "d"]
    table = pandas.DataFrame({"text": TEXTS, "number": [1.0, 2, 3, 4]})
    both = ColumnTransformer(
        [("text", ElmoVectorizer(folder), "text"), ("n", "passthrough", ["number"])]
    )
    assert_near(both.fit_transform(table)[:, :-1], frame)


def test_tags_say_strings() -> None:
    tags = ElmoVectorizer().__sklearn_tags__()
    assert tags.input_tags.string
    assert not tags.input_tags.two_d_array


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"pooling": "min"}, "pooling: expected 'mean' or 'max', found 'min'"),
        ({"layers": "all"}, "layers: expected one vector per token to pool, found 'all'"),
        ({"layers": 3}, "layers: this model has layers 0 to 2, found 3"),
        ({"start": "carry"}, "start: expected 'warm' or 'zeros'.* found 'carry'"),
        ({"batch_tokens": 0}, "batch_tokens: .*found 0"),
        ({"model": "no-such-model"}, "no bundled model is called 'no-such-model'"),
        ({"model": 7}, "model: expected a name or a folder, found 7"),
    ],
)
def test_wrong_settings_are_named(folder: Path, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ElmoVectorizer(**{"model": folder, **settings}).fit(TEXTS)


def test_a_loaded_model_is_refused(elmo: Elmo) -> None:
    with pytest.raises(InputError, match=r"found Elmo\('guest'.*elmo.save\(folder\)"):
        ElmoVectorizer(elmo).fit(TEXTS)  # type: ignore[arg-type]


def test_wrong_sentences_are_named(folder: Path) -> None:
    pandas = pytest.importorskip("pandas")
    vectorizer = ElmoVectorizer(folder).fit(TEXTS)
    for call in (vectorizer.fit, vectorizer.transform):
        with pytest.raises(InputError, match="found one string 'a text'"):
            call("a text")
        with pytest.raises(InputError, match=r"X: expected one column .* shape \(2, 1\)"):
            call(pandas.DataFrame({"text": TEXTS[:2]}))
    with pytest.raises(InputError, match=r"sentence 1: expected a string .* found nan"):
        vectorizer.transform(pandas.Series(["fine", float("nan")]))
    with pytest.raises(NotFittedError):
        ElmoVectorizer(folder).transform(TEXTS)


def test_a_pickle_names_the_model_and_holds_no_weights(tmp_path: Path) -> None:
    elmo = save_model(tmp_path / "model")
    weights = (tmp_path / "model" / "model.safetensors").stat().st_size
    vectorizer = ElmoVectorizer(tmp_path / "model").fit(TEXTS)
    expected = vectorizer.transform(TEXTS)
    stored = pickle.dumps(vectorizer)
    assert len(stored) < 1_000 < weights
    loaded_models._loaded.clear()  # as in another process
    assert_near(pickle.loads(stored).transform(TEXTS), expected)

    moved = pickle.loads(stored)
    shutil.move(tmp_path / "model", tmp_path / "elsewhere")
    with pytest.raises(Exception, match="model"):
        moved.transform(TEXTS)
    moved.set_params(model=tmp_path / "elsewhere")
    assert_near(moved.transform(TEXTS), expected)

    save_model(tmp_path / "elsewhere", seed=1)
    with pytest.raises(InputError, match=r"model: '.*elsewhere' has other weights \(digest"):
        moved.transform(TEXTS)
    assert elmo.dim == moved.fit(TEXTS).transform(TEXTS).shape[1]


def test_clones_share_one_model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded_models._loaded.clear()
    calls = []

    def counted(*arguments: Any, **settings: Any) -> Elmo:
        calls.append(arguments)
        return load(*arguments, **settings)

    monkeypatch.setattr(loaded_models, "load", counted)
    first = ElmoVectorizer(folder, layers=[0.5, 0.5, 0]).fit(TEXTS)
    second = clone(first)
    assert second.get_params() == first.get_params()
    assert not hasattr(second, "dim_")
    second.fit(TEXTS).transform(TEXTS)
    assert len(calls) == 1


def test_few_models_are_kept(tmp_path: Path) -> None:
    for seed in range(loaded_models.MOST_MODELS + 1):
        save_model(tmp_path / str(seed), seed=seed)
        loaded_model(tmp_path / str(seed))
    assert len(loaded_models._loaded) == loaded_models.MOST_MODELS


def test_threads_take_turns(folder: Path) -> None:
    vectorizer = ElmoVectorizer(folder).fit(TEXTS)
    texts = [[f"{text} {number}" for text in TEXTS] for number in range(8)]
    expected = [vectorizer.transform(some) for some in texts]
    found: dict[int, Any] = {}

    def work(place: int) -> None:
        found[place] = clone(vectorizer).fit([]).transform(texts[place])

    threads = [threading.Thread(target=work, args=(place,)) for place in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for place, rows in enumerate(expected):
        assert_near(found[place], rows)


# Which of two kinds of word a sentence holds is told by characters alone, so that a model without
# training serves.
ABOUT = [f"{word} {number}" for number in range(8) for word in ("aaaa aab aba", "zzzz zzy zyz")]
LABELS = [0, 1] * 8


def test_in_a_search_over_a_pipeline_with_two_processes(folder: Path) -> None:
    pipeline = make_pipeline(ElmoVectorizer(folder, device="cpu"), LogisticRegression(C=100))
    search = GridSearchCV(
        pipeline,
        {"elmovectorizer__layers": [0, "top"], "elmovectorizer__pooling": ["mean", "max"]},
        cv=2,
        n_jobs=2,
        error_score="raise",
    )
    search.fit(ABOUT, LABELS)
    assert len(search.cv_results_["params"]) == 4
    assert search.best_score_ == 1.0
    assert list(search.predict(["aab aaaa", "zyz zzzz"])) == [0, 1]
    again = pickle.loads(pickle.dumps(search))
    assert_near(again.predict_proba(ABOUT), search.predict_proba(ABOUT))


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    monkeypatch.delitem(sys.modules, "elmokit.integrations.sklearn")
    with pytest.raises(MissingExtraError, match=r"pip install \"elmokit\[sklearn\]\""):
        importlib.import_module("elmokit.integrations.sklearn")


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "sklearn_bank.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "river  Ducks slept on the bank beside the water ." in printed
    assert "money  The bank lent her the money for a house ." in printed
