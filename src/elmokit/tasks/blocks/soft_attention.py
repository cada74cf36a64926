"""For each token of one text, the mean of another text's tokens, weighted by how alike they are.

B texts, T tokens of the one, S tokens of the other, D size of a vector
"""

from torch import Tensor

from elmokit.tasks.blocks.masked import masked_softmax


def soft_attention(texts: Tensor, others: Tensor, mask: Tensor) -> Tensor:
    """Map (B, T, D) and (B, S, D) to (B, T, D); ``mask`` (B, S) is that of the others.

    Alike is what has a large scalar product; the weights are its softmax over S.
    """
    scores = texts @ others.transpose(1, 2)  # (B, T, S)
    return masked_softmax(scores, mask[:, None, :]) @ others
