"""Highway layers (Srivastava et al. 2015) as the biLM's character CNN uses them."""

from torch import Tensor, nn


class HighwayLayer(nn.Module):
    """``y = g * relu(W_t x + b_t) + (1 - g) * x`` with ``g = sigmoid(W_g x + b_g)``.

    ``gate`` opens the transform. bilm-tf calls it "carry" and ManyLangs gates ``x`` instead;
    their readers translate.
    """

    def __init__(self, *, dim: int) -> None:
        super().__init__()
        self.transform = nn.Linear(dim, dim)
        self.gate = nn.Linear(dim, dim)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start close to the identity, as bilm-tf does."""
        for linear in (self.transform, self.gate):
            nn.init.normal_(linear.weight, std=linear.in_features**-0.5)
        nn.init.zeros_(self.transform.bias)
        nn.init.constant_(self.gate.bias, -2.0)

    def forward(self, inputs: Tensor) -> Tensor:
        """Map (..., dim) to (..., dim)."""
        gate: Tensor = self.gate(inputs).sigmoid()
        transformed: Tensor = self.transform(inputs).relu()
        return gate * transformed + (1 - gate) * inputs
