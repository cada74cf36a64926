"""Seeds that depend on several numbers, such as a run's own and a step's."""

import numpy as np


def mixed_seed(*numbers: int) -> int:
    """Mix numbers into one seed."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> 1)
