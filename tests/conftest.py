"""What all tests need to be alike wherever they run."""

import signal
from pathlib import Path

import pytest
import torch
from hypothesis import settings

from elmokit.engine.cpu.tiles import avoid_broken_tiles

# The models are tiny, and threads cost more than they save.
torch.set_num_threads(1)

# Some tests compute before they make a model.
avoid_broken_tiles()

# A shell that starts tests in the background lets them ignore Ctrl-C, and their children too.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is no failure of the code.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# What takes minutes: a browser at work, thousands of requests made by chance. The first view of the
# page and the server under load are always tested.
INTEGRATION = Path(__file__).parent / "integration"
SLOW_TESTS = (
    *(INTEGRATION / "page").glob("test_*.py"),
    *(INTEGRATION / "serve_load").glob("test_fuzz_*.py"),
)
ALWAYS = ("test_the_first_view_needs_no_click",)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slow tests."""
    for item in items:
        if item.path in SLOW_TESTS and item.name not in ALWAYS:
            item.add_marker("slow")
