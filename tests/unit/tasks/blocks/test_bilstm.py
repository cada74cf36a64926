"""The bidirectional LSTM against torch's own over packed texts."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from elmokit.tasks.blocks.bilstm import BiLSTM


def packed_outputs(bilstm: BiLSTM, inputs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    outputs = inputs
    for ahead, behind in zip(bilstm.forward_layers, bilstm.backward_layers, strict=True):
        assert isinstance(ahead, nn.LSTM)
        assert isinstance(behind, nn.LSTM)
        both = nn.LSTM(ahead.input_size, ahead.hidden_size, batch_first=True, bidirectional=True)
        own = dict(both.named_parameters())
        with torch.no_grad():
            for name, weight in ahead.named_parameters():
                own[name].copy_(weight)
            for name, weight in behind.named_parameters():
                own[f"{name}_reverse"].copy_(weight)
        packed = pack_padded_sequence(outputs, lengths, batch_first=True, enforce_sorted=False)
        outputs = pad_packed_sequence(both(packed)[0], batch_first=True)[0]
    return outputs


def test_it_equals_torchs_own_over_packed_texts() -> None:
    torch.manual_seed(0)
    bilstm = BiLSTM(input_dim=5, hidden_dim=4, layers=2, dropout=0.3).eval()
    lengths = torch.tensor([7, 1, 4])
    mask = torch.arange(7) < lengths[:, None]
    inputs = torch.randn(3, 7, 5)  # padding is not zero, and must not matter
    found = bilstm(inputs, mask)
    expected = packed_outputs(bilstm, inputs, lengths)
    # The same sums in float32, by another routine.
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-5)
    assert bilstm.output_dim == 8
    assert (found[1, 1:] == 0).all()


def test_dropout_is_the_same_at_every_token() -> None:
    torch.manual_seed(0)
    bilstm = BiLSTM(input_dim=50, hidden_dim=2, dropout=0.5)
    dropped = bilstm.dropout(torch.ones(3, 6, 50))
    assert torch.equal(dropped, dropped[:, :1].expand(3, 6, 50))
    assert set(dropped.unique().tolist()) == {0.0, 2.0}
    assert not torch.equal(dropped[0], dropped[1])
