"""What a CPU's matrix tiles (AMX) are good for, and machines that only claim to have them.

Some virtual machines pass the claim on and hide the tiles' sizes. oneDNN then configures tiles of
no rows, and the first product in bfloat16 or int8 ends the process with an illegal instruction.
"""

import os
from itertools import takewhile
from pathlib import Path

CPU_FACTS = Path("/proc/cpuinfo")
SIZES_LEAF = 0x1D
"""Where a CPU describes its tiles, among the numbered answers that it gives about itself."""
VARIABLE = "ONEDNN_MAX_CPU_ISA"
BEST_WITHOUT_TILES = "AVX512_CORE_FP16"


def avoid_broken_tiles() -> None:
    """Keep oneDNN from tiles that would crash; it asks once, before its first product."""
    if VARIABLE not in os.environ and has_broken_tiles():
        os.environ[VARIABLE] = BEST_WITHOUT_TILES


def has_broken_tiles(facts: Path = CPU_FACTS) -> bool:
    """Whether the CPU claims tiles without giving their sizes."""
    described = _described(facts)
    if "amx_tile" not in described.get("flags", "").split():
        return False
    level = described.get("cpuid level", "")
    return level.isdigit() and int(level) < SIZES_LEAF


def has_fast_bfloat16(facts: Path = CPU_FACTS) -> bool:
    """Whether products of bfloat16 are faster than those of float32.

    Intel's CPUs need tiles for that: without them bfloat16 was measured at 0.55 of float32.
    """
    described = _described(facts)
    flags = described.get("flags", "").split()
    if "avx2" not in flags:  # another architecture; torch knows what it can do
        return True
    if described.get("vendor_id") == "GenuineIntel":
        allowed = os.environ.get(VARIABLE, "AMX").upper()
        return "amx_bf16" in flags and "AMX" in allowed and not has_broken_tiles(facts)
    return "avx512_bf16" in flags


def _described(facts: Path) -> dict[str, str]:
    try:
        with facts.open(encoding="utf-8") as lines:
            # One processor's, up to the empty line: the others are alike.
            return dict(_named(line) for line in takewhile(str.strip, lines))
    except OSError:  # not Linux, where nothing of the kind is known
        return {}


def _named(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.strip(), value.strip()
