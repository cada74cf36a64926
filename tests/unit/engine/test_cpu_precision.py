"""Which precision a CPU computes in."""

from dataclasses import replace

import pytest

from elmokit.engine.build import build_bilm
from elmokit.engine.cpu import precision
from elmokit.engine.cpu.precision import step_weights, worthwhile
from elmokit.nn.bilm import BiLM
from elmokit.nn.without_weights import without_weights
from small_models import CONFIG


def bilm(cell: int, projection: int) -> BiLM:
    with without_weights():
        return build_bilm(replace(CONFIG, lstm_dim=cell, projection_dim=projection))


@pytest.mark.parametrize(
    ("cell", "projection", "fast_bfloat16", "bfloat16", "int8"),
    [
        (512, 64, False, "float32", "float32"),
        (512, 64, True, "bfloat16", "bfloat16"),
        (1024, 128, False, "float32", "int8"),
        (1024, 128, True, "bfloat16", "bfloat16"),
        (2048, 256, False, "float32", "int8"),
        (2048, 256, True, "bfloat16", "int8"),
    ],
)
def test_narrow_types_are_used_where_they_are_faster(
    monkeypatch: pytest.MonkeyPatch,
    cell: int,
    projection: int,
    fast_bfloat16: bool,
    bfloat16: str,
    int8: str,
) -> None:
    monkeypatch.setattr(precision, "has_fast_bfloat16", lambda: fast_bfloat16)
    model = bilm(cell, projection)
    assert worthwhile("bfloat16", model) == bfloat16
    assert worthwhile("int8", model) == int8
    assert worthwhile("float32", model) == "float32"


def test_a_step_reads_the_recurrent_weights_and_the_projection() -> None:
    assert step_weights(bilm(24, 10)) == 4 * 24 * 10 + 10 * 24
    without = replace(CONFIG, lstm_projection=False, lstm_dim=24, projection_dim=24)
    with without_weights():
        assert step_weights(build_bilm(without)) == 4 * 24 * 24
