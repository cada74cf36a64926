"""Virtual machines that claim AMX and hide its sizes."""

import os
from pathlib import Path

import pytest

from elmokit.engine.cpu import tiles

FACTS = "processor\t: 0\ncpuid level\t: {level}\nflags\t\t: fpu avx512f {flag}\n\n"


@pytest.mark.parametrize(
    ("level", "flag", "broken"),
    [(28, "amx_tile", True), (31, "amx_tile", False), (28, "avx512_bf16", False)],
)
def test_a_claim_without_sizes_is_broken(
    tmp_path: Path, level: int, flag: str, broken: bool
) -> None:
    facts = tmp_path / "cpuinfo"
    facts.write_text(FACTS.format(level=level, flag=flag))
    assert tiles.has_broken_tiles(facts) is broken


def test_other_systems_have_no_such_file(tmp_path: Path) -> None:
    assert not tiles.has_broken_tiles(tmp_path / "absent")


def test_tells_onednn_but_not_over_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "has_broken_tiles", lambda: True)
    monkeypatch.setenv(tiles.VARIABLE, "AVX2")
    tiles.avoid_broken_tiles()
    assert os.environ[tiles.VARIABLE] == "AVX2"
    monkeypatch.delenv(tiles.VARIABLE)
    tiles.avoid_broken_tiles()
    assert os.environ[tiles.VARIABLE] == "AVX512_CORE_FP16"
