"""Work in a thread that ends with it.

OpenMP gives each thread that computes helpers of its own and keeps them while the thread lives.
Where there are more of them than cores, all go to sleep wherever they would wait a moment for each
other, which cost a server about a fifth of its speed. So models are loaded and tried out in a
thread that takes its helpers along when it ends, and those of the thread that computes are the only
ones.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")


def in_passing_thread(function: Callable[[], Result]) -> Result:
    """Call a function in a thread of its own, and give what it gives."""
    with ThreadPoolExecutor(1, thread_name_prefix="elmo start") as executor:
        return executor.submit(function).result()
