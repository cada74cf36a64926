"""From a config and tensors to a module, and back."""

from torch import Tensor, nn

from elmokit.config import ModelConfig
from elmokit.engine.cpu.tiles import avoid_broken_tiles
from elmokit.nn.bilm import BiLM
from elmokit.nn.char_cnn import CharacterCNN
from elmokit.nn.projected_lstm import LSTMStack, ProjectedLSTM
from elmokit.nn.token_encoder import TokenEncoder
from elmokit.nn.without_weights import without_weights


def build_bilm(config: ModelConfig, *, dropout: float = 0.0) -> BiLM:
    """Make a freshly initialised biLM."""
    avoid_broken_tiles()  # here, because nothing can be computed with a biLM before
    characters = words = None
    if config.characters is not None:
        characters = CharacterCNN(
            alphabet_size=config.characters.alphabet_size,
            embedding_dim=config.characters.embedding_dim,
            filters=config.characters.filters,
            activation=config.characters.activation,
            highway_layers=config.characters.highway_layers,
        )
    if config.words is not None:
        words = nn.Embedding(config.words.vocabulary_size, config.words.embedding_dim)
    return BiLM(
        token_encoder=TokenEncoder(
            characters=characters,
            words=words,
            projection_dim=config.projection_dim if config.token_projection else None,
        ),
        forward_lstm=_build_stack(config, dropout),
        backward_lstm=_build_stack(config, dropout),
    )


def bilm_from_tensors(config: ModelConfig, tensors: dict[str, Tensor]) -> BiLM:
    """Make a biLM that holds the given tensors (not copies of them)."""
    with without_weights():
        bilm = build_bilm(config)
    own = {name: tensors[name] for name in bilm.state_dict()}
    bilm.load_state_dict(own, assign=True)
    return bilm.requires_grad_(False).eval()


def _build_stack(config: ModelConfig, dropout: float) -> LSTMStack:
    return LSTMStack(
        [
            ProjectedLSTM(
                input_dim=config.projection_dim,
                hidden_dim=config.lstm_dim,
                projection_dim=config.projection_dim if config.lstm_projection else None,
                cell_clip=config.cell_clip,
                projection_clip=config.projection_clip,
                forget_bias=config.forget_bias,
            )
            for _ in range(config.layers)
        ],
        skip_connections=config.skip_connections,
        dropout=dropout,
    )
