"""Data to a network, and batches through it."""

from pathlib import Path

import pytest
import torch

from elmokit.errors import InputError
from elmokit.tasks.assemble import Words, build_network, choose_words, layer_store, texts_of
from elmokit.tasks.evaluate import TOKENS_AT_ONCE, example_sizes, predictions_of
from elmokit.tasks.inputs.static_vectors import StaticVectors
from elmokit.tasks.names import TASK_NAMES
from task_runs import CPU, WITHOUT_DROPOUT, settings_of, small_network, tiny_elmo


def write_vectors(folder: Path, *words: str) -> Path:
    file = folder / "vectors.txt"
    file.write_text("".join(f"{word} {number}.5 1\n" for number, word in enumerate(words)))
    return file


def test_words_have_vectors_of_the_file_or_learnt_ones(tmp_path: Path) -> None:
    settings = settings_of("ner", "most_vectors=1", "min_count=2")
    file = write_vectors(tmp_path, "first", "cat", "Dog", "dog", "unseen", "bird", "The")
    train = [["The", "cat", "Dog", "purrs"], ["it", "purrs"]]
    words = choose_words(settings, file, train=train, others=[["BIRD", "rare", "rare"]])
    assert words.static is not None
    # The first of the file, and all that the data hold as they are or in lower case.
    assert words.static.words == ("first", "cat", "Dog", "dog", "bird", "The")
    assert words.learnt == ("purrs",)
    assert words.all == (*words.static.words, "purrs")


def test_without_a_file_all_vectors_are_learnt() -> None:
    words = choose_words(settings_of("ner"), None, train=[["The", "cat"], ["cat"]], others=[["x"]])
    assert words.static is None
    assert words.all == ("cat", "the")


def test_without_static_vectors_there_are_no_words(tmp_path: Path) -> None:
    settings = settings_of("ner", "vectors=false")
    assert choose_words(settings, None, train=[["a"]], others=[]).all == ()
    with pytest.raises(InputError, match="a file was given, but the setting vectors is false"):
        choose_words(settings, write_vectors(tmp_path, "a"), train=[["a"]], others=[])


@pytest.mark.parametrize("task", TASK_NAMES)
def test_the_seed_decides_the_weights(tmp_path: Path, task: str) -> None:
    one, same, other = (
        small_network(task, tmp_path, f"seed={seed}").network.state_dict() for seed in (1, 1, 2)
    )
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert any(not torch.equal(one[name], other[name]) for name in one)


def test_building_leaves_the_random_numbers_of_others_alone(tmp_path: Path) -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    small_network("ner", tmp_path)
    assert torch.equal(torch.rand(3), expected)


def test_layers_are_stored_where_the_bilm_is_frozen() -> None:
    elmo = tiny_elmo()
    store = layer_store(elmo, settings_of("ner"), device=CPU)
    assert store is not None
    assert store.elmo is elmo
    assert layer_store(elmo, settings_of("ner", "train_elmo=true"), device=CPU) is None
    assert layer_store(None, settings_of("ner"), device=CPU) is None


def test_vectors_of_the_file_reach_the_network(tmp_path: Path) -> None:
    small = small_network("ner", tmp_path)
    static = StaticVectors(("ada",), torch.tensor([[1.0, 2.0]]).half())
    network = build_network(
        small.task,
        settings_of("ner", "character_filters=[]"),
        small.labels,
        Words(static=static, learnt=("went",)),
        elmo=None,
        device=CPU,
    )
    batch = network.batch(small.task, small.examples[:1], small.labels)
    network.eval()
    vectors = network.token_vectors(batch.texts[0], network.lexicon.forms(CPU), None).inputs
    assert network.token_vectors.static is not None
    learnt = network.token_vectors.static.learnt.detach()
    assert vectors[0, 0].tolist() == [1.0, 2.0]  # Ada
    assert torch.equal(vectors[0, 1], learnt[1])  # went
    assert torch.equal(vectors[0, 2], learnt[0])  # to


@pytest.mark.parametrize("task", WITHOUT_DROPOUT)
def test_more_padding_changes_nothing(tmp_path: Path, task: str) -> None:
    changes = [*WITHOUT_DROPOUT[task], "elmo_at=both"]
    small = small_network(task, tmp_path, *changes, elmo=tiny_elmo())
    network = small.network
    gradients, losses, answers = [], [], []
    for rounded in (False, True):
        batch = network.batch(small.task, small.examples[:7], small.labels, rounded=rounded)
        network.zero_grad(set_to_none=True)
        network.train()
        found = network.losses(batch)
        found.sum().backward()  # type: ignore[no-untyped-call]
        losses.append(found.detach())
        gradients.append({n: p.grad for n, p in network.named_parameters() if p.grad is not None})
        network.eval()
        with torch.no_grad():
            answers.append(network.predict(batch))
    widths = [text.forms.shape[1] for text in batch.texts]
    assert all(width % 8 == 0 for width in widths)
    assert losses[0].shape == (7,)
    torch.testing.assert_close(losses[0], losses[1], rtol=0, atol=1e-5)
    assert gradients[0].keys() == gradients[1].keys()
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradient, gradients[1][name], rtol=0, atol=1e-4, msg=name)
    if task in ("ner", "srl"):  # the others give probabilities too
        assert answers[0] == answers[1]


def test_a_batch_has_the_tensors_of_texts_and_targets(tmp_path: Path) -> None:
    small = small_network("snli", tmp_path, elmo=tiny_elmo())
    batch = small.network.batch(small.task, small.examples[:4], small.labels)
    assert len(batch.texts) == 2
    assert batch.targets.keys() == {"label"}
    shapes = [tuple(tensor.shape) for tensor in batch.tensors()]
    assert shapes == [(4, 5), (4, 5), (4, 3), (4, 3), (4,)]
    moved = batch.to(CPU)
    assert all(torch.equal(a, b) for a, b in zip(batch.tensors(), moved.tensors(), strict=True))


def test_predictions_come_in_the_order_of_the_examples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = small_network("sst", tmp_path)  # texts of 3 to 6 tokens
    whole = predictions_of(small.network, small.task, small.examples, small.labels)
    alone = [
        predictions_of(small.network, small.task, [example], small.labels)[0]
        for example in small.examples
    ]
    with monkeypatch.context() as patched:
        patched.setattr(type(small.task), "one_at_a_time", True)
        one_by_one = predictions_of(small.network, small.task, small.examples, small.labels)
    monkeypatch.setitem(TOKENS_AT_ONCE, "cpu", 10)
    in_parts = predictions_of(small.network, small.task, small.examples, small.labels)
    for other in (alone, one_by_one, in_parts):
        for first, second in zip(whole, other, strict=True):
            assert first.probabilities == pytest.approx(second.probabilities, abs=1e-5)
    assert len({round(choice.probabilities["4"], 6) for choice in whole}) > 12


def test_predictions_are_made_without_dropout_and_gradients(tmp_path: Path) -> None:
    small = small_network("ner", tmp_path)
    small.network.train()
    found = predictions_of(small.network, small.task, small.examples, small.labels)
    assert not small.network.training
    assert found == predictions_of(small.network, small.task, small.examples, small.labels)


def test_no_examples_have_no_predictions(tmp_path: Path) -> None:
    small = small_network("ner", tmp_path)
    assert predictions_of(small.network, small.task, [], small.labels) == []


def test_sizes_count_all_texts_of_an_example(tmp_path: Path) -> None:
    small = small_network("snli", tmp_path)
    sizes = example_sizes(small.task, small.examples[:3])
    assert sizes.tolist() == [5 + 2, 5 + 3, 5 + 3]
    assert texts_of(small.task, small.examples[:1]) == [
        ("Ada", "sleeps", "in", "a", "bed"),
        ("Ada", "sleeps"),
    ]
