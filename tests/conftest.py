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

# Whole folders that take minutes: a browser at work, a server under load.
SLOW_FOLDERS = [Path(__file__).parent / "integration" / name for name in ("page", "serve_load")]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of slow folders."""
    for item in items:
        if any(folder in item.path.parents for folder in SLOW_FOLDERS):
            item.add_marker("slow")
