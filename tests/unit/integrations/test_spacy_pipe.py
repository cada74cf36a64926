"""The spaCy pipe `elmo`: what it puts into a Doc, and how it is saved and loaded."""

import importlib
import importlib.metadata
import pickle
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc

import elmokit.integrations.spacy as spacy_guest
from elmokit.embed.elmo import Elmo
from elmokit.errors import FormatError, InputError, MissingExtraError
from elmokit.files import read_json, write_json
from elmokit.integrations.loaded_models import loaded_model
from unit.integrations.guest_models import save_model

TINY = "tiny-untrained"
TEXT = "She didn't sit on the bank of the river."
SPACES = "  Two\n\nlines ,  and\tspaces \n"


def pipeline(**settings: Any) -> Language:
    nlp: Language = spacy.blank("en")
    nlp.add_pipe("elmo", config={"model": TINY, **settings})
    return nlp


@pytest.fixture(scope="module")
def nlp() -> Language:
    return pipeline()


@pytest.fixture(scope="module")
def elmo() -> Elmo:
    return loaded_model(TINY).elmo


def words_of(doc: Doc) -> list[str]:
    return [token.text for token in doc if not token.is_space]


def assert_near(found: Any, expected: Any) -> None:
    # Vectors may differ in their last digits with what shares a batch.
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("layers", ["average", "top", 0, -2, [0.5, -1.0, 2.0]])
def test_the_tensor_is_what_embed_gives(elmo: Elmo, layers: Any) -> None:
    doc = pipeline(layers=layers)(TEXT)
    assert doc.tensor.shape == (len(doc), elmo.dim)
    assert str(doc.tensor.dtype) == "float32"
    assert_near(doc.tensor, elmo.embed([words_of(doc)], layers=layers)[0])


def test_parts_of_a_doc_have_vectors(nlp: Language) -> None:
    doc = nlp(TEXT)
    assert_near(doc[3].vector, doc.tensor[3])
    assert_near(doc[2:5].vector, doc.tensor[2:5].mean(axis=0))
    assert_near(doc.vector, doc.tensor.mean(axis=0))
    parts: list[Any] = [doc, doc[2:5], doc[3]]
    for part in parts:
        assert part.has_vector
        assert part.vector_norm == pytest.approx(float(np.linalg.norm(part.vector)), abs=1e-5)


def test_similarities_are_cosines(nlp: Language) -> None:
    doc, other = nlp(TEXT), nlp("He took the money to the bank.")
    parts: list[Any] = [doc, doc[1:4], doc[6], other, other[2:], other[6]]
    for first in parts:
        for second in parts:
            left, right = first.vector.astype(float), second.vector.astype(float)
            cosine = left @ right / np.linalg.norm(left) / np.linalg.norm(right)
            assert first.similarity(second) == pytest.approx(cosine, abs=1e-5)


def test_vectors_come_from_the_model_where_the_vocabulary_has_some_too() -> None:
    nlp = pipeline()
    nlp.vocab.reset_vectors(width=3)
    vector: Any = np.ones(3, dtype=np.float32)
    nlp.vocab.set_vector("bank", vector)
    doc = nlp("the bank")
    assert_near(doc[1].vector, doc.tensor[1])
    assert doc[0].has_vector
    with pytest.raises(InputError, match=r"similarity: expected two vectors of one size.*64 and 3"):
        doc[1].similarity(nlp.vocab["bank"])


def test_white_space_is_not_read(nlp: Language, elmo: Elmo) -> None:
    doc = nlp(SPACES)
    spaces = [token.i for token in doc if token.is_space]
    words = [token.i for token in doc if not token.is_space]
    assert len(spaces) >= 4
    assert not doc.tensor[spaces].any()
    assert_near(doc.tensor[words], elmo.embed([words_of(doc)])[0])
    assert_near(doc.vector, doc.tensor[words].mean(axis=0))
    assert [token.has_vector for token in doc] == [not token.is_space for token in doc]


@pytest.mark.parametrize("text", ["", " ", "\n\n \t"])
def test_a_doc_without_words(nlp: Language, elmo: Elmo, text: str) -> None:
    doc = nlp(text)
    assert doc.tensor.shape == (len(doc), elmo.dim)
    assert not doc.has_vector
    assert doc.vector.shape == (elmo.dim,)
    assert not doc.vector.any()
    assert doc.similarity(nlp(TEXT)) == 0


def test_batches_give_what_single_docs_give(nlp: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [TEXT, "", SPACES, "bank", *(f"{TEXT} {number}" for number in range(20))]
    expected = [nlp(text) for text in texts]
    monkeypatch.setattr(spacy_guest, "MOST_TOKENS_PER_BATCH", 25)
    for batch_size in (1, 7, 100):
        for found, doc in zip(nlp.pipe(texts, batch_size=batch_size), expected, strict=True):
            assert found.text == doc.text
            assert_near(found.tensor, doc.tensor)


def test_a_stream_is_not_read_far_ahead(nlp: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spacy_guest, "MOST_TOKENS_PER_BATCH", 25)
    taken = []

    def texts() -> Any:
        for number in range(100):
            taken.append(number)
            yield TEXT

    assert next(iter(nlp.pipe(texts(), batch_size=100))).text == TEXT
    assert len(taken) <= 4


@pytest.mark.filterwarnings("ignore:.*W109")
def test_in_several_processes(nlp: Language) -> None:
    texts = [f"{TEXT} {number}" for number in range(6)]
    docs = list(nlp.pipe(texts, n_process=2, batch_size=3))
    for found, expected in zip(docs, nlp.pipe(texts), strict=True):
        assert_near(found.tensor, expected.tensor)
        assert_near(found[2].vector, expected[2].vector)


def test_sentences_are_read_apart_where_their_bounds_are_known(elmo: Elmo) -> None:
    text = "She sat down. He stood."
    whole = pipeline()(text)
    assert_near(whole.tensor, elmo.embed([words_of(whole)])[0])
    for by_sentence in (True, False):
        nlp = pipeline(by_sentence=by_sentence)
        nlp.add_pipe("sentencizer", first=True)
        doc = nlp(text)
        if by_sentence:
            sentences = [[token.text for token in sentence] for sentence in doc.sents]
            assert [len(sentence) for sentence in sentences] == [4, 3]
            assert_near(doc.tensor, np.concatenate(elmo.embed(sentences)))
            assert np.abs(doc.tensor - whole.tensor).max() > 1e-3
        else:
            assert_near(doc.tensor, whole.tensor)


def test_copies_parts_and_pickles_keep_their_vectors(nlp: Language) -> None:
    doc = nlp(TEXT)
    part = doc[2:6].as_doc()
    assert_near(part.vector, doc[2:6].vector)
    for copied in (doc.copy(), pickle.loads(pickle.dumps(doc))):
        assert_near(copied[3].vector, doc[3].vector)
        assert copied.similarity(doc) == pytest.approx(1, abs=1e-6)
    merged = doc.copy()
    with merged.retokenize() as retokenizer:
        retokenizer.merge(merged[4:6])
    assert merged.tensor.shape[0] == len(merged) == len(doc) - 1
    assert_near(merged[0].vector, doc[0].vector)


def test_a_tensor_that_was_overwritten_is_named(nlp: Language) -> None:
    doc = nlp("the bank")
    doc.tensor = np.zeros((2, 96), dtype=np.float32)
    with pytest.raises(InputError, match=r"expected \(2, 64\).*found \(2, 96\).*put 'elmo' after"):
        _ = doc[0].vector


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"layers": "all"}, "layers: expected a choice of one vector per token, found 'all'"),
        ({"layers": 9}, "layers: this model has layers 0 to 2, found 9"),
        ({"model": "no-such-model"}, "no bundled model is called 'no-such-model'"),
        ({"dtype": "float8"}, "dtype: .*found 'float8'"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, Any], message: str) -> None:
    nlp = pipeline(**settings)
    with pytest.raises(InputError, match=message):
        nlp(TEXT)
    failed = []

    def note(name: str, pipe: Any, docs: list[Doc], error: Exception) -> Any:
        failed.append((name, len(docs), type(error)))

    nlp.set_error_handler(note)
    assert list(nlp.pipe([TEXT])) == []
    assert failed == [("elmo", 1, InputError)]


def test_a_bundled_model_is_saved_by_name(nlp: Language, tmp_path: Path) -> None:
    nlp.to_disk(tmp_path / "saved")
    assert [file.name for file in (tmp_path / "saved" / "elmo").iterdir()] == ["elmo.json"]
    again = spacy.load(tmp_path / "saved")
    assert_near(again(TEXT).tensor, nlp(TEXT).tensor)
    other = spacy.load(tmp_path / "saved", config={"components.elmo.layers": 0})
    assert_near(other(TEXT).tensor, pipeline(layers=0)(TEXT).tensor)

    facts = tmp_path / "saved" / "elmo" / "elmo.json"
    identity = read_json(facts)["identity"]
    write_json(facts, {"identity": "0" * 64})
    with pytest.raises(
        InputError, match=f"model: '{TINY}' has other weights .*{identity[:12]}.*000000000000"
    ):
        spacy.load(tmp_path / "saved")
    facts.unlink()
    with pytest.raises(FormatError, match=r"elmo\.json: cannot be read"):
        spacy.load(tmp_path / "saved")


def test_any_other_model_is_stored_with_the_pipeline(tmp_path: Path) -> None:
    save_model(tmp_path / "model")
    nlp = pipeline(model=str(tmp_path / "model"), layers=1)
    expected = nlp(TEXT).tensor
    nlp.to_disk(tmp_path / "saved")
    nlp.to_disk(tmp_path / "saved")  # over itself
    data = nlp.to_bytes()
    pickled = pickle.dumps(nlp.get_pipe("elmo"))
    shutil.rmtree(tmp_path / "model")

    shutil.move(tmp_path / "saved", tmp_path / "moved")
    assert_near(spacy.load(tmp_path / "moved")(TEXT).tensor, expected)
    again = pipeline(model=str(tmp_path / "model"), layers=1).from_bytes(data)
    assert_near(again(TEXT).tensor, expected)
    assert_near(pickle.loads(pickled)(spacy.blank("en")(TEXT)).tensor, expected)
    borrowed = spacy.blank("en")
    borrowed.add_pipe("elmo", source=again)
    assert_near(borrowed(TEXT).tensor, expected)

    save_model(tmp_path / "moved" / "elmo" / "model", seed=1)
    with pytest.raises(InputError, match=r"elmo.model' has other weights"):
        spacy.load(tmp_path / "moved")


def test_spacy_finds_both_by_entry_points() -> None:
    for group, name, function in (
        ("spacy_factories", "elmo", spacy_guest.make_elmo),
        ("spacy_architectures", "elmokit.ElmoTok2Vec.v1", spacy_guest.elmo_tok2vec),
    ):
        (entry,) = importlib.metadata.entry_points(group=group, name=name)
        assert entry.load() is function


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    monkeypatch.setitem(sys.modules, "spacy.language", None)
    monkeypatch.delitem(sys.modules, "elmokit.integrations.spacy")
    with pytest.raises(MissingExtraError, match=r"pip install \"elmokit\[spacy\]\""):
        importlib.import_module("elmokit.integrations.spacy")
