"""AllenNLP's module beyond its answers: task checkpoints, gradients, other biLMs, wrong input."""

import copy
import io
import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from torch import nn

import elmokit
from elmokit.compat.allennlp import Elmo, ElmoEmbedder, ScalarMix, _ElmoBiLm, batch_to_ids
from elmokit.config import ModelConfig, WordConfig
from elmokit.formats import native
from elmokit.pretrained.untrained import untrained_checkpoint
from elmokit.text.vocabulary import Vocabulary
from unit.compat.allennlp_weights import write_model

ANSWERS = json.loads((Path(__file__).parent / "allennlp_answers.json").read_text("utf-8"))
SENTENCES = [["The", "bank", "is", "closed", "."], ["Yes"]]
IDS = batch_to_ids(SENTENCES)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    return write_model(tmp_path)


class Tagger(nn.Module):
    """What old task code looks like."""

    def __init__(self, files: tuple[str, str]) -> None:
        super().__init__()
        self.elmo = Elmo(*files, 2, dropout=0.0)
        self.scores = nn.Linear(self.elmo.get_output_dim(), 2)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.scores(self.elmo(ids)["elmo_representations"][1])
        return scores


def old_checkpoint() -> dict[str, torch.Tensor]:
    """A task checkpoint of AllenNLP: the recorded names and weights, and mixes that learnt."""
    recorded = ANSWERS["answers"]["weights"]["state"]
    state = {
        f"elmo.{name}": torch.tensor(one["values"]).reshape(one["shape"])
        for name, one in recorded.items()
    }
    state["elmo.scalar_mix_1.scalar_parameters.2"] = torch.tensor([2.5])
    state["elmo.scalar_mix_1.gamma"] = torch.tensor([0.7])
    state["elmo._elmo_lstm._elmo_lstm.backward_layer_1.state_linearity.bias"] *= 2
    state["elmo._elmo_lstm._token_embedder._highways._layers.1.weight"] *= -1
    state |= {"scores.weight": torch.ones(2, 6), "scores.bias": torch.zeros(2)}
    return state


def test_an_old_task_checkpoint_loads_strictly_and_is_saved_alike(files: tuple[str, str]) -> None:
    tagger, state = Tagger(files), old_checkpoint()
    before = tagger(IDS)
    tagger.load_state_dict(state)
    assert bool((tagger(IDS) - before).abs().max() > 0.01)
    assert tagger.elmo.get_parameter("scalar_mix_1.gamma").item() == pytest.approx(0.7)
    saved = tagger.state_dict()
    assert list(saved) == list(state)
    for name, tensor in state.items():
        assert torch.equal(saved[name], tensor), name
    other = Tagger(files)
    other.load_state_dict(saved)
    assert torch.equal(other(IDS), tagger(IDS))


def test_a_checkpoint_with_mixes_alone(files: tuple[str, str]) -> None:
    tagger, state = Tagger(files), old_checkpoint()
    few = {name: tensor for name, tensor in state.items() if "_elmo_lstm" not in name}
    missing, unexpected = tagger.load_state_dict(few, strict=False)
    assert unexpected == []
    assert set(missing) == {name for name in state if "_elmo_lstm" in name}
    assert tagger.elmo.get_parameter("scalar_mix_1.scalar_parameters.2").item() == 2.5
    with pytest.raises(RuntimeError, match=r"elmo\._elmo_lstm\._token_embedder\.char_conv_0"):
        tagger.load_state_dict(few)


def test_a_checkpoint_that_does_not_fit(files: tuple[str, str]) -> None:
    state = old_checkpoint()
    state["elmo._elmo_lstm._elmo_lstm.forward_layer_0.input_linearity.weight"] = torch.ones(4, 4)
    with pytest.raises(RuntimeError, match="size mismatch"):
        Tagger(files).load_state_dict(state)
    state = old_checkpoint() | {"elmo._elmo_lstm._elmo_lstm.forward_layer_7.x": torch.ones(1)}
    with pytest.raises(RuntimeError, match="forward_layer_7"):
        Tagger(files).load_state_dict(state)


def test_the_bilm_is_frozen_unless_asked(files: tuple[str, str]) -> None:
    frozen = Elmo(*files, 2, dropout=0.0)
    names = [name for name, one in frozen.named_parameters() if one.requires_grad]
    assert names == [
        f"scalar_mix_{mix}.{name}"
        for mix in range(2)
        for name in ("gamma", *(f"scalar_parameters.{layer}" for layer in range(3)))
    ]
    trained = Elmo(*files, 1, requires_grad=True, dropout=0.0)
    trained(IDS)["elmo_representations"][0].square().sum().backward()
    gradients = [one.grad for one in trained.parameters()]
    assert all(gradient is not None and bool(gradient.any()) for gradient in gradients)


def test_training_goes_on_through_carried_state(files: tuple[str, str]) -> None:
    elmo = Elmo(*files, 1, requires_grad=True, dropout=0.0, start="carry")
    for batch in (SENTENCES, [["one"], ["two"], ["three", "words", "."]], SENTENCES[:1]):
        elmo(batch_to_ids(batch))["elmo_representations"][0].sum().backward()
    with torch.inference_mode():
        elmo(IDS)
    elmo(IDS)["elmo_representations"][0].sum().backward()


def test_dropout_acts_in_training_alone(files: tuple[str, str]) -> None:
    elmo = Elmo(*files, 1)
    whole = elmo.eval()(IDS)["elmo_representations"][0]
    torch.manual_seed(0)
    dropped = elmo.train()(IDS)["elmo_representations"][0]
    zeros = (dropped[0] == 0) & (whole[0] != 0)
    assert 0 < int(zeros.sum()) < zeros.numel()
    torch.testing.assert_close(dropped[0][~zeros], 2 * whole[0][~zeros])


def test_copies_and_saved_modules_answer_alike(files: tuple[str, str]) -> None:
    elmo = Elmo(*files, 1, dropout=0.0, vocab_to_cache=["@@PADDING@@", "Yes"], start="warm")
    expected = elmo(IDS)["elmo_representations"][0]
    stream = io.BytesIO()
    torch.save(elmo, stream)
    stream.seek(0)
    for other in (copy.deepcopy(elmo), torch.load(stream, weights_only=False)):
        assert torch.equal(other(IDS)["elmo_representations"][0], expected)


def test_words_that_are_not_cached_go_by_their_characters(files: tuple[str, str]) -> None:
    elmo = Elmo(*files, 1, dropout=0.0, vocab_to_cache=["@@PADDING@@", "Yes"])
    expected = elmo(IDS)["elmo_representations"][0]
    beyond = torch.tensor([[1, 2, 3, 4, 5], [1, 0, 0, 0, 0]])
    assert torch.equal(elmo(IDS, beyond)["elmo_representations"][0], expected)
    yes = elmo(None, torch.tensor([[1]]))["elmo_representations"][0]
    torch.testing.assert_close(yes[0], expected[1, :1], atol=1e-6, rtol=0)
    with pytest.raises(elmokit.InputError, match="expected ids below 2, found 5"):
        elmo(None, beyond)
    plain = Elmo(*files, 1, dropout=0.0)
    with pytest.warns(UserWarning, match="without vocab_to_cache"):
        found = plain(IDS, beyond)
    assert torch.equal(found["elmo_representations"][0], expected)
    with pytest.warns(UserWarning, match="the biLM is trained"):
        Elmo(*files, 1, requires_grad=True, vocab_to_cache=["@@PADDING@@", "Yes"])


class Ones(nn.Module):
    """Something else in the place of the biLM."""

    num_layers = 2

    def forward(self, inputs: torch.Tensor, word_inputs: Any = None) -> dict[str, Any]:
        mask = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]])
        layer = mask[:, :, None].float().expand(-1, -1, 6)
        return {"activations": [layer, 3 * layer], "mask": mask}

    def get_output_dim(self) -> int:
        return 6


def test_another_module_in_the_place_of_the_bilm() -> None:
    elmo = Elmo(None, None, 1, dropout=0.0, module=Ones())
    found = elmo(batch_to_ids([["a", "b"], ["c"]]))
    assert elmo.get_output_dim() == 6
    assert found["mask"].tolist() == [[1, 1], [1, 0]]
    assert found["elmo_representations"][0][:, :, 0].tolist() == [[2, 2], [2, 0]]
    with pytest.raises(elmokit.InputError, match="module: given with options_file"):
        Elmo("options.json", None, 1, module=Ones())


def test_the_bilm_alone(files: tuple[str, str]) -> None:
    bilm = _ElmoBiLm(*files)
    found = bilm(IDS)
    assert [tuple(layer.shape) for layer in found["activations"]] == [(2, 7, 6)] * 3
    assert found["mask"].tolist() == [[1] * 7, [1, 1, 1, 0, 0, 0, 0]]
    assert not found["activations"][1][1, 3:].any()
    wider = torch.cat([IDS, torch.zeros_like(IDS)], dim=1)
    assert bilm(wider)["activations"][2].shape == (2, 12, 6)


def test_any_model_of_elmokit(tmp_path: Path) -> None:
    """A folder or a name in the place of the two files, and no skip connections needed."""
    with pytest.warns(UserWarning, match="untrained"):
        elmo = Elmo(None, "tiny-untrained", 1, dropout=0.0)
    expected = elmokit.load("tiny-untrained", start="zeros", device="cpu").embed(SENTENCES)
    found = elmo(IDS)["elmo_representations"][0].detach().numpy()
    for row, vectors in enumerate(expected):
        np.testing.assert_allclose(found[row, : len(vectors)], vectors, atol=1e-5)
    native.write(untrained_checkpoint(), tmp_path / "model")
    with pytest.warns(UserWarning, match="untrained"):
        embedder = ElmoEmbedder(None, tmp_path / "model")
    assert embedder.embed_sentence(["a"]).shape == (3, 1, 64)


@pytest.mark.parametrize("start", ["zeros", "carry"])
def test_sentences_of_no_tokens(files: tuple[str, str], start: Any) -> None:
    embedder = ElmoEmbedder(*files, start=start)
    assert embedder.embed_sentence([]).shape == (3, 0, 6)
    assert [one.shape for one in embedder.embed_batch([[], ["a"]])] == [(3, 0, 6), (3, 1, 6)]
    assert embedder.embed_batch([]) == []
    assert list(embedder.embed_sentences([])) == []
    assert batch_to_ids([[]]).shape == (1, 0, 50)
    found = Elmo(*files, 1, start=start)(batch_to_ids([[]]))
    assert found["elmo_representations"][0].shape == (1, 0, 6)


def test_wrong_input(files: tuple[str, str], tmp_path: Path) -> None:
    elmo, embedder = Elmo(*files, 1), ElmoEmbedder(*files)
    error = elmokit.InputError
    with pytest.raises(error, match="weight_file: AllenNLP fetched its original model"):
        ElmoEmbedder()
    address = "https://example.org/weights.hdf5"
    with pytest.raises(error, match=f"weight_file: expected a file, found '{address}'"):
        Elmo(files[0], address, 1)
    with pytest.raises(error, match=r"num_output_representations: .* found '2'"):
        Elmo(*files, "2")  # type: ignore[arg-type]
    with pytest.raises(error, match=r"expected 3 values, found \[1.0, 2.0\]"):
        Elmo(*files, 1, scalar_mix_parameters=[1.0, 2.0])
    with pytest.raises(error, match=r"\(sentences, tokens, 50\).* found torch.int64 of shape \(2"):
        elmo(torch.ones(2, 3, 20, dtype=torch.long))
    with pytest.raises(error, match=r"found torch\.float32"):
        elmo(torch.ones(2, 3, 50))
    with pytest.raises(error, match="ids of 0 to 261, found 1 to 300"):
        elmo(torch.cat([torch.ones(1, 1, 50).long(), torch.full((1, 1, 50), 300)]))
    with pytest.raises(error, match="must stand after the tokens"):
        elmo(IDS.flip(1))
    with pytest.raises(error, match="found an empty batch"):
        elmo(batch_to_ids([]))
    with pytest.raises(error, match="expected character ids, found None"):
        elmo(None)
    with pytest.raises(error, match="found the raw string 'The bank'"):
        batch_to_ids(["The bank"])
    with pytest.raises(error, match="found the raw string 'The bank'"):
        embedder.embed_batch(["The bank"])
    with pytest.raises(error, match=r"batch_size: .* found 0"):
        embedder.embed_sentences([["a"]], batch_size=0)
    with pytest.raises(error, match=r"cuda_device: .* found 'cuda'"):
        ElmoEmbedder(*files, "cuda")  # type: ignore[arg-type]
    with pytest.raises(error, match="mask: layer norm"):
        ScalarMix(1, do_layer_norm=True)([torch.ones(1, 1, 2)])
    with pytest.raises(error, match="tensors: expected 2, found 1"):
        ScalarMix(2)([torch.ones(1, 1, 2)])


def test_files_that_cannot_be_embedded(files: tuple[str, str], tmp_path: Path) -> None:
    embedder, output = ElmoEmbedder(*files), tmp_path / "out.hdf5"
    with pytest.raises(elmokit.InputError, match=r"found some at \[1, 3\]"):
        embedder.embed_file(io.StringIO("a\n\nb\n  \n"), output)
    with pytest.raises(elmokit.InputError, match=r"output_format: .* found 'bottom'"):
        embedder.embed_file(io.StringIO("a\n"), output, "bottom")
    with pytest.raises(elmokit.InputError, match="every sentence once, found 'a' again"):
        embedder.embed_file(io.StringIO("a\nb\na\n"), output, use_sentence_keys=True)
    assert not output.exists()


def test_of_two_equal_lines_the_later_is_in_the_index(
    files: tuple[str, str], tmp_path: Path
) -> None:
    ElmoEmbedder(*files).embed_file(io.StringIO("a\nb\na\n"), tmp_path / "out.hdf5")
    with h5py.File(tmp_path / "out.hdf5", "r") as file:
        assert json.loads(file["sentence_to_index"][0]) == {"a": "2", "b": "1"}


def test_models_that_do_not_read_bytes(tmp_path: Path) -> None:
    words = ("<S>", "</S>", "<UNK>", "the")
    config = ModelConfig(
        characters=None,
        words=WordConfig(vocabulary_size=4, embedding_dim=8),
        token_projection=False,
        lstm_dim=24,
        projection_dim=8,
    )
    native.write(untrained_checkpoint(config, vocabulary=Vocabulary(words)), tmp_path / "words")
    with pytest.raises(elmokit.InputError, match=r"that read bytes.*use elmokit\.ElmoLayer"):
        Elmo(None, tmp_path / "words", 1)
