"""Components of spaCy learn on top of ELMo's frozen vectors."""

import runpy
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import fix_random_seed

import elmokit.integrations.spacy as spacy_guest
from elmokit.embed.elmo import Elmo
from elmokit.errors import InputError
from elmokit.integrations.loaded_models import loaded_model
from elmokit.integrations.spacy_vectors import doc_vectors
from unit.integrations.guest_models import save_model

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"

TINY = "tiny-untrained"
TOK2VEC = {"@architectures": "elmokit.ElmoTok2Vec.v1", "model": TINY, "layers": "average"}
NER = {
    "@architectures": "spacy.TransitionBasedParser.v2",
    "state_type": "ner",
    "extra_state_tokens": False,
    "hidden_width": 32,
    "maxout_pieces": 2,
    "use_upper": True,
    "tok2vec": TOK2VEC,
}
TEXTCAT = {
    "@architectures": "spacy.TextCatReduce.v1",
    "exclusive_classes": True,
    "use_reduce_first": False,
    "use_reduce_last": False,
    "use_reduce_max": False,
    "use_reduce_mean": True,
    "tok2vec": TOK2VEC,
}
SENTENCES = [
    ("Mary saw Paris .", ["U-PERSON", "O", "U-PLACE", "O"], "travel"),
    ("John Smith left New York", ["B-PERSON", "L-PERSON", "O", "B-PLACE", "L-PLACE"], "travel"),
    ("the tea was cold", ["O", "O", "O", "O"], "food"),
    ("Anna likes tea", ["U-PERSON", "O", "O"], "food"),
    ("bread and tea again", ["O", "O", "O", "O"], "food"),
    ("a train to Berlin", ["O", "O", "O", "U-PLACE"], "travel"),
]  # fmt: skip


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many Docs went through the biLM at each call."""
    found: list[int] = []

    def counted(elmo: Elmo, docs: Any, **settings: Any) -> Any:
        found.append(len(docs))
        return doc_vectors(elmo, docs, **settings)

    monkeypatch.setattr(spacy_guest, "doc_vectors", counted)
    yield found


def gold(nlp: Language) -> list[Example]:
    return [
        Example.from_dict(
            Doc(nlp.vocab, words=text.split()),
            {"entities": entities, "cats": {"travel": kind == "travel", "food": kind == "food"}},
        )
        for text, entities, kind in SENTENCES
    ]


def train(nlp: Language, examples: list[Example], *, epochs: int, annotates: Any = ()) -> None:
    fix_random_seed(0)
    optimiser = nlp.initialize(lambda: examples)
    optimiser.learn_rate = 0.02
    for _ in range(epochs):
        nlp.update(examples, sgd=optimiser, drop=0.0, annotates=list(annotates))


def answers(nlp: Language) -> list[tuple[list[tuple[str, str]], dict[str, float]]]:
    docs = nlp.pipe(Doc(nlp.vocab, words=text.split()) for text, _, _ in SENTENCES)
    return [([(entity.text, entity.label_) for entity in doc.ents], dict(doc.cats)) for doc in docs]


def test_a_recogniser_and_a_classifier_learn_and_stay_the_same_when_saved(
    tmp_path: Path, runs: list[int]
) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("elmo", config={"model": TINY})
    nlp.add_pipe("ner", config={"model": NER})
    nlp.add_pipe("textcat", config={"model": TEXTCAT})
    examples = gold(nlp)
    train(nlp, examples, epochs=60, annotates=["elmo"])
    scores = nlp.evaluate(examples)
    assert scores["ents_f"] == 1.0
    assert scores["cats_micro_f"] == 1.0

    runs.clear()
    found = answers(nlp)
    assert runs == [len(SENTENCES)], "the biLM must run once a Doc, in the pipe alone"
    assert found[1][0] == [("John Smith", "PERSON"), ("New York", "PLACE")]
    nlp.to_disk(tmp_path / "saved")
    again = spacy.load(tmp_path / "saved")
    for (entities, kinds), (same_entities, same_kinds) in zip(found, answers(again), strict=True):
        assert same_entities == entities
        assert same_kinds == pytest.approx(kinds, abs=1e-6)
    weights = (tmp_path / "saved" / "ner" / "model").stat().st_size
    assert weights < 100_000, "the biLM is no part of a component that learnt on top of it"


def test_without_the_pipe_the_layer_reads_the_text_itself(tmp_path: Path, runs: list[int]) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("ner", config={"model": NER})
    train(nlp, gold(nlp), epochs=40)
    assert nlp.evaluate(gold(nlp))["ents_f"] == 1.0
    before = len(runs)
    found = answers(nlp)
    assert runs[before:] == [len(SENTENCES)]
    again = spacy.blank("en")
    again.add_pipe("ner", config={"model": NER})
    assert answers(again.from_bytes(nlp.to_bytes())) == found


def test_docs_that_were_filled_before_are_not_read_again(runs: list[int]) -> None:
    nlp = spacy.blank("en")
    pipe = nlp.add_pipe("elmo", config={"model": TINY})
    layer = spacy_guest.elmo_tok2vec(model=TINY)
    layer.initialize()
    docs = [pipe(nlp.make_doc(text)) for text in ("She sat", "", "the bank")]
    runs.clear()
    for doc, vectors in zip(docs, layer.predict([doc.copy() for doc in docs]), strict=True):
        np.testing.assert_array_equal(vectors, doc.tensor)
    assert runs == []

    # What another component has overwritten, other settings made, or nobody filled, is computed.
    overwritten = docs[0].copy()
    overwritten.tensor = overwritten.tensor + 1
    bare = nlp.make_doc("the bank")
    vectors = layer.predict([overwritten, docs[1], bare])
    assert runs == [2]
    np.testing.assert_allclose(vectors[0], docs[0].tensor, rtol=0, atol=1e-6)
    np.testing.assert_allclose(vectors[2], docs[2].tensor, rtol=0, atol=1e-6)
    assert not bare.tensor.size, "a layer leaves the Doc alone"
    top = spacy_guest.elmo_tok2vec(model=TINY, layers="top")
    (vectors,) = top.predict([docs[2]])
    expected = loaded_model(TINY).elmo.embed([["the", "bank"]], layers="top")[0]
    np.testing.assert_allclose(vectors, expected, rtol=0, atol=1e-6)
    assert runs == [2, 1]


def test_the_layer_is_frozen() -> None:
    layer = spacy_guest.elmo_tok2vec(model=TINY)
    layer.initialize()
    assert layer.get_dim("nO") == 64
    vectors, backpropagate = layer.begin_update([spacy.blank("en")("the bank")])
    assert backpropagate([np.ones_like(vectors[0])]) == []
    assert not layer.has_grad("W")
    assert all(not node.param_names for node in layer.walk())


def test_another_model_under_the_same_name_is_refused(tmp_path: Path) -> None:
    save_model(tmp_path / "model")
    nlp = spacy.blank("en")
    settings = {**NER, "tok2vec": {**TOK2VEC, "model": str(tmp_path / "model")}}
    nlp.add_pipe("ner", config={"model": settings})
    train(nlp, gold(nlp), epochs=1)
    nlp.to_disk(tmp_path / "saved")

    shutil.move(tmp_path / "model", tmp_path / "elsewhere")
    place = {"components.ner.model.tok2vec.model": str(tmp_path / "elsewhere")}
    answers(spacy.load(tmp_path / "saved", config=place))

    save_model(tmp_path / "model", seed=1)
    with pytest.raises(InputError, match=r"model: '.*model' has other weights \(digest"):
        answers(spacy.load(tmp_path / "saved"))


def test_a_stored_model_serves_the_layers_after_it(tmp_path: Path) -> None:
    """A pipeline with an `elmo` pipe needs no other copy of the model, wherever it is moved."""
    save_model(tmp_path / "model")
    nlp = spacy.blank("en")
    nlp.add_pipe("elmo", config={"model": str(tmp_path / "model")})
    settings = {**NER, "tok2vec": {**TOK2VEC, "model": str(tmp_path / "model")}}
    nlp.add_pipe("ner", config={"model": settings})
    train(nlp, gold(nlp), epochs=30, annotates=["elmo"])
    found = answers(nlp)
    nlp.to_disk(tmp_path / "saved")
    shutil.rmtree(tmp_path / "model")
    assert answers(spacy.load(tmp_path / "saved")) == found


def test_spacys_own_listener_hears_the_pipe() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("elmo", config={"model": TINY})
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": 64, "upstream": "elmo"}
    nlp.add_pipe("ner", config={"model": {**NER, "tok2vec": listener}})
    examples = gold(nlp)
    train(nlp, examples, epochs=40, annotates=["elmo"])
    assert nlp.evaluate(examples)["ents_f"] == 1.0


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "spacy_names.py"), run_name="__main__")
    printed = capsys.readouterr().out.splitlines()
    assert printed[-2:] == [
        "Thomas/PERSON  Dublin/PLACE",
        "Sarah/PERSON  Boston/PLACE  Henry/PERSON",
    ]
