"""What processes do together, as far as one process can tell."""

import pytest
import torch

from elmokit.errors import InputError
from elmokit.training.distributed import World, own_device, world


def test_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with world(torch.device("cpu")) as everyone:
        assert (everyone.rank, everyone.size, everyone.is_first) == (0, 1, True)
        values = torch.tensor([1.0, 2.0])
        everyone.average_([values])
        assert values.tolist() == [1.0, 2.0]
        assert everyone.joined(values, dim=0) is values
        assert everyone.of_all([3, True]) == [[3, True]]
        everyone.wait()
        with pytest.raises(ZeroDivisionError), everyone.together():
            raise ZeroDivisionError


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_shares_are_disjoint_and_whole(size: int) -> None:
    rows = list(range(12))
    assert [row for rank in range(size) for row in rows[World(rank, size).share(12)]] == rows


def test_rows_that_cannot_be_shared_out() -> None:
    with pytest.raises(InputError, match="rows: 10 rows cannot be shared out to 4 processes"):
        World(0, 4).share(10)


def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert own_device("auto") == own_device("cpu") == torch.device("cpu")
    with pytest.raises(InputError, match="device: torch sees no GPU here, found 'cuda'; use cpu"):
        own_device("cuda")
    with pytest.raises(InputError, match="device: expected auto, cpu or cuda, found 'gpu'"):
        own_device("gpu")


def test_every_process_has_its_own_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[torch.device] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert own_device("auto") == torch.device("cuda", 1)
    assert chosen == [torch.device("cuda", 1)]
    monkeypatch.setenv("LOCAL_RANK", "2")
    with pytest.raises(InputError, match=r"torch sees 2 GPUs here, found cuda:2; start one"):
        own_device("cuda")
