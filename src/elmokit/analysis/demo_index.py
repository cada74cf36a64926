"""A small index to try things out with, made in seconds from the text of the package."""

from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from weakref import finalize

from elmokit.analysis.context_index import ContextIndex
from elmokit.analysis.context_index_build import build_index
from elmokit.analysis.corpus_sentences import DEMO_FILE
from elmokit.embed.elmo import Elmo
from elmokit.embed.layer_choice import Layers
from elmokit.embed.load import load


def demo_index(*, elmo: Elmo | None = None, layers: Layers = "top") -> ContextIndex:
    """Index about three hundred sentences with words of several senses.

    The index lies in a temporary folder, which vanishes with it.
    """
    elmo = load() if elmo is None else elmo
    folder = Path(mkdtemp(prefix="elmokit-demo-"))
    try:
        build_index([DEMO_FILE], folder / "index", elmo=elmo, layers=layers)
        index = ContextIndex.open(folder / "index", elmo=elmo)
    except BaseException:
        rmtree(folder, ignore_errors=True)
        raise
    finalize(index, rmtree, folder, ignore_errors=True)
    return index
