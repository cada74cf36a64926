"""What the figures were made on."""

import os
import platform
from pathlib import Path

GIGABYTE = 2**30
# What decides how fast products can be.
INSTRUCTIONS = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16", "amx_int8")


def machine_facts() -> dict[str, str]:
    """Name processor, cores, memory, system and how busy others keep the machine."""
    facts = {
        "processor": _processor(),
        "cores": f"{usable_cores()} usable of {os.cpu_count()}",
        "system": platform.platform(),
        "python": platform.python_version(),
    }
    available = available_bytes()
    if available is not None:
        facts["available memory"] = f"{available / GIGABYTE:.1f} GiB"
    return facts | {"load before": load_average()}


def load_average() -> str:
    """Give how many processes wanted to run, over one and five minutes."""
    if not hasattr(os, "getloadavg"):
        return "unknown"
    one, five, _ = os.getloadavg()
    return f"{one:.1f} (1 min), {five:.1f} (5 min)"


def usable_cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def keep_to_cores(count: int) -> None:
    """Keep this process and those that it starts to the first ``count`` of its cores."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])


def available_bytes() -> int | None:
    """Give the memory that can be had now, or None where the system does not say."""
    information = Path("/proc/meminfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return None


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if not information.exists():
        return platform.processor() or platform.machine()
    found: dict[str, str] = {}
    for line in information.read_text().splitlines():
        name, _, value = line.partition(":")
        found.setdefault(name.strip(), value.strip())
    flags = set(found.get("flags", "").split())
    wide = [flag for flag in INSTRUCTIONS if flag in flags]
    return f"{found.get('model name', platform.machine())} ({', '.join(wide) or 'no AVX2'})"
