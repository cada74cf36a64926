import math

import torch

from elmokit.tasks.blocks.soft_attention import soft_attention


def test_weights_are_the_softmax_of_scalar_products() -> None:
    text = torch.tensor([[[math.log(3.0), 0.0]]])
    others = torch.tensor([[[1.0, 5.0], [0.0, 1.0], [9.0, 9.0]]])
    mask = torch.tensor([[True, True, False]])
    # Scalar products log 3 and 0: weights 3/4 and 1/4; what is masked does not count.
    expected = torch.tensor([[[0.75, 4.0]]])
    torch.testing.assert_close(soft_attention(text, others, mask), expected)
