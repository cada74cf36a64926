"""A task as the training loop sees it: examples in, gradients out, the best epoch kept."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from elmokit.errors import InputError
from elmokit.tasks.batches import epoch_batches
from elmokit.tasks.evaluate import example_sizes, predictions_of
from elmokit.tasks.gradients import GraphedGradients, PlainGradients, penalty_gradients
from elmokit.tasks.network import Batch, TaskNetwork
from elmokit.tasks.settings import Recipe
from elmokit.tasks.task import Labels, Task
from elmokit.training.distributed import World
from elmokit.training.journal import LiveLine
from elmokit.training.made_ahead import MadeAhead
from elmokit.training.seeds import mixed_seed

LOSS_NAME = "training_loss"


class TaskLearner:
    """Trains a network on examples, and looks at the dev examples after each epoch."""

    def __init__(
        self,
        network: TaskNetwork,
        task: Task[Any],
        train: Sequence[Any],
        dev: Sequence[Any],
        labels: Labels,
        recipe: Recipe,
        *,
        world: World,
        line: LiveLine,
        graphed: bool = True,
    ) -> None:
        """``graphed``: on a GPU steps are recorded as CUDA graphs."""
        self.network = network
        self.task = task
        self.train, self.dev = train, dev
        self.labels = labels
        self.recipe = recipe
        self.world = world
        self.line = line
        self.history: list[float] = []
        """The deciding score on the dev examples after each epoch, in per cent."""
        self._parameters = {
            name: parameter
            for name, parameter in network.named_parameters()
            if parameter.requires_grad
        }
        self._sizes = example_sizes(task, train)
        self._average: dict[str, Tensor] | None = None
        if recipe.average is not None:
            self._average = {name: p.detach().clone() for name, p in self._parameters.items()}
        self._best: dict[str, Tensor] = {}
        narrow = recipe.precision == "bfloat16" and network.device.type == "cuda"
        self._is_graphed = (
            graphed
            and network.device.type == "cuda"
            and network.elmo_layer is None
            and (network.store is None or network.store.is_on_gpu)
        )
        self._gradients: PlainGradients | GraphedGradients = (
            GraphedGradients(network, self._parameters, narrow=narrow)
            if self._is_graphed
            else PlainGradients(network, narrow=narrow)
        )
        self._epoch = lru_cache(maxsize=2)(self._batches_of_epoch)
        self._batch = MadeAhead(self._make)

    @property
    def parameters(self) -> Mapping[str, nn.Parameter]:
        """What is trained, by name."""
        return self._parameters

    @property
    def done(self) -> bool:
        """Whether the score has not risen for so long that training ends.

        While it is still 0, nothing has been learnt that could be kept, and training goes on.
        """
        patience = self.recipe.patience
        if patience is None or not any(self.history):
            return False
        return len(self.history) - 1 - self.best_epoch >= patience

    @property
    def best_epoch(self) -> int:
        """The epoch, counted from 0, with the best score so far; -1 before the first."""
        return int(np.argmax(self.history)) if self.history else -1

    @property
    def item(self) -> str:
        """What is counted."""
        return "examples"

    @property
    def items_per_step(self) -> int:
        """Examples of a step, over all processes."""
        return min(self.recipe.batch_size, len(self.train))

    @property
    def steps_per_epoch(self) -> int:
        """How many steps see all examples once."""
        return -(-len(self.train) // self.recipe.batch_size)

    def gradients(self, step: int) -> Mapping[str, Tensor]:
        """Leave this process's gradients in the parameters and give its loss."""
        batch = self._batch(step)
        torch.manual_seed(mixed_seed(self.recipe.seed, step, self.world.rank))
        self.network.train()
        if batch is None:
            loss = penalty_gradients(self.network)
        else:
            # A part of the batch's mean, so that the processes' mean is that mean.
            loss = self._gradients(batch, self.world.size / len(self._numbers(step)))
        for parameter in self._parameters.values():
            if parameter.grad is None:  # all processes must exchange the same gradients
                parameter.grad = torch.zeros_like(parameter)
        return {LOSS_NAME: loss}

    def after(self, step: int) -> None:
        """Follow the weights; at the end of an epoch see how good they are."""
        if self._average is not None:
            assert self.recipe.average is not None
            # Early weights are forgotten sooner.
            kept = min(self.recipe.average, (1 + step) / (10 + step))
            torch._foreach_lerp_(
                list(self._average.values()),
                [parameter.detach() for parameter in self._parameters.values()],
                1 - kept,
            )
        if step % self.steps_per_epoch == 0:
            self._look_at_dev()

    def observations(self) -> Mapping[str, float]:
        """Give the best score so far."""
        if not self.history:
            return {}
        return {"dev_score": self.history[-1], "best_dev_score": max(self.history)}

    def forget(self) -> None:
        """Nothing is carried from batch to batch."""

    def state(self) -> dict[str, Tensor]:
        """Give what the loop does not know of: averages, the best weights, scores, buffers."""
        state = {"history": torch.tensor(self.history, dtype=torch.float64)}
        state |= {f"buffer/{name}": b for name, b in self._buffers().items()}
        state |= {f"best/{name}": tensor for name, tensor in self._best.items()}
        if self._average is not None:
            state |= {f"average/{name}": tensor for name, tensor in self._average.items()}
        return state

    def load_state(self, tensors: Mapping[str, Tensor]) -> None:
        """Put such a state back."""
        self.history = tensors["history"].tolist()
        self._best = {}
        buffers = self._buffers()
        for key, tensor in tensors.items():
            kind, _, name = key.partition("/")
            if kind == "best":
                self._best[name] = tensor.clone()
            elif kind == "average" and self._average is not None:
                self._average[name].copy_(tensor)
            elif kind == "buffer":
                buffers[name].copy_(tensor)

    def take_best(self) -> None:
        """Give the network the weights of the best epoch."""
        if not self._best:
            raise InputError("the run has not come to the end of an epoch; let it train longer")
        tensors = {**dict(self._parameters), **self._buffers()}
        with torch.no_grad():
            for name, tensor in self._best.items():
                tensors[name].copy_(tensor)

    def _look_at_dev(self) -> None:
        with self._averaged():
            found = predictions_of(self.network, self.task, self.dev, self.labels)
            score = self.task.score(self.dev, found)[self.task.metric]
            # On GPUs sums may differ; all processes go by what the first one found.
            score = self.world.of_all([round(1e6 * score)])[0][0] / 1e6
            is_best = score > max(self.history, default=-1.0)
            self.history.append(score)
            if is_best:
                tensors = {**self._parameters, **self._buffers()}
                self._best = {name: t.detach().cpu().clone() for name, t in tensors.items()}
        if self.world.is_first:
            note = ", the best so far" if is_best else ""
            self.line.say(f"epoch {len(self.history)}: {self.task.metric} {score:.2f} on dev{note}")

    def _averaged(self) -> "_Swapped":
        return _Swapped(self._parameters, self._average)

    def _buffers(self) -> dict[str, Tensor]:
        """Give buffers that training changes, such as those of batch normalisation."""
        persistent = self.network.state_dict()
        return {
            name: buffer
            for name, buffer in self.network.model.named_buffers(prefix="model")
            if name in persistent
        }

    def _make(self, step: int) -> Batch | None:
        """Make this process's part of a batch; None where the batch is smaller than the world."""
        mine = slice(self.world.rank, None, self.world.size)
        own = self._numbers(step)[mine]
        if not len(own):
            return None
        examples = [self.train[number] for number in own]
        # Where each example has its own shape, that comes again in the next epoch.
        rounded = self._is_graphed and not self.task.one_at_a_time
        batch = self.network.batch(
            self.task, examples, self.labels, rounded=rounded, capitals=self._capitals(step)[mine]
        )
        return batch.pinned() if self._is_graphed else batch

    def _capitals(self, step: int) -> list[bool]:
        """Choose the examples of a batch that are read as if they were written in capitals."""
        share = self.network.token_vectors.settings.capitals
        random = np.random.default_rng([self.recipe.seed, step])
        return [bool(drawn < share) for drawn in random.random(len(self._numbers(step)))]

    def _numbers(self, step: int) -> npt.NDArray[np.int64]:
        epoch, batch = divmod(step, self.steps_per_epoch)
        return self._epoch(epoch)[batch]

    def _batches_of_epoch(self, epoch: int) -> list[npt.NDArray[np.int64]]:
        return epoch_batches(
            self._sizes, batch_size=self.recipe.batch_size, seed=self.recipe.seed, epoch=epoch
        )


class _Swapped:
    """Puts other values into parameters for a while."""

    def __init__(
        self, parameters: Mapping[str, nn.Parameter], others: Mapping[str, Tensor] | None
    ) -> None:
        self._parameters, self._others = parameters, others
        self._own: dict[str, Tensor] = {}

    def __enter__(self) -> None:
        if self._others is not None:
            with torch.no_grad():
                for name, parameter in self._parameters.items():
                    self._own[name] = parameter.detach().clone()
                    parameter.copy_(self._others[name])

    def __exit__(self, *_: object) -> None:
        with torch.no_grad():
            for name, tensor in self._own.items():
                self._parameters[name].copy_(tensor)
