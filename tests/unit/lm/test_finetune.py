"""Fine-tuning: the vocabulary grows, old words keep their rows, the domain is learnt."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from elmokit.config import WordConfig
from elmokit.corpus.prepare import prepare
from elmokit.corpus.prepared import PreparedCorpus
from elmokit.embed.elmo import Elmo
from elmokit.errors import InputError
from elmokit.files import read_json
from elmokit.formats import bilm_hdf5
from elmokit.formats.checkpoint import Checkpoint
from elmokit.lm import finetune as module
from elmokit.lm.before_after import Judge
from elmokit.lm.finetune import RECIPE, DomainText, Finetuned, finetune, recipe_for
from elmokit.lm.new_words import frequent_new_words, with_new_words, word_counts
from elmokit.lm.pooled_softmax import PooledSoftmax
from elmokit.training.run_lock import run_lock
from unit.lm.small_text import CLINIC, CONFIG, QUIET, SETTINGS, read, trained, write_text

NEW = {"nurse", "surgeon", "sutures", "dresses", "wounds"}
FAST = replace(SETTINGS, steps=40, learning_rate=5e-3, decay="linear")
WORD_CONFIG = replace(
    CONFIG,
    characters=None,
    words=WordConfig(vocabulary_size=1, embedding_dim=CONFIG.projection_dim),
    token_projection=False,
)


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """A small character model of kitchens."""
    return read(trained(tmp_path_factory.mktemp("parent")))


@pytest.fixture(scope="module")
def word_parent(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """The same, reading words, which it shares with its softmax."""
    settings = replace(SETTINGS, tie_softmax=True)
    return read(trained(tmp_path_factory.mktemp("words"), WORD_CONFIG, settings))


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Raw text of clinics; `held-out.txt` beside it has more."""
    folder = tmp_path_factory.mktemp("clinic")
    write_text(folder / "held-out.txt", CLINIC, 50, seed=2)
    return write_text(folder / "clinic.txt", CLINIC, 300, seed=1)


@pytest.fixture(scope="module")
def prepared(clinic: Path) -> Path:
    """The same, prepared."""
    valid = clinic.parent / "held-out.txt"
    prepare(clinic, clinic.parent / "prepared", valid=valid, processes=1)
    return clinic.parent / "prepared"


@pytest.fixture(scope="module")
def finetuned(
    parent: Checkpoint, clinic: Path, tmp_path_factory: pytest.TempPathFactory
) -> Finetuned:
    text = DomainText(corpus=(clinic,), valid=(clinic.parent / "held-out.txt",))
    folder = tmp_path_factory.mktemp("finetuned") / "clinic"
    return finetune(parent, text, folder, settings=FAST, conduct=QUIET)


def grown(parent: Checkpoint, prepared: Path, most: int = 100) -> tuple[Checkpoint, Checkpoint]:
    """Give the parent and what surgery alone makes of it."""
    corpus = PreparedCorpus(prepared)
    counts = word_counts(corpus)
    assert parent.vocabulary is not None
    chosen = frequent_new_words(corpus, counts, parent.vocabulary, most=most, min_count=1)
    return parent, with_new_words(parent, corpus, counts, chosen).checkpoint


@pytest.mark.parametrize("kind", ["parent", "word_parent"])
def test_old_rows_are_copied(kind: str, prepared: Path, request: pytest.FixtureRequest) -> None:
    parent, start = grown(request.getfixturevalue(kind), prepared)
    assert parent.vocabulary is not None
    assert start.vocabulary is not None
    assert set(start.vocabulary.words) - set(parent.vocabulary.words) == NEW
    assert len(start.vocabulary) == len(parent.vocabulary) + len(NEW)
    rows = torch.from_numpy(start.vocabulary.ids(parent.vocabulary.words))
    names = {"softmax.weight", "token_encoder.words.weight"} & parent.tensors.keys()
    assert len(names) == (1 if kind == "parent" else 2)
    for name in names:
        assert torch.equal(start.tensors[name][rows], parent.tensors[name])
    known = [word != "<UNK>" for word in parent.vocabulary.words]
    old, new = (part.tensors["softmax.bias"] for part in (parent, start))
    assert torch.equal(new[rows][known], old[known])
    for name in parent.tensors.keys() - names - {"softmax.bias"}:
        assert torch.equal(start.tensors[name], parent.tensors[name])
    start.validated(prepared)


def test_new_words_share_what_the_unknown_word_had(parent: Checkpoint, prepared: Path) -> None:
    """Surgery makes no old word more or less likely; new words split the rest by frequency."""
    parent, start = grown(parent, prepared, most=2)
    old, new = (Elmo(part, device="cpu").language_model for part in (parent, start))
    context = ["<S>", "the", "nurse"]
    before, after = (
        np.exp(model.next_word("forward", context, start="zeros")) for model in (old, new)
    )
    assert parent.vocabulary is not None
    assert start.vocabulary is not None
    for word in set(parent.vocabulary.words) - {"<UNK>"}:
        places = [int(part.ids([word])[0]) for part in (parent.vocabulary, start.vocabulary)]
        assert after[places[1]] == pytest.approx(before[places[0]], rel=1e-4)
    added = sorted(set(start.vocabulary.words) - set(parent.vocabulary.words))
    shares = after[start.vocabulary.ids([*added, "<UNK>"])]
    assert shares.sum() == pytest.approx(before[parent.vocabulary.ids(["<UNK>"])[0]], rel=1e-4)
    corpus = PreparedCorpus(prepared)
    counts = dict(zip(corpus.words, word_counts(corpus), strict=True))
    assert shares[0] / shares[1] == pytest.approx(counts[added[0]] / counts[added[1]], rel=1e-4)


def test_words_are_ordered_by_frequency(parent: Checkpoint, prepared: Path) -> None:
    _, start = grown(parent, prepared)
    assert start.vocabulary is not None
    words = start.vocabulary.words
    assert words[:3] == ("<S>", "</S>", "<UNK>")
    assert set(words[3:5]) == {"the", "."}
    # New and frequent before old and gone.
    assert words.index("wounds") < words.index("soup")


def test_perplexity_falls(finetuned: Finetuned) -> None:
    assert finetuned.run.ending == "finished"
    assert finetuned.new_words == len(NEW)
    for compared in (finetuned.old_vocabulary, finetuned.new_vocabulary):
        assert compared is not None
        assert compared.before is not None
        assert compared.after is not None
        assert compared.after.perplexity < 0.7 * compared.before.perplexity
        assert compared.after.tokens == compared.before.tokens
        assert compared.after.unknown_words == compared.before.unknown_words
    assert finetuned.old_vocabulary is not None
    assert finetuned.old_vocabulary.after is not None
    assert finetuned.old_vocabulary.after.oov_rate > 0.2
    assert finetuned.new_vocabulary is not None
    assert finetuned.new_vocabulary.after is not None
    assert finetuned.new_vocabulary.after.oov_rate == 0


def test_new_words_are_predicted(finetuned: Finetuned) -> None:
    assert finetuned.run.model is not None
    model = Elmo(read(finetuned.run.model), device="cpu").language_model
    found = np.exp(
        model.next_word("forward", ["<S>", "the", "nurse", "sutures", "the"], start="zeros")
    )
    best = model.vocabulary.words[int(found.argmax())]
    assert best == "wounds"


def test_the_result_is_a_model_with_a_card(finetuned: Finetuned, parent: Checkpoint) -> None:
    assert finetuned.run.model is not None
    result = read(finetuned.run.model)
    assert result.metadata["name"] == "clinic"
    assert result.metadata["parent"] == parent.metadata["name"]
    card = (finetuned.run.model / "README.md").read_text(encoding="utf-8")
    assert f"begun with the model `{parent.metadata['name']}`" in card
    assert "before" in card
    facts = read_json(finetuned.run.model.parent / "result.json")
    assert facts["parent"] == parent.metadata["name"]
    assert facts["old_vocabulary"]["before"]["perplexity"] > 1
    vectors = Elmo(result, device="cpu").embed(["the nurse sutures"])[0]
    assert vectors.shape == (3, 2 * CONFIG.projection_dim)


def test_the_pooled_figures_are_those_of_the_parent_before_training(
    parent: Checkpoint, prepared: Path
) -> None:
    """Over the old words the surgery alone must change nothing."""
    corpus = PreparedCorpus(prepared)
    counts = word_counts(corpus)
    assert parent.vocabulary is not None
    chosen = frequent_new_words(corpus, counts, parent.vocabulary, most=9, min_count=1)
    extended = with_new_words(parent, corpus, counts, chosen)
    judge = Judge(corpus, QUIET)
    before = judge(parent)
    same = judge.over_old_words(extended.checkpoint, extended, parent.vocabulary)
    assert before is not None
    assert same is not None
    assert same["perplexity"] == pytest.approx(before["perplexity"], rel=1e-5)
    assert same["unknown_words"] == before["unknown_words"] > 0
    finer = judge(extended.checkpoint)
    assert finer is not None
    assert finer["perplexity"] > 1.01 * before["perplexity"]


def test_pooled_losses_against_float64() -> None:
    generator = torch.Generator().manual_seed(0)
    weight, hidden = (torch.randn(size, 3, generator=generator) for size in (7, 5))
    bias = torch.randn(7, generator=generator)
    softmax = PooledSoftmax.of(weight, bias, known=4, unknown=2)
    logits = hidden.double().numpy() @ weight.double().numpy().T + bias.double().numpy()
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    targets = [2, 0, 3, 2, 1]
    expected = [
        -np.log(row[2] + row[4:].sum() if target == 2 else row[target])
        for row, target in zip(chances, targets, strict=True)
    ]
    for chunk in (2, 100):
        found = softmax.full_loss(hidden, torch.tensor(targets), chunk=chunk)
        np.testing.assert_allclose(found.numpy(), expected, atol=1e-5)


def test_the_vocabulary_can_stay(parent: Checkpoint, prepared: Path, tmp_path: Path) -> None:
    text = DomainText(corpus=(prepared,), new_words=0)
    found = finetune(parent, text, tmp_path / "run", settings=FAST, conduct=QUIET)
    assert found.new_words == 0
    assert found.new_vocabulary is None
    assert found.old_vocabulary is not None
    assert found.old_vocabulary.before is not None
    assert found.old_vocabulary.after is not None
    assert found.old_vocabulary.after.perplexity < found.old_vocabulary.before.perplexity
    assert found.run.model is not None
    assert read(found.run.model).vocabulary == parent.vocabulary


def test_a_word_model_learns_new_words(
    word_parent: Checkpoint, prepared: Path, tmp_path: Path
) -> None:
    settings = recipe_for(word_parent, ["steps=40", "learning_rate=5e-3", "rows=8", "window=8"])
    assert settings.tie_softmax
    text = DomainText(corpus=(prepared,))
    found = finetune(word_parent, text, tmp_path / "run", settings=settings, conduct=QUIET)
    assert found.run.model is not None
    result = read(found.run.model)
    assert result.vocabulary is not None
    assert set(result.vocabulary.words) > NEW
    tensors = result.tensors
    assert torch.equal(tensors["token_encoder.words.weight"], tensors["softmax.weight"])
    nurse, surgeon = result.vocabulary.ids(["nurse", "surgeon"])
    assert not torch.equal(tensors["softmax.weight"][nurse], tensors["softmax.weight"][surgeon])
    assert found.old_vocabulary is not None
    assert found.old_vocabulary.before is not None
    assert found.old_vocabulary.after is not None
    assert found.old_vocabulary.after.perplexity < found.old_vocabulary.before.perplexity


def test_a_stopped_run_goes_on_exactly(parent: Checkpoint, prepared: Path, tmp_path: Path) -> None:
    text = DomainText(corpus=(prepared,))
    settings = replace(FAST, steps=12, dropout=0.2, samples=5)
    conduct = replace(QUIET, save_every=5)
    whole = finetune(parent, text, tmp_path / "parts", settings=settings, conduct=conduct)
    shutil.move(tmp_path / "parts", tmp_path / "whole")
    stopped = replace(QUIET, minutes=1e-9)
    first = finetune(parent, text, tmp_path / "parts", settings=settings, conduct=stopped)
    assert first.run.ending == "out of time"
    assert first.run.model is None
    assert first.old_vocabulary is not None
    assert first.old_vocabulary.after is None
    (tmp_path / "parts/before.json").write_text(
        (tmp_path / "parts/before.json").read_text().replace('"perplexity": ', '"perplexity": 1')
    )  # to see that it is not measured again
    # As if the run had been killed between steps 10 and 12.
    checkpoints = tmp_path / "parts/checkpoints"
    shutil.rmtree(checkpoints)
    shutil.copytree(tmp_path / "whole/checkpoints", checkpoints)
    shutil.rmtree(checkpoints / "step-00000012")
    assert (checkpoints / "step-00000010").is_dir()
    again = finetune(parent, text, tmp_path / "parts", settings=settings, conduct=QUIET)
    assert again.run.model is not None
    for name, tensor in read(tmp_path / "whole/model").tensors.items():
        assert torch.equal(tensor, read(again.run.model).tensors[name]), name
    assert whole.new_vocabulary is not None
    assert again.new_vocabulary is not None
    assert again.new_vocabulary.after == whole.new_vocabulary.after
    assert again.new_vocabulary.before != whole.new_vocabulary.before


def test_a_run_in_a_folder_in_use_is_refused_at_once(
    parent: Checkpoint, clinic: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    with run_lock(folder):
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(InputError, match=f"{folder}: another process is training there"):
            finetune(parent, DomainText(corpus=(clinic,)), folder, settings=FAST, conduct=QUIET)
        assert sorted(tmp_path.rglob("*")) == before


def test_the_folder_is_locked_from_the_beginning_to_the_end(
    parent: Checkpoint, clinic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, tried = tmp_path / "run", []

    def trying(name: str) -> None:
        function = getattr(module, name)

        def tries(*arguments: Any, **options: Any) -> Any:
            with pytest.raises(InputError, match="another process"), run_lock(folder):
                pass
            tried.append(name)
            return function(*arguments, **options)

        monkeypatch.setattr(module, name, tries)

    parts = ["_kept_before", "prepare", "pretrain_holding_lock", "_write_result"]
    for name in parts:
        trying(name)
    text, settings = DomainText(corpus=(clinic,)), replace(FAST, steps=2)
    found = finetune(parent, text, folder, settings=settings, conduct=QUIET)
    assert found.run.ending == "finished"
    assert tried == parts
    assert list(folder.rglob(".*")) == []


def test_text_around_the_run_is_read_without_the_run(
    parent: Checkpoint, clinic: Path, tmp_path: Path
) -> None:
    shutil.copy(clinic, tmp_path)
    text, settings = DomainText(corpus=(tmp_path,)), replace(FAST, steps=1)
    finetune(parent, text, tmp_path / "run", settings=settings, conduct=QUIET)
    assert PreparedCorpus(tmp_path / "run/corpus").facts["report"]["files"] == 1


def test_another_request_in_the_same_folder_is_refused(
    parent: Checkpoint, prepared: Path, tmp_path: Path
) -> None:
    stopped = replace(QUIET, minutes=1e-9)
    text = DomainText(corpus=(prepared,))
    finetune(parent, text, tmp_path, settings=FAST, conduct=stopped)
    with pytest.raises(InputError, match="belongs to a fine-tuning with new_words = None, found 3"):
        finetune(parent, replace(text, new_words=3), tmp_path, settings=FAST, conduct=stopped)
    faster = replace(FAST, learning_rate=1.0)
    with pytest.raises(InputError, match="learning_rate"):
        finetune(parent, text, tmp_path, settings=faster, conduct=stopped)


def test_hdf5_models(parent: Checkpoint, prepared: Path, tmp_path: Path) -> None:
    """A model of another format with its softmax goes the same way."""
    bilm_hdf5.write(parent.without_start_state(), tmp_path / "hdf5")
    foreign = bilm_hdf5.read(tmp_path / "hdf5")
    settings = recipe_for(foreign, ["steps=2", "rows=4", "window=4"])
    assert settings.document_resets == 0, "it has no start state of zeros"
    text = DomainText(corpus=(prepared,), new_words=2)
    found = finetune(foreign, text, tmp_path / "run", settings=settings, conduct=QUIET)
    assert found.run.model is not None
    assert found.new_words == 2


def without_softmax(parent: Checkpoint) -> Checkpoint:
    tensors = {n: t for n, t in parent.tensors.items() if not n.startswith("softmax.")}
    return replace(
        parent, config=replace(parent.config, softmax_size=None), tensors=tensors, vocabulary=None
    )


def test_a_model_without_softmax(parent: Checkpoint, prepared: Path, tmp_path: Path) -> None:
    bare = without_softmax(parent)
    text = DomainText(corpus=(prepared,), min_count=1)
    with pytest.raises(InputError, match=r"'run' has no softmax.*--new-softmax"):
        finetune(bare, text, tmp_path / "run", settings=FAST, conduct=QUIET)
    text = replace(text, new_softmax=True)
    found = finetune(bare, text, tmp_path / "run", settings=FAST, conduct=QUIET)
    assert found.old_vocabulary is None
    assert found.new_vocabulary is not None
    assert found.new_vocabulary.before is not None
    assert found.new_vocabulary.after is not None
    # It begins with the frequencies of words, which is far better than with nothing.
    assert found.new_vocabulary.before.perplexity < 0.8 * found.new_words
    assert found.new_vocabulary.after.perplexity < found.new_vocabulary.before.perplexity
    assert found.run.model is not None
    assert set(NEW) < set(read(found.run.model).vocabulary.words)  # type: ignore[union-attr]


def test_a_corpus_cut_otherwise_is_refused(
    parent: Checkpoint, clinic: Path, tmp_path: Path
) -> None:
    prepare(clinic, tmp_path / "cut", tokeniser="whitespace", processes=1)
    text = DomainText(corpus=(tmp_path / "cut",))
    with pytest.raises(InputError, match=r"'whitespace'.*model's is 'words'.*--tokeniser words"):
        finetune(parent, text, tmp_path / "run", settings=FAST, conduct=QUIET)


def test_empty_text_is_refused(parent: Checkpoint, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n\n", encoding="utf-8")
    text = DomainText(corpus=(tmp_path / "empty.txt",))
    with pytest.raises(InputError, match="no word"):
        finetune(parent, text, tmp_path / "run", settings=FAST, conduct=QUIET)
    with pytest.raises(InputError, match="names no file"):
        DomainText(corpus=())


def test_a_prepared_corpus_has_its_held_out_text(parent: Checkpoint, prepared: Path) -> None:
    text = DomainText(corpus=(prepared,), held_out=0.2)
    with pytest.raises(InputError, match="has its held-out text already"):
        finetune(parent, text, prepared / "run", settings=FAST, conduct=QUIET)


def test_without_held_out_text(parent: Checkpoint, clinic: Path, tmp_path: Path) -> None:
    text = DomainText(corpus=(clinic,), held_out=0.0)
    settings = replace(FAST, steps=2)
    found = finetune(parent, text, tmp_path / "run", settings=settings, conduct=QUIET)
    assert found.run.model is not None
    assert found.old_vocabulary is None
    assert found.new_vocabulary is None


def test_a_vocabulary_without_the_unknown_mark(parent: Checkpoint, prepared: Path) -> None:
    assert parent.vocabulary is not None
    words = [word.replace("<UNK>", "unk") for word in parent.vocabulary.words]
    broken = replace(parent, vocabulary=type(parent.vocabulary)(words))
    with pytest.raises(InputError, match="lacks the mark '<UNK>'"):
        grown(broken, prepared)


def test_recipes(parent: Checkpoint) -> None:
    settings = recipe_for(parent)
    assert settings.document_resets > 0, "its start state is zeros"
    assert not settings.tie_softmax
    assert settings == replace(
        RECIPE,
        document_resets=settings.document_resets,
        sentence_resets=settings.sentence_resets,
    )
    assert recipe_for(parent, ["rows=5"]).rows == 5
    with pytest.raises(InputError, match=r"keeps the model as it is.*lstm_dim=3"):
        recipe_for(parent, ["lstm_dim=3"])
    with pytest.raises(InputError, match=r"--new-words.*found 77"):
        recipe_for(parent, ["vocabulary_size=77"])
    with pytest.raises(InputError, match="new_words: expected 0 or more, found -1"):
        DomainText(corpus=("x",), new_words=-1)
    with pytest.raises(InputError, match="min_count: expected 1 or more, found 0"):
        DomainText(corpus=("x",), min_count=0)
