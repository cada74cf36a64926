import subprocess
import sys

import pytest

from elmokit.serve.waiting_threads import wait_briefly


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"GOMP_SPINCOUNT": "1000"}),
        ({"GOMP_SPINCOUNT": "7"}, {"GOMP_SPINCOUNT": "7"}),
        ({"OMP_WAIT_POLICY": "active"}, {"OMP_WAIT_POLICY": "active"}),
    ],
)
def test_threads_wait_briefly_unless_people_chose_otherwise(
    before: dict[str, str], after: dict[str, str]
) -> None:
    environment = dict(before)
    wait_briefly(environment)
    assert environment == after


def test_the_command_says_so_before_torch_is_loaded() -> None:
    """Which reads it once."""
    program = """
import sys
import elmokit.cli.serve
from elmokit.serve import waiting_threads

def seen():
    assert "torch" not in sys.modules
    sys.exit(7)

waiting_threads.wait_briefly = seen
elmokit.cli.serve.command()
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 7
