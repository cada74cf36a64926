"""How fast is embedding? Every contender that is installed, on the same text and weights.

    bash benchmarks/embed/make_environments.sh FOLDER
    python benchmarks/embed/compare.py --text TEXT --environments FOLDER \\
        --output benchmarks/results/embed

Peers run in environments of their own; one that is missing or fails is named in the report with
the reason, and the others go on. Each contender is a process that loads its model and then does
as it is told, so that contenders take turns round by round; only those that fit in memory
together are loaded at once. ``--sentences 50 --rounds 1 --sizes small`` is a quick look.
"""

import sys
from pathlib import Path


def main() -> None:
    # This folder is the package `embed`. Its own files on the path could hide others' modules.
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from embed.command import run

    run(__doc__ or "")


if __name__ == "__main__":
    main()
