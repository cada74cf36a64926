"""What does `elmo serve` stand, and how fast is it? The table of the server, line by line.

    python benchmarks/serve.py --output benchmarks/results/serving.md
    python benchmarks/serve.py --output benchmarks/results/serving.md --only soak
    python benchmarks/serve.py --output /tmp/serving.md --short

Starts real servers in processes of their own and clients in others, on this machine; nothing else
should run on it. Everything takes about 40 minutes. Figures are kept in a .json file beside the
report, so that parts can be made again one by one. ``--short`` shows that all parts work.
"""

import sys
from pathlib import Path


def main() -> None:
    # Servers, clients and cases are those of the tests.
    sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
    from serving.command import run

    run(__doc__ or "")


if __name__ == "__main__":
    main()
