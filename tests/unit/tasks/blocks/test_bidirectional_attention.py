import pytest
import torch

from elmokit.tasks.blocks.bidirectional_attention import BidirectionalAttention


def test_a_case_worked_by_hand() -> None:
    attention = BidirectionalAttention(dim=1)
    with torch.no_grad():
        for weight in attention.parameters():
            weight.zero_()
        attention.similarity.product.fill_(1.0)
    text = torch.tensor([[[0.0], [1.0]]])
    question = torch.tensor([[[0.0], [torch.log(torch.tensor(3.0)).item()]]])
    everything = torch.ones(1, 2, dtype=torch.bool)
    output = attention(text, question, everything, everything)[0]
    # Scores: [0, 0] for token 0 and [0, log 3] for token 1, whose best are 0 and log 3.
    half, three_quarters = 0.5 * question[0, 1, 0].item(), 0.75 * question[0, 1, 0].item()
    assert output[0].tolist() == pytest.approx([0.0, half, 0.0, 0.0])
    assert output[1].tolist() == pytest.approx([1.0, three_quarters, three_quarters, 0.75])


def test_padding_counts_for_nothing() -> None:
    torch.manual_seed(0)
    attention = BidirectionalAttention(dim=4)
    text, question = torch.randn(1, 5, 4), torch.randn(1, 6, 4)
    alone = attention(
        text[:, :3],
        question[:, :2],
        torch.ones(1, 3, dtype=torch.bool),
        torch.ones(1, 2, dtype=torch.bool),
    )
    padded = attention(text, question, torch.arange(5)[None] < 3, torch.arange(6)[None] < 2)
    assert padded.shape == (1, 5, attention.output_dim)
    torch.testing.assert_close(padded[:, :3], alone)
