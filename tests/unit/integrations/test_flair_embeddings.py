"""ElmoEmbeddings are TokenEmbeddings of Flair: stacked, trained upon, saved and loaded.

Flair wants older versions of what other extras need, so it has an environment of its own.
"""

import importlib
import importlib.util
import runpy
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elmokit.embed.elmo import Elmo
from elmokit.errors import InputError, MissingExtraError
from elmokit.integrations.loaded_models import loaded_model
from unit.integrations.guest_models import save_model

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
TINY = "tiny-untrained"

needs_flair = pytest.mark.skipif(
    importlib.util.find_spec("flair") is None, reason="Flair is not installed"
)
# Warnings of Flair and of what it imports are not ours to mend.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@pytest.fixture(scope="module")
def guest() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("elmokit.integrations.flair")


@pytest.fixture(scope="module")
def elmo() -> Elmo:
    return loaded_model(TINY, device="cpu").elmo


@needs_flair
@pytest.mark.parametrize("layers", ["average", "top", 0, [0.5, -1.0, 2.0]])
def test_tokens_get_what_embed_gives(guest: Any, elmo: Elmo, layers: Any) -> None:
    from flair.data import Sentence

    embeddings = guest.ElmoEmbeddings(TINY, layers=layers)
    sentences = [Sentence("She sat on the bank ."), Sentence("고양이"), Sentence("the river")]
    embeddings.embed(sentences)
    assert embeddings.embedding_length == elmo.dim
    for sentence in sentences:
        words = [token.text for token in sentence]
        found = np.stack([token.embedding.cpu().numpy() for token in sentence])
        # Vectors may differ in their last digits with what shares a batch.
        expected = elmo.embed([words], layers=layers)[0]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


@needs_flair
def test_stacked_with_itself(guest: Any, elmo: Elmo) -> None:
    from flair.data import Sentence
    from flair.embeddings import StackedEmbeddings

    stack = StackedEmbeddings([guest.ElmoEmbeddings(TINY, layers=layer) for layer in (0, 1)])
    sentence = Sentence("the bank")
    stack.embed(sentence)
    layers = elmo.embed([["the", "bank"]], layers="all")[0]
    np.testing.assert_allclose(
        sentence[1].embedding.cpu().numpy(), np.concatenate(layers[:2, 1]), rtol=0, atol=1e-6
    )


@needs_flair
def test_the_model_is_saved_by_name_and_held_to_its_weights(guest: Any, tmp_path: Path) -> None:
    from flair.embeddings.base import load_embeddings

    save_model(tmp_path / "model")
    embeddings = guest.ElmoEmbeddings(str(tmp_path / "model"), layers=[1, 0, 0.5])
    saved = embeddings.save_embeddings()
    assert not saved["state_dict"]
    assert not list(embeddings.parameters())
    again = load_embeddings(dict(saved))
    assert again.to_params() == embeddings.to_params()
    assert again.name == embeddings.name
    save_model(tmp_path / "model", seed=1)
    with pytest.raises(InputError, match=r"model' has other weights \(digest"):
        load_embeddings(dict(saved))


@needs_flair
def test_wrong_layers_are_named(guest: Any) -> None:
    with pytest.raises(InputError, match="one vector per token, found 'all'"):
        guest.ElmoEmbeddings(TINY, layers="all")
    with pytest.raises(InputError, match="this model has layers 0 to 2, found 3"):
        guest.ElmoEmbeddings(TINY, layers=3)


@needs_flair
def test_the_example_learns_and_its_tagger_survives_a_file(
    guest: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    runpy.run_path(str(EXAMPLES / "flair_tagger.py"), run_name="__main__")
    printed = capsys.readouterr().out.splitlines()
    assert printed[-3:] == [
        "They/O watch/VERB a/O play/NOUN ./O",
        "We/O book/VERB a/O room/O ./O",
        "The/O answer/NOUN is/O in/O this/O book/NOUN ./O",
    ]


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "flair", None)
    monkeypatch.delitem(sys.modules, "elmokit.integrations.flair", raising=False)
    with pytest.raises(MissingExtraError, match=r"pip install \"elmokit\[flair\]\""):
        importlib.import_module("elmokit.integrations.flair")
