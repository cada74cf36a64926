"""Pictures of arrays, saved as PNG, SVG or interactive HTML.

The functions take arrays and names and know nothing of models. Each gives an altair chart, which a
notebook shows by itself and `save` writes to a file.
"""

from elmokit.plots.bars import bars
from elmokit.plots.grid import grid
from elmokit.plots.heat_map import heat_map
from elmokit.plots.lines import Line, lines
from elmokit.plots.save import check_suffix, save
from elmokit.plots.scatter_map import scatter_map

__all__ = ["Line", "bars", "check_suffix", "grid", "heat_map", "lines", "save", "scatter_map"]
