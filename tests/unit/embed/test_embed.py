"""`Elmo.embed` and `Elmo.embed_iter`: shapes, values, inputs and errors."""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from elmokit.embed.elmo import Elmo
from elmokit.embed.embed_window import MOST_SENTENCES_PER_WINDOW
from elmokit.embed.load import load
from elmokit.embed.start_state import CarriedState
from elmokit.engine.cpu import precision
from elmokit.errors import InputError
from elmokit.formats import native
from elmokit.pretrained.untrained import untrained_checkpoint

MakeElmo = Callable[..., Elmo]

SENTENCES = [
    ["The", "bank", "of", "the", "river", "."],
    ["Money"],
    ["She", "sat", "on", "the", "bank"],
]


def largest_difference(first: list[Any], second: list[Any]) -> float:
    assert [a.shape for a in first] == [b.shape for b in second]
    gaps = [np.abs(a - b).max() for a, b in zip(first, second, strict=True) if a.size]
    return float(max(gaps, default=0.0))


@pytest.mark.parametrize("layers", ["average", "top", 0, 1, -1, [0.2, 0.3, 0.5]])
def test_one_float32_array_of_tokens_by_dim_per_sentence(elmo: Elmo, layers: Any) -> None:
    found = elmo.embed(SENTENCES, layers=layers)
    assert [vectors.shape for vectors in found] == [(6, 16), (1, 16), (5, 16)]
    for vectors in found:
        assert vectors.dtype == np.float32
        assert vectors.flags["C_CONTIGUOUS"]
        assert vectors.flags["OWNDATA"], "a view would keep its whole batch in memory"
        assert np.isfinite(vectors).all()


def test_all_gives_every_layer(elmo: Elmo) -> None:
    found = elmo.embed(SENTENCES, layers="all")
    assert [vectors.shape for vectors in found] == [(3, 6, 16), (3, 1, 16), (3, 5, 16)]
    assert {vectors.dtype for vectors in found} == {np.dtype(np.float32)}
    assert (elmo.layer_count, elmo.dim) == (3, 16)


def test_every_choice_is_a_combination_of_all(elmo: Elmo) -> None:
    every = elmo.embed(SENTENCES, layers="all")
    expected: list[tuple[Any, Callable[[Any], Any]]] = [
        ("average", lambda a: a.mean(axis=0)),
        ("top", lambda a: a[2]),
        (0, lambda a: a[0]),
        (1, lambda a: a[1]),
        (-1, lambda a: a[2]),
        (-3, lambda a: a[0]),
        ([2.0, -1.0, 0.25], lambda a: 2.0 * a[0] - a[1] + 0.25 * a[2]),
    ]
    for layers, combine in expected:
        combined = [combine(array) for array in every]
        assert largest_difference(elmo.embed(SENTENCES, layers=layers), combined) <= 1e-6


def test_layer_0_is_the_token_vector_twice_and_knows_no_context(elmo: Elmo) -> None:
    first, second = elmo.embed([["the", "bank"], ["bank", "of"]], layers=0)
    np.testing.assert_allclose(first[:, :8], first[:, 8:])
    np.testing.assert_allclose(first[1], second[0], atol=1e-6)
    first, second = elmo.embed([["the", "bank"], ["bank", "of"]], layers="top")
    assert np.abs(first[1] - second[0]).max() > 1e-3


def test_raw_strings_are_tokenised(elmo: Elmo) -> None:
    text = "She didn't sit, did she?"
    tokens = [token.text for token in elmo.tokenise(text)]
    assert tokens == ["She", "did", "n't", "sit", ",", "did", "she", "?"]
    assert largest_difference(elmo.embed([text]), elmo.embed([tokens])) <= 1e-6


def test_raw_strings_and_token_lists_may_be_mixed(elmo: Elmo) -> None:
    mixed = elmo.embed(["a b", ["a", "b"], ("a", "b")])
    assert largest_difference(mixed[:2], mixed[1:]) <= 1e-6


def test_offsets_of_tokenise_point_into_the_text(elmo: Elmo) -> None:
    text = "  Don't panic — it's 3.50 €,\tok?  "
    tokens = elmo.tokenise(text)
    assert len(tokens) == len(elmo.embed([text])[0])
    for token in tokens:
        assert text[token.start : token.end] == token.text


def test_tokenise_wants_text(elmo: Elmo) -> None:
    value: Any = b"bytes"
    with pytest.raises(InputError, match=r"^text: expected a string, found b'bytes'$"):
        elmo.tokenise(value)


@pytest.mark.parametrize("kind", [iter, tuple, lambda s: (sentence for sentence in s)])
def test_any_iterable_will_do(elmo: Elmo, kind: Any) -> None:
    assert largest_difference(elmo.embed(kind(SENTENCES)), elmo.embed(SENTENCES)) == 0


def test_a_token_list_may_be_a_generator(elmo: Elmo) -> None:
    sentence: Any = (word for word in SENTENCES[0])
    assert largest_difference(elmo.embed([sentence]), elmo.embed(SENTENCES[:1])) <= 1e-6


def test_the_sentences_handed_over_stay_as_they_are(elmo: Elmo) -> None:
    given = [list(sentence) for sentence in SENTENCES]
    elmo.embed(given)
    assert given == SENTENCES


def test_no_sentences_no_arrays(elmo: Elmo) -> None:
    assert elmo.embed([]) == []
    assert list(elmo.embed_iter([])) == []


@pytest.mark.parametrize("sentence", ["", "   ", "\t\n\u3000", []])
@pytest.mark.parametrize(("layers", "shape"), [("average", (0, 16)), ("all", (3, 0, 16))])
def test_a_sentence_without_tokens_keeps_its_place(
    elmo: Elmo, sentence: Any, layers: str, shape: tuple[int, ...]
) -> None:
    found = elmo.embed([SENTENCES[0], sentence, SENTENCES[1]], layers=layers)
    assert found[1].shape == shape
    assert found[1].dtype == np.float32
    around = elmo.embed([SENTENCES[0], SENTENCES[1]], layers=layers)
    assert largest_difference([found[0], found[2]], around) <= 1e-6


def test_a_token_without_characters_is_a_token(elmo: Elmo) -> None:
    found = elmo.embed([["", "a", ""], [""]])
    assert [vectors.shape for vectors in found] == [(3, 16), (1, 16)]
    assert np.isfinite(found[0]).all()


def test_literal_marks_and_odd_tokens_go_through(elmo: Elmo) -> None:
    tokens = ["<S>", "</S>", "<UNK>", "\x00", "\ud800", "a\nb", "x" * 5000, " "]
    (vectors,) = elmo.embed([tokens])
    assert vectors.shape == (8, 16)
    assert np.isfinite(vectors).all()


def test_embed_iter_gives_what_embed_gives(elmo: Elmo) -> None:
    sentences = [*SENTENCES, "", "raw text", []] * 5
    for layers in ("average", "all"):
        lazy = list(elmo.embed_iter(sentences, layers=layers, batch_tokens=16))
        assert largest_difference(lazy, elmo.embed(sentences, layers=layers)) <= 1e-6


def endless(taken: list[int], sentence: Any) -> Iterator[Any]:
    while True:
        taken.append(1)
        yield sentence


def test_embed_iter_reads_a_bounded_part_ahead(elmo: Elmo) -> None:
    """A window is 8 budgets of tokens: 8 x 40 = 320, or 64 sentences of 3 + 2 tokens."""
    taken: list[int] = []
    embedded = elmo.embed_iter(endless(taken, ["a", "b", "c"]), batch_tokens=40)
    assert not taken, "nothing is read before it is asked for"
    most_ahead = 0
    for given, vectors in enumerate(islice(embedded, 500), start=1):
        assert vectors.shape == (3, 16)
        most_ahead = max(most_ahead, len(taken) - given)
    assert most_ahead < 64


def test_embed_iter_is_bounded_for_sentences_without_tokens(elmo: Elmo) -> None:
    taken: list[int] = []
    embedded = elmo.embed_iter(endless(taken, []), batch_tokens=10**9)
    assert next(embedded).shape == (0, 16)
    assert len(taken) <= MOST_SENTENCES_PER_WINDOW


def test_carrying_reads_one_batch_ahead(make_elmo: MakeElmo) -> None:
    taken: list[int] = []
    embedded = make_elmo(start="carry").embed_iter(
        endless(taken, ["a", "b"]), state=CarriedState(rows=4)
    )
    next(embedded)
    assert len(taken) == 4


def test_an_error_in_the_middle_of_a_stream_comes_when_it_is_reached(elmo: Elmo) -> None:
    sentences: Any = iter([["a"] * 10, ["a"] * 10, ["a", 7]])
    embedded = elmo.embed_iter(sentences, batch_tokens=1)  # a window is 8 tokens: one sentence
    next(embedded)
    next(embedded)
    with pytest.raises(InputError, match=r"^sentence 2, token 1: expected a string, found 7$"):
        next(embedded)


def test_repeated_calls_are_equal_to_the_bit(elmo: Elmo) -> None:
    assert largest_difference(elmo.embed(SENTENCES), elmo.embed(SENTENCES)) == 0


def test_a_progress_bar_changes_nothing_and_is_silent_without_a_terminal(
    elmo: Elmo, capsys: pytest.CaptureFixture[str]
) -> None:
    found = elmo.embed(SENTENCES, progress=True)
    assert largest_difference(found, elmo.embed(SENTENCES)) == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("method", ["embed", "embed_iter"])
@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        ("a bare string", "sentences: expected a list of sentences, found one string 'a bare str"),
        (b"bytes", "sentences: expected a list of sentences, found one string b'bytes'"),
        (None, "sentences: expected a list of sentences, found None"),
        (12, "sentences: expected a list of sentences, found 12"),
        ([None], "sentence 0: expected a string or a list of tokens, found None"),
        ([["a"], b"x"], "sentence 1: expected a string or a list of tokens, found b'x'"),
        ([["a", 1]], "sentence 0, token 1: expected a string, found 1"),
        ([["a", None]], "sentence 0, token 1: expected a string, found None"),
        ([[b"a"]], "sentence 0, token 0: expected a string, found b'a'"),
        ([[["a"]]], "sentence 0, token 0: expected a string, found ['a']"),
    ],
)
def test_what_is_no_list_of_sentences(
    elmo: Elmo, method: str, sentences: Any, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        list(getattr(elmo, method)(sentences))
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layers": "bottom"}, "layers: expected 'average', .*found 'bottom'"),
        ({"layers": 3}, "layers: this model has layers 0 to 2, found 3"),
        ({"layers": [1.0]}, r"layers: .* each of the 3 layers, found \[1.0\]"),
        ({"batch_tokens": 0}, "batch_tokens: expected a whole number above 0, found 0"),
        ({"batch_tokens": 2.5}, "batch_tokens: expected a whole number above 0, found 2.5"),
        ({"state": CarriedState()}, "state: only start='carry' carries one, found start='warm'"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_read(
    elmo: Elmo, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        elmo.embed(["a"], **arguments)
    taken: list[int] = []
    with pytest.raises(InputError, match=message):
        elmo.embed_iter(endless(taken, "a"), **arguments)
    assert not taken


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"device": "gpu"}, "device: expected 'auto', 'cpu' or, .*'cuda', found 'gpu'"),
        ({"dtype": "float16"}, "dtype: expected one of float32, .*found 'float16'"),
        ({"dtype": torch.float32}, "dtype: expected one of float32, .*found torch.float32"),
        ({"start": "hot"}, "start: expected one of zeros, warm, carry, found 'hot'"),
        ({"start": None}, "start: expected one of zeros, warm, carry, found None"),
    ],
)
def test_wrong_arguments_of_a_model(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Elmo(untrained_checkpoint(), **arguments)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
def test_cuda_without_cuda() -> None:
    with pytest.raises(InputError, match=r"^device: .* a GPU, 'cuda', found 'cuda:1'$"):
        Elmo(untrained_checkpoint(), device="cuda:1")


@pytest.mark.parametrize("device", ["meta", "hpu", None])
def test_a_device_that_torch_knows_but_has_not_got(device: Any) -> None:
    with pytest.raises(InputError, match="device"):
        Elmo(untrained_checkpoint(), device=device).embed(["a"])


def test_float64_is_close_to_float32(make_elmo: MakeElmo) -> None:
    exact = make_elmo(dtype="float64").embed(SENTENCES, layers="all")
    assert {vectors.dtype for vectors in exact} == {np.dtype(np.float32)}
    gap = largest_difference(exact, make_elmo().embed(SENTENCES, layers="all"))
    assert 0 < gap <= 5e-6


def test_bfloat16_is_close_to_float32(make_elmo: MakeElmo, monkeypatch: pytest.MonkeyPatch) -> None:
    """bfloat16 keeps 8 bits: two or three decimals of numbers of size 1."""
    monkeypatch.setattr(precision, "has_fast_bfloat16", lambda: True)
    rough = make_elmo(dtype="bfloat16").embed(SENTENCES, layers="all")
    assert {vectors.dtype for vectors in rough} == {np.dtype(np.float32)}
    exact = make_elmo().embed(SENTENCES, layers="all")
    assert 0 < largest_difference(rough, exact) <= 0.1
    assert np.mean([np.abs(a - b).mean() for a, b in zip(rough, exact, strict=True)]) <= 0.01


def test_a_saved_model_gives_equal_vectors(make_elmo: MakeElmo, tmp_path: Path) -> None:
    elmo = make_elmo()
    before = elmo.embed(SENTENCES, layers="all")
    elmo.save(tmp_path / "saved")
    again = load(tmp_path / "saved", device="cpu")
    assert again.metadata == elmo.metadata
    assert again.config == elmo.config
    assert largest_difference(before, again.embed(SENTENCES, layers="all")) <= 1e-6
    with pytest.raises(InputError, match="exists already"):
        elmo.save(tmp_path / "saved")
    elmo.save(tmp_path / "saved", overwrite=True)


def test_a_word_model_is_saved_with_its_vocabulary(word_elmo: Elmo, tmp_path: Path) -> None:
    word_elmo.save(tmp_path / "saved")
    again = load(tmp_path / "saved", device="cpu")
    assert again.vocabulary == word_elmo.vocabulary
    assert largest_difference(word_elmo.embed(["the cat"]), again.embed(["the cat"])) <= 1e-6


def test_the_stored_start_state_is_the_one_that_is_used(
    make_elmo: MakeElmo, tmp_path: Path
) -> None:
    elmo = make_elmo()
    elmo.save(tmp_path / "saved")
    checkpoint = native.read(tmp_path / "saved")
    stored = [name for name in checkpoint.tensors if name.startswith("start_state.")]
    assert len(stored) == 4
    for name in stored:
        checkpoint.tensors[name].zero_()
    native.write(checkpoint, tmp_path / "changed")
    changed = load(tmp_path / "changed", device="cpu", start="warm").embed(SENTENCES)
    assert largest_difference(changed, make_elmo(start="zeros").embed(SENTENCES)) <= 1e-6
    assert largest_difference(changed, elmo.embed(SENTENCES)) > 1e-3


def test_unknown_words_of_a_word_model_are_alike(word_elmo: Elmo) -> None:
    first, second, known = word_elmo.embed([["the", "dog"], ["the", "fox"], ["the", "cat"]])
    np.testing.assert_array_equal(first, second)
    assert np.abs(first - known).max() > 1e-3


def test_a_model_says_what_it_is(elmo: Elmo) -> None:
    assert repr(elmo) == (
        "Elmo('tiny-untrained', layers=3, dim=16, start='warm', device='cpu', dtype='float32')"
    )


def test_embedding_inside_a_training_step_asks_for_no_gradients(elmo: Elmo) -> None:
    with torch.enable_grad():
        elmo.embed(SENTENCES)
    assert all(not parameter.requires_grad for parameter in elmo.bilm.parameters())


def test_embedding_after_embedding_in_inference_mode(make_elmo: MakeElmo) -> None:
    elmo = make_elmo()
    with torch.inference_mode():
        elmo.embed([["hello"]])
    assert elmo.embed([["other"]])[0].shape == (1, 16)
