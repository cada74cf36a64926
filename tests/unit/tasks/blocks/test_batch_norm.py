import torch

from elmokit.tasks.blocks.batch_norm import BatchNorm


def test_training_normalises_over_the_batch() -> None:
    norm = BatchNorm(2)
    found = norm(torch.tensor([[1.0, 10.0], [3.0, 30.0]]))
    torch.testing.assert_close(found, torch.tensor([[-1.0, -1.0], [1.0, 1.0]]), atol=1e-4, rtol=0)


def test_evaluation_depends_on_no_other_example() -> None:
    norm = BatchNorm(3)
    norm(torch.randn(20, 3) * 5 + 2)
    norm.eval()
    batch = torch.randn(4, 3)
    torch.testing.assert_close(norm(batch)[:1], norm(batch[:1]))


def test_training_takes_a_single_example_and_learns_nothing_of_the_variance_from_it() -> None:
    norm = BatchNorm(3)
    norm(torch.randn(20, 3) * 5 + 2)
    mean = norm.running_mean.clone()  # type: ignore[union-attr]
    one = torch.randn(1, 3)
    in_training = norm(one)
    assert torch.equal(norm.running_mean, mean)  # type: ignore[arg-type]
    torch.testing.assert_close(in_training, norm.eval()(one))
