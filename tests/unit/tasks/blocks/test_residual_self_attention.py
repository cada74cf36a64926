import torch
from torch import Tensor, nn

from elmokit.tasks.blocks.residual_self_attention import ResidualSelfAttention


class _Identity(nn.Module):
    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        return inputs


def _bare(dim: int) -> ResidualSelfAttention:
    """Attention over the inputs themselves, whose output is what is attended to."""
    layer = ResidualSelfAttention(dim=dim, hidden_dim=dim // 2, dropout=0.0)
    layer.encoder = _Identity()  # type: ignore[assignment]
    with torch.no_grad():
        layer.projection.weight.zero_()
        layer.projection.weight[:, dim : 2 * dim] = torch.eye(dim)
    return layer


def test_a_token_attends_to_the_others_alone() -> None:
    layer = _bare(2)
    with torch.no_grad():
        for weight in layer.similarity.parameters():
            weight.zero_()
        layer.nothing.zero_()
    inputs = torch.tensor([[[1.0, 0.0], [0.0, 4.0], [8.0, 0.0]]])
    mask = torch.ones(1, 3, dtype=torch.bool)
    # All scores are 0 and so is that of nothing: a third goes to each of two tokens and nothing.
    attended = torch.tensor([[8.0, 4.0], [9.0, 0.0], [1.0, 4.0]]) / 3
    torch.testing.assert_close(layer(inputs, mask)[0] - inputs[0], attended)


def test_a_lone_token_stays_as_it_is() -> None:
    layer = _bare(2)
    inputs = torch.tensor([[[3.0, 5.0], [7.0, 7.0]]])
    output = layer(inputs, torch.tensor([[True, False]]))
    assert output[0, 0].tolist() == [3.0, 5.0]


def test_padding_counts_for_nothing() -> None:
    torch.manual_seed(0)
    layer = ResidualSelfAttention(dim=6, hidden_dim=4, dropout=0.0)
    inputs = torch.randn(1, 7, 6)
    alone = layer(inputs[:, :4], torch.ones(1, 4, dtype=torch.bool))
    padded = layer(inputs, torch.arange(7)[None] < 4)
    torch.testing.assert_close(padded[:, :4], alone)
