"""Virtual machines that claim AMX and hide its sizes."""

import os
from pathlib import Path

import pytest

from elmokit.engine.cpu import tiles

FACTS = """processor\t: 0
vendor_id\t: {vendor}
cpuid level\t: {level}
flags\t\t: fpu avx2 avx512f {flags}

"""


def write(folder: Path, *, flags: str, level: int = 31, vendor: str = "GenuineIntel") -> Path:
    facts = folder / "cpuinfo"
    facts.write_text(FACTS.format(level=level, flags=flags, vendor=vendor))
    return facts


@pytest.mark.parametrize(
    ("level", "flag", "broken"),
    [(28, "amx_tile", True), (31, "amx_tile", False), (28, "avx512_bf16", False)],
)
def test_a_claim_without_sizes_is_broken(
    tmp_path: Path, level: int, flag: str, broken: bool
) -> None:
    assert tiles.has_broken_tiles(write(tmp_path, level=level, flags=flag)) is broken


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


@pytest.mark.parametrize(
    ("vendor", "flags", "level", "fast"),
    [
        ("GenuineIntel", "avx512_bf16 amx_bf16 amx_tile", 31, True),
        ("GenuineIntel", "avx512_bf16 amx_bf16 amx_tile", 28, False),
        ("GenuineIntel", "avx512_bf16", 31, False),
        ("AuthenticAMD", "avx512_bf16", 16, True),
        ("AuthenticAMD", "", 16, False),
    ],
)
def test_which_cpus_multiply_bfloat16_fast(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    vendor: str,
    flags: str,
    level: int,
    fast: bool,
) -> None:
    monkeypatch.delenv(tiles.VARIABLE, raising=False)
    facts = write(tmp_path, vendor=vendor, flags=flags, level=level)
    assert tiles.has_fast_bfloat16(facts) is fast


def test_without_leave_to_use_tiles_bfloat16_is_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(tiles.VARIABLE, "AVX512_CORE_FP16")
    assert not tiles.has_fast_bfloat16(write(tmp_path, flags="avx512_bf16 amx_bf16 amx_tile"))
