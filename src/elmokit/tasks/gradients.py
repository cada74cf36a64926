"""A task's forward and backward pass, as plain calls or as CUDA graphs.

The models of tasks are many small kernels, and a GPU waits for Python to start them. A pass that
is recorded for the shapes of a batch is started at once. Texts are padded to a few lengths, so
that a few dozen graphs do for all batches.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from elmokit.tasks.inputs.lexicon import Forms
from elmokit.tasks.network import Batch, TaskNetwork

# A shape is recorded when it comes for this time, and as long as there are not too many.
RECORDED_AT = 2
MOST_GRAPHS = 256
WARM_UP_RUNS = 2

Shapes = tuple[tuple[int, ...], ...]


class PlainGradients:
    """Leaves the gradients of the summed losses of a batch, times a scale, in the parameters."""

    def __init__(self, network: TaskNetwork, *, narrow: bool) -> None:
        """``narrow``: products are made in bfloat16."""
        self.network = network
        self.narrow = narrow

    def __call__(self, batch: Batch, scale: float) -> Tensor:
        """Give the scaled sum of the losses of a batch on the CPU."""
        device = self.network.device
        loss = self.loss(batch.to(device), torch.tensor(scale, device=device))
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.detach()

    def loss(self, batch: Batch, scale: Tensor) -> Tensor:
        """Give the scaled sum, with the penalty on mix weights added."""
        network = self.network
        # A cache of narrow weights would outlive a recorded pass.
        with torch.autocast(
            network.device.type, torch.bfloat16, enabled=self.narrow, cache_enabled=False
        ):
            losses = network.losses(batch)
        total = losses.sum() * scale
        vectors = network.token_vectors
        return total + vectors.penalty() if vectors.has_elmo else total


def penalty_gradients(network: TaskNetwork) -> Tensor:
    """Leave the gradients of the penalty alone, as a process without examples has to, and give it.

    The processes' mean then has the whole penalty.
    """
    vectors = network.token_vectors
    penalty = vectors.penalty() if vectors.has_elmo else torch.zeros((), device=network.device)
    if penalty.requires_grad:
        penalty.backward()  # type: ignore[no-untyped-call]
    return penalty.detach()


@dataclass(frozen=True)
class _Recorded:
    graph: torch.cuda.CUDAGraph
    inputs: Batch
    scale: Tensor
    loss: Tensor
    has_gradient: tuple[bool, ...]


class GraphedGradients:
    """The same, recorded for each shape of batches that comes often."""

    def __init__(
        self, network: TaskNetwork, parameters: Mapping[str, nn.Parameter], *, narrow: bool
    ) -> None:
        self._plain = PlainGradients(network, narrow=narrow)
        self._parameters = list(parameters.values())
        # All graphs leave their gradients here, or each would keep its own.
        self._gradients = [torch.empty_like(parameter) for parameter in self._parameters]
        self._met: Counter[Shapes] = Counter()
        self._recorded: dict[Shapes, _Recorded] = {}
        self._forms: Forms | None = None
        self._pool = torch.cuda.graph_pool_handle()

    def __call__(self, batch: Batch, scale: float) -> Tensor:
        """Give what `PlainGradients` gives."""
        # A graph reads what is known of forms where that lay when it was recorded.
        forms = self._plain.network.lexicon.forms(self._plain.network.device)
        if forms is not self._forms:
            self._recorded.clear()
            self._forms = forms
        shapes = tuple(tuple(tensor.shape) for tensor in batch.tensors())
        recorded = self._recorded.get(shapes)
        if recorded is None:
            self._met[shapes] += 1
            if self._met[shapes] < RECORDED_AT or len(self._recorded) >= MOST_GRAPHS:
                return self._plain(batch, scale)
            recorded = self._recorded[shapes] = self._record(batch)
        for own, given in zip(recorded.inputs.tensors(), batch.tensors(), strict=True):
            own.copy_(given, non_blocking=True)
        recorded.scale.fill_(scale)
        recorded.graph.replay()
        for parameter, gradient, is_there in zip(
            self._parameters, self._gradients, recorded.has_gradient, strict=True
        ):
            parameter.grad = gradient if is_there else None
        return recorded.loss.clone()

    def _record(self, batch: Batch) -> _Recorded:
        device = self._plain.network.device
        # Recording must change neither the random draws of the step nor the averages of batch
        # normalisation.
        state = torch.cuda.get_rng_state(device)
        buffers = [(buffer, buffer.clone()) for buffer in self._plain.network.model.buffers()]
        inputs = batch.to(device)
        scale = torch.ones((), device=device)
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UP_RUNS):
                self._run(inputs, scale)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        # Another thread may pin memory meanwhile.
        with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
            loss, has_gradient = self._run(inputs, scale)
        torch.cuda.set_rng_state(state, device)
        for buffer, before in buffers:
            buffer.copy_(before)
        return _Recorded(graph, inputs, scale, loss, has_gradient)

    def _run(self, inputs: Batch, scale: Tensor) -> tuple[Tensor, tuple[bool, ...]]:
        """Compute the gradients; give the loss, and which parameters it depends on."""
        loss = self._plain.loss(inputs, scale)
        found = torch.autograd.grad(loss, self._parameters, allow_unused=True)
        pairs = [
            (own, new) for own, new in zip(self._gradients, found, strict=True) if new is not None
        ]
        torch._foreach_copy_([own for own, _ in pairs], [new for _, new in pairs])
        return loss.detach(), tuple(new is not None for new in found)
