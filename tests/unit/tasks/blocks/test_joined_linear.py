"""A linear layer applied part by part equals the layer over the joined vector."""

import torch

from elmokit.tasks.blocks.joined_linear import JoinedLinear


def test_the_parts_add_up_to_the_layer_over_the_joined_vector() -> None:
    torch.manual_seed(0)
    layer = JoinedLinear(input_dims=(3, 1, 2), output_dim=4)
    parts = [torch.randn(5, size) for size in (3, 1, 2)]

    added = sum(layer(*parts), start=torch.zeros(5, 4))

    torch.testing.assert_close(added, layer.joined(torch.cat(parts, dim=1)))


def test_parts_of_other_shapes_broadcast_when_they_are_added() -> None:
    layer = JoinedLinear(input_dims=(3, 2), output_dim=4)

    rows, columns = layer(torch.randn(5, 1, 3), torch.randn(6, 2))

    assert (rows + columns).shape == (5, 6, 4)
