import torch

from elmokit.tasks.blocks.maxout import Maxout


def test_each_unit_is_the_largest_of_its_pieces() -> None:
    layer = Maxout(input_dim=1, output_dim=2, pieces=2)
    with torch.no_grad():
        layer.linear.weight.copy_(torch.tensor([[1.0], [-1.0], [2.0], [0.0]]))
        layer.linear.bias.copy_(torch.tensor([0.0, 0.0, 1.0, 4.0]))
    # Unit 0 is max(x, -x), unit 1 is max(2x + 1, 4).
    found = layer(torch.tensor([[-3.0], [0.5], [5.0]]))
    torch.testing.assert_close(found, torch.tensor([[3.0, 4.0], [0.5, 4.0], [5.0, 11.0]]))
