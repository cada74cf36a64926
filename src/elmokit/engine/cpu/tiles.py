"""Machines that claim to have matrix tiles (AMX) and do not say how large they are.

Some virtual machines pass the claim on and hide the tiles' sizes. oneDNN then configures tiles of
no rows, and the first product in bfloat16 or int8 ends the process with an illegal instruction.
"""

import os
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
    try:
        with facts.open(encoding="utf-8") as lines:
            described = dict(_named(line) for line in lines)
    except OSError:  # not Linux, where nothing of the kind is known
        return False
    if "amx_tile" not in described.get("flags", "").split():
        return False
    level = described.get("cpuid level", "")
    return level.isdigit() and int(level) < SIZES_LEAF


def _named(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.strip(), value.strip()
