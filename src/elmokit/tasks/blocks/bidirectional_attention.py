"""Attention from a text to a question and back (BiDAF, Seo et al. 2017).

B texts, T tokens of the text, S tokens of the question, D size of a vector
"""

import torch
from torch import Tensor, nn

from elmokit.tasks.blocks.masked import masked_max, masked_softmax
from elmokit.tasks.blocks.trilinear import TrilinearSimilarity


class BidirectionalAttention(nn.Module):
    """Tells each token of a text what of the question it is about.

    With ``x`` a token, ``c`` the mean of the question as that token weights it, and ``q`` the
    mean of the text as its best matches with the question weight it: ``[x; c; x * c; x * q]``.
    """

    def __init__(self, *, dim: int) -> None:
        super().__init__()
        self.similarity = TrilinearSimilarity(dim=dim)
        self.output_dim = 4 * dim

    def forward(
        self, text: Tensor, question: Tensor, text_mask: Tensor, question_mask: Tensor
    ) -> Tensor:
        """Map (B, T, D) and (B, S, D) to (B, T, 4D)."""
        scores = self.similarity(text, question)  # (B, T, S)
        asked = question_mask[:, None, :]  # (B, 1, S)
        to_question = masked_softmax(scores, asked) @ question  # (B, T, D)
        best = masked_max(scores, asked, dim=2)  # (B, T)
        to_text = masked_softmax(best, text_mask)[:, None, :] @ text  # (B, 1, D)
        return torch.cat([text, to_question, text * to_question, text * to_text], dim=2)
