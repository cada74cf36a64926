"""One thread for all tests: the models are tiny, and threads cost more than they save."""

import torch

torch.set_num_threads(1)
