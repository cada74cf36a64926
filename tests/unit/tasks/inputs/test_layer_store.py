import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
import torch

import elmokit
from elmokit.embed.elmo import Elmo
from elmokit.errors import InputError
from elmokit.tasks.inputs.layer_store import LayerStore
from task_runs import CPU, TINY, tiny_elmo

TEXTS = [["the", "cat", "sat"], ["on"], ["the", "mat", ",", "alone"], ["the", "cat", "sat"]]


class Counted:
    """Counts how many texts a biLM is asked to embed at each call."""

    def __init__(self, elmo: Elmo, monkeypatch: pytest.MonkeyPatch, scale: float = 1.0) -> None:
        self.calls: list[int] = []
        embed = elmo.embed_iter

        def counted(texts: Sequence[Sequence[str]], **more: Any) -> Any:
            self.calls.append(len(texts))
            return [scale * vectors for vectors in embed(texts, **more)]

        monkeypatch.setattr(elmo, "embed_iter", counted)


def rows_of(store: LayerStore, text: Sequence[str]) -> torch.Tensor:
    first = store.place(text)
    return store.rows(torch.arange(first, first + len(text))[None])[0]  # (n, L, D)


def files_in(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


@pytest.mark.parametrize("cached", [False, True])
def test_rows_are_what_the_model_embeds(tmp_path: Path, cached: bool) -> None:
    elmo = tiny_elmo()
    store = LayerStore(elmo, device=CPU, folder=tmp_path / "cache" if cached else None)
    store.add(TEXTS)
    for text, expected in zip(TEXTS, elmo.embed(TEXTS, layers="all"), strict=True):
        found = rows_of(store, text)
        assert found.shape == (len(text), elmo.layer_count, elmo.dim)
        assert found.dtype == torch.float16
        exact = torch.from_numpy(expected).transpose(0, 1)
        torch.testing.assert_close(found.float(), exact, rtol=2**-11, atol=1e-7)
    assert not store.is_on_gpu


def test_equal_texts_are_stored_once(monkeypatch: pytest.MonkeyPatch) -> None:
    elmo = tiny_elmo()
    counted = Counted(elmo, monkeypatch)
    store = LayerStore(elmo, device=CPU)
    assert store.tokens == 0
    store.add(TEXTS)
    assert counted.calls == [3]
    assert store.tokens == 8
    store.add([tuple(TEXTS[1]), ["new"]])
    store.add(TEXTS)
    assert counted.calls == [3, 1]
    assert store.tokens == 9


def test_texts_added_later_leave_the_others_in_their_place() -> None:
    store = LayerStore(tiny_elmo(), device=CPU)
    store.add(TEXTS)
    before = {tuple(text): rows_of(store, text) for text in TEXTS}
    store.add([["one", "more"]])
    for text, rows in before.items():
        assert torch.equal(rows_of(store, text), rows)
    assert store.place(["one", "more"]) == 8


def test_rows_of_padded_places_have_the_shape_of_the_places() -> None:
    store = LayerStore(tiny_elmo(), device=CPU)
    store.add(TEXTS)
    assert store.rows(torch.zeros(2, 5, dtype=torch.int64)).shape == (2, 5, 3, 64)


def test_numbers_beyond_float16_are_brought_to_its_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    elmo = tiny_elmo()
    Counted(elmo, monkeypatch, scale=1e9)
    store = LayerStore(elmo, device=CPU)
    store.add(TEXTS)
    assert rows_of(store, TEXTS[0]).abs().max() == np.finfo(np.float16).max


def test_a_second_store_reads_the_file_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = LayerStore(tiny_elmo(), device=CPU, folder=tmp_path / "some" / "cache")
    first.add(TEXTS)
    elmo = tiny_elmo()
    counted = Counted(elmo, monkeypatch)
    second = LayerStore(elmo, device=CPU, folder=tmp_path / "some" / "cache")
    second.add(TEXTS)
    assert counted.calls == []
    for text in TEXTS:
        assert torch.equal(rows_of(second, text), rows_of(first, text))
    second.add([["other"]])
    assert counted.calls == [1]
    assert len(files_in(tmp_path / "some" / "cache")) == 2


def test_a_process_that_waited_reads_what_the_first_has_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two stores begin at once; the second computes nothing."""
    waits, may_go_on = Event(), Event()
    first_elmo, second_elmo = tiny_elmo(), tiny_elmo()
    embed = first_elmo.embed_iter

    def slow(texts: Sequence[Sequence[str]], **more: Any) -> Any:
        waits.set()
        assert may_go_on.wait(30)
        return embed(texts, **more)

    monkeypatch.setattr(first_elmo, "embed_iter", slow)
    counted = Counted(second_elmo, monkeypatch)
    stores = [LayerStore(elmo, device=CPU, folder=tmp_path) for elmo in (first_elmo, second_elmo)]
    with ThreadPoolExecutor() as pool:
        first = pool.submit(stores[0].add, TEXTS)
        assert waits.wait(30)
        second = pool.submit(stores[1].add, TEXTS)
        time.sleep(0.2)
        assert not second.done()
        may_go_on.set()
        first.result()
        second.result()
    assert counted.calls == []
    assert torch.equal(rows_of(stores[0], TEXTS[0]), rows_of(stores[1], TEXTS[0]))
    assert len(files_in(tmp_path)) == 1


def test_what_is_read_from_a_file_cannot_change_it(tmp_path: Path) -> None:
    store = LayerStore(tiny_elmo(), device=CPU, folder=tmp_path)
    store.add(TEXTS)
    [file] = files_in(tmp_path)
    before = file.read_bytes()
    store.rows(torch.zeros(1, 1, dtype=torch.int64)).fill_(7)
    assert file.read_bytes() == before


def test_another_model_or_start_has_another_file(tmp_path: Path) -> None:
    changed = tiny_elmo()
    with torch.no_grad():
        next(iter(changed.bilm.parameters())).flatten()[0] += 1
    cold = elmokit.load(TINY, device="cpu", start="zeros")
    for number, elmo in enumerate([tiny_elmo(), changed, cold], start=1):
        LayerStore(elmo, device=CPU, folder=tmp_path).add(TEXTS)
        assert len(files_in(tmp_path)) == number


def test_texts_that_are_cut_otherwise_have_another_file(tmp_path: Path) -> None:
    elmo = tiny_elmo()
    for number, texts in enumerate([[["a", "b"]], [["a"], ["b"]], [["a b"]]], start=1):
        LayerStore(elmo, device=CPU, folder=tmp_path).add(texts)
        assert len(files_in(tmp_path)) == number


def test_a_failing_computation_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elmo = tiny_elmo()

    def failing(*_: Any, **__: Any) -> Any:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(elmo, "embed_iter", failing)
    with pytest.raises(RuntimeError, match="out of memory"):
        LayerStore(elmo, device=CPU, folder=tmp_path).add(TEXTS)
    assert files_in(tmp_path) == []


@pytest.mark.parametrize(
    "content",
    [
        np.zeros((7, 3, 64), np.float16),
        np.zeros((8, 64, 3), np.float16),
        np.zeros((8, 3, 64), np.float32),
    ],
)
def test_a_file_of_another_shape(tmp_path: Path, content: Any) -> None:
    LayerStore(tiny_elmo(), device=CPU, folder=tmp_path).add(TEXTS)
    [file] = files_in(tmp_path)
    np.save(file, content)
    message = r"layers-.*\.npy: expected float16 of shape \(8, 3, 64\), found .*; delete this file"
    with pytest.raises(InputError, match=message):
        LayerStore(tiny_elmo(), device=CPU, folder=tmp_path).add(TEXTS)


@pytest.mark.parametrize("kept", [0, 20, 200])
def test_a_file_that_breaks_off(tmp_path: Path, kept: int) -> None:
    LayerStore(tiny_elmo(), device=CPU, folder=tmp_path).add(TEXTS)
    [file] = files_in(tmp_path)
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(InputError, match=r"layers-.*\.npy: .*; delete this file"):
        LayerStore(tiny_elmo(), device=CPU, folder=tmp_path).add(TEXTS)


def test_a_file_of_something_else(tmp_path: Path) -> None:
    LayerStore(tiny_elmo(), device=CPU, folder=tmp_path).add(TEXTS)
    [file] = files_in(tmp_path)
    file.write_bytes(b"<html>" * 1000)
    with pytest.raises(InputError, match=r"layers-.*\.npy: .*; delete this file"):
        LayerStore(tiny_elmo(), device=CPU, folder=tmp_path).add(TEXTS)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_layers_go_to_the_gpu_where_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    device = torch.device("cuda", 0)
    elmo = tiny_elmo("cuda")
    roomy = LayerStore(elmo, device=device)
    roomy.add(TEXTS)
    monkeypatch.setattr("elmokit.tasks.inputs.layer_store.SHARE_OF_FREE_MEMORY", 0.0)
    full = LayerStore(elmo, device=device)
    full.add(TEXTS)
    assert roomy.is_on_gpu
    assert not full.is_on_gpu
    places = torch.arange(8, device=device)[None]
    assert roomy.rows(places).device == full.rows(places).device == device
    assert torch.equal(roomy.rows(places), full.rows(places))
