"""Gradients of a batch: plain ones, and on a GPU recorded ones that are the same."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from elmokit.tasks.gradients import (
    RECORDED_AT,
    GraphedGradients,
    PlainGradients,
    penalty_gradients,
)
from elmokit.tasks.network import TaskNetwork
from task_runs import WITHOUT_DROPOUT, Small, small_network, tiny_elmo

on_a_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
CLOSE = 1e-5


def gradients_of(network: TaskNetwork) -> dict[str, Tensor]:
    return {
        name: parameter.grad.clone()
        for name, parameter in network.named_parameters()
        if parameter.grad is not None
    }


def without_dropout(
    task: str, folder: Path, *changes: str, device: str = "cpu", elmo: bool = True
) -> Small:
    place = torch.device(device, 0) if device == "cuda" else torch.device(device)
    return small_network(
        task,
        folder,
        *WITHOUT_DROPOUT[task],
        *changes,
        elmo=tiny_elmo(device) if elmo else None,
        device=place,
    )


def move_mixes(network: TaskNetwork) -> None:
    """Give mixes weights that are penalised."""
    for name, parameter in network.token_vectors.named_parameters():
        if name.endswith("_mix.weights"):
            with torch.no_grad():
                parameter.copy_(torch.linspace(-1, 2, len(parameter)))


def test_the_loss_is_the_scaled_sum_and_the_penalty(tmp_path: Path) -> None:
    small = without_dropout("ner", tmp_path, "elmo_l2=0.25", "elmo_at=both")
    network = small.network
    move_mixes(network)
    batch = network.batch(small.task, small.examples[:5], small.labels)
    found = PlainGradients(network, narrow=False)(batch, 0.3)
    gradients = gradients_of(network)
    network.zero_grad(set_to_none=True)
    expected = 0.3 * network.losses(batch).sum() + 2 * 0.25 * (1 + 0.25 + 4)
    expected.backward()  # type: ignore[no-untyped-call]
    assert not found.requires_grad
    torch.testing.assert_close(found, expected.detach())
    for name, gradient in gradients_of(network).items():
        extra = torch.zeros_like(gradient)
        if name.endswith("_mix.weights"):
            extra = 2 * 0.25 * torch.linspace(-1, 2, 3)
        torch.testing.assert_close(gradients[name], gradient + extra)
    of_file = "token_vectors.static.given"  # of no words here
    assert {*gradients, of_file} == {name for name, _ in network.named_parameters()}


def test_without_elmo_there_is_no_penalty(tmp_path: Path) -> None:
    small = without_dropout("ner", tmp_path, elmo=False)
    batch = small.network.batch(small.task, small.examples[:5], small.labels)
    found = PlainGradients(small.network, narrow=False)(batch, 2.0)
    torch.testing.assert_close(found, 2 * small.network.losses(batch).sum().detach())


def test_narrow_products_are_near_the_wide_ones(tmp_path: Path) -> None:
    small = without_dropout("sst", tmp_path)
    batch = small.network.batch(small.task, small.examples[:5], small.labels)
    wide = PlainGradients(small.network, narrow=False)(batch, 1.0)
    narrow = PlainGradients(small.network, narrow=True)(batch, 1.0)
    assert narrow.dtype == torch.float32
    assert narrow != wide
    torch.testing.assert_close(narrow, wide, rtol=2e-2, atol=0)


def test_the_penalty_alone(tmp_path: Path) -> None:
    network = without_dropout("ner", tmp_path, "elmo_l2=0.5").network
    move_mixes(network)
    assert float(penalty_gradients(network)) == pytest.approx(0.5 * (1 + 0.25 + 4))
    gradients = gradients_of(network)
    assert gradients.keys() == {"token_vectors.input_mix.weights"}
    [gradient] = gradients.values()
    torch.testing.assert_close(gradient, torch.linspace(-1, 2, 3))


def test_a_penalty_that_nothing_can_change(tmp_path: Path) -> None:
    fixed = without_dropout("ner", tmp_path, "elmo_weights=[1, 0, 0]", "elmo_l2=0.5").network
    assert float(penalty_gradients(fixed)) == 0.5
    none = without_dropout("ner", tmp_path, elmo=False).network
    assert float(penalty_gradients(none)) == 0.0
    assert gradients_of(fixed) == gradients_of(none) == {}


@on_a_gpu
@pytest.mark.parametrize("task", WITHOUT_DROPOUT)
def test_recorded_passes_are_the_plain_ones(tmp_path: Path, task: str) -> None:
    changes = ["elmo_at=both", "elmo_l2=0.1"]
    if task == "sst":
        changes.append("batch_norm=true")
    recorded, plain = (without_dropout(task, tmp_path, *changes, device="cuda") for _ in range(2))
    parameters = {n: p for n, p in recorded.network.named_parameters() if p.requires_grad}
    graphed = GraphedGradients(recorded.network, parameters, narrow=False)
    straight = PlainGradients(plain.network, narrow=False)
    size = 4
    calls = RECORDED_AT + 3
    for call in range(calls):  # the first are plain, then one is recorded, others are replayed
        first = call % (len(plain.examples) - size)
        examples, scale = plain.examples[first : first + size], 1 / (size * (1 + call))
        losses = []
        for small, gradients in ((recorded, graphed), (plain, straight)):
            small.network.train()
            small.network.zero_grad(set_to_none=True)
            batch = small.network.batch(small.task, examples, small.labels, rounded=True)
            losses.append(gradients(batch.pinned(), scale))
        torch.testing.assert_close(losses[0], losses[1], rtol=0, atol=CLOSE)
        found, expected = gradients_of(recorded.network), gradients_of(plain.network)
        assert found.keys() == expected.keys()
        for name, gradient in expected.items():
            torch.testing.assert_close(found[name], gradient, rtol=0, atol=CLOSE, msg=name)
        # What batch normalisation has seen so far, too.
        buffers = dict(plain.network.model.named_buffers())
        for name, buffer in recorded.network.model.named_buffers():
            torch.testing.assert_close(buffer, buffers[name], rtol=0, atol=CLOSE, msg=name)
    assert len(graphed._recorded) == 1


@on_a_gpu
def test_documents_of_their_own_shapes_are_recorded(tmp_path: Path) -> None:
    still = ["lstm_dropout=0", "model.dropout=0", "inputs.dropout=0", "elmo_dropout=0"]
    small, other = (
        small_network("coref", tmp_path, *still, elmo=tiny_elmo("cuda"), device=place)
        for place in [torch.device("cuda", 0)] * 2
    )
    recorded, plain = small.network.train(), other.network.train()
    parameters = {n: p for n, p in recorded.named_parameters() if p.requires_grad}
    graphed = GraphedGradients(recorded, parameters, narrow=False)
    straight = PlainGradients(plain, narrow=False)
    for _ in range(RECORDED_AT + 1):
        for example in small.examples[:3]:
            losses = []
            for network, gradients in ((recorded, graphed), (plain, straight)):
                network.zero_grad(set_to_none=True)
                batch = network.batch(small.task, [example], small.labels)
                losses.append(gradients(batch.pinned(), 1.0))
            torch.testing.assert_close(losses[0], losses[1], rtol=0, atol=CLOSE)
            found, expected = gradients_of(recorded), gradients_of(plain)
            assert found.keys() == expected.keys()
            for name, gradient in expected.items():
                torch.testing.assert_close(found[name], gradient, rtol=0, atol=CLOSE, msg=name)
    assert graphed._recorded


@on_a_gpu
def test_recording_leaves_the_draws_of_a_step_alone(tmp_path: Path) -> None:
    small = small_network("ner", tmp_path, elmo=tiny_elmo("cuda"), device=torch.device("cuda", 0))
    network = small.network
    parameters = {n: p for n, p in network.named_parameters() if p.requires_grad}
    graphed = GraphedGradients(network, parameters, narrow=False)
    batch = network.batch(small.task, small.examples[:5], small.labels, rounded=True).pinned()
    losses = []
    network.train()
    for _ in range(RECORDED_AT + 2):
        torch.manual_seed(5)
        losses.append(float(graphed(batch, 1.0)))
    # The step that records, and those after it, drop what a plain one drops.
    assert losses == pytest.approx([losses[0]] * len(losses), abs=1e-4)
    torch.manual_seed(6)
    assert float(graphed(batch, 1.0)) != pytest.approx(losses[0], abs=1e-3)
