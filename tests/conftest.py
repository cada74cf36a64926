"""What all tests need to be alike wherever they run."""

import signal

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
