import sys
from pathlib import Path

# The scripts of benchmarks/ are no part of the package; `embed` there is a package of its own.
sys.path.append(str(Path(__file__).resolve().parents[3] / "benchmarks"))
