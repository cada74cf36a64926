"""An index by what people call it in the shell: a folder, or `demo`."""

from pathlib import Path

from elmokit.analysis.context_index import ContextIndex
from elmokit.analysis.corpus_sentences import is_demo
from elmokit.analysis.demo_index import demo_index
from elmokit.embed.load import load


def opened_index(path: str | Path, *, model: str | None = None) -> ContextIndex:
    """Open the index in a folder, or make that of the package's text.

    ``model`` is a model to use in place of the one that the index names; it must have the same
    weights.
    """
    if is_demo(path):
        return demo_index(elmo=load(model))
    index = ContextIndex.open(path)  # before a model is loaded in vain
    return index if model is None else ContextIndex.open(path, elmo=load(model))
