"""How the threads of a product wait for each other; torch must not be loaded yet.

A CPU's threads share each product and wait for the last of them. OpenMP lets them ask again and
again, for milliseconds, before they sleep. Where something else runs on the same cores, as the
browser that asks the server does, the one that waits takes the core that the other needs: on 2
cores beside a busy process the same batches took 3 to 10 times as long.
"""

import os
from collections.abc import MutableMapping

SPIN_COUNT = "GOMP_SPINCOUNT"
WAIT_POLICY = "OMP_WAIT_POLICY"
"""The same in OpenMP's own words; who sets it has chosen."""
# A three-hundredth of what is usual.
FEW = "1000"


def wait_briefly(environment: MutableMapping[str, str] = os.environ) -> None:
    """Let threads that wait sleep soon, unless people chose otherwise."""
    if WAIT_POLICY not in environment:
        environment.setdefault(SPIN_COUNT, FEW)
