import pytest
import torch
from torch import nn

from elmokit.nn.char_cnn import CharacterCNN
from elmokit.nn.token_encoder import TokenEncoder


def make_characters() -> CharacterCNN:
    return CharacterCNN(alphabet_size=9, embedding_dim=2, filters=((1, 3), (2, 4)))


@pytest.fixture
def character_ids() -> torch.Tensor:
    return torch.tensor([[0, 1, 2, 3], [4, 5, 6, 7], [8, 8, 8, 8]])


@pytest.fixture
def word_ids() -> torch.Tensor:
    return torch.tensor([4, 0, 4])


def test_characters_alone(character_ids: torch.Tensor) -> None:
    characters = make_characters()
    encoder = TokenEncoder(characters=characters)
    assert encoder.output_dim == 7
    assert encoder.projection is None
    torch.testing.assert_close(encoder(character_ids, None), characters(character_ids))


def test_words_alone(word_ids: torch.Tensor) -> None:
    words = nn.Embedding(5, 6)
    encoder = TokenEncoder(words=words)
    assert encoder.output_dim == 6
    torch.testing.assert_close(encoder(None, word_ids), words.weight[word_ids])


def test_words_stand_before_characters(character_ids: torch.Tensor, word_ids: torch.Tensor) -> None:
    characters, words = make_characters(), nn.Embedding(5, 6)
    encoder = TokenEncoder(characters=characters, words=words)
    assert encoder.output_dim == 13
    vectors = encoder(character_ids, word_ids)
    torch.testing.assert_close(vectors[:, :6], words.weight[word_ids])
    torch.testing.assert_close(vectors[:, 6:], characters(character_ids))


def test_projection(character_ids: torch.Tensor, word_ids: torch.Tensor) -> None:
    characters, words = make_characters(), nn.Embedding(5, 6)
    encoder = TokenEncoder(characters=characters, words=words, projection_dim=4)
    assert encoder.output_dim == 4
    assert encoder.projection is not None
    nn.init.normal_(encoder.projection.bias)
    features = torch.cat([words.weight[word_ids], characters(character_ids)], dim=1)
    expected = features @ encoder.projection.weight.T + encoder.projection.bias
    torch.testing.assert_close(encoder(character_ids, word_ids), expected)


def test_ids_that_a_model_does_not_read_are_passed_over(
    character_ids: torch.Tensor, word_ids: torch.Tensor
) -> None:
    encoder = TokenEncoder(words=nn.Embedding(5, 6))
    torch.testing.assert_close(encoder(character_ids, word_ids), encoder(None, word_ids))


def test_gradients_reach_every_parameter(
    character_ids: torch.Tensor, word_ids: torch.Tensor
) -> None:
    encoder = TokenEncoder(characters=make_characters(), words=nn.Embedding(5, 6), projection_dim=4)
    encoder(character_ids, word_ids).square().sum().backward()
    for name, parameter in encoder.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0, name


def test_no_input_at_all() -> None:
    with pytest.raises(ValueError, match="characters, words or both"):
        TokenEncoder()
