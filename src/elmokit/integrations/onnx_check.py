"""Does an exported file give what the model gives? Asked of onnxruntime.

B sentences, T tokens of the longest, C characters
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from elmokit.embed.elmo import Elmo
from elmokit.embed.layer_choice import Layers
from elmokit.errors import ElmoError, MissingExtraError
from elmokit.integrations.onnx_graph import Array

# Sums of another order: up to 1e-5 on trained weights. A wrong formula is off by 1e-2 or more.
TOLERANCE = 1e-4
SENTENCES: tuple[list[str], ...] = (
    ["She", "sat", "on", "the", "bank", "of", "the", "river", "."],
    ["bank"],
    [],
    ["강가의", "은행나무", "아래", "a" * 60, "🙂", "<S>", ""],
)


def onnx_inputs(elmo: Elmo, sentences: Sequence[Sequence[str]]) -> dict[str, Array]:
    """Give what an exported file takes for token lists: ids counted from 1 and lengths."""
    lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
    words = [word for sentence in sentences for word in sentence]
    present = np.arange(max(lengths, default=0)) < lengths[:, None]  # (B, T)
    inputs = {"lengths": lengths}
    ids = elmo.indexer.ids(words)
    if ids.characters is not None:
        inputs["character_ids"] = np.zeros((*present.shape, ids.characters.shape[1]), np.int64)
        inputs["character_ids"][present] = ids.characters + 1  # (B, T, C)
    if ids.words is not None:
        inputs["word_ids"] = np.zeros(present.shape, np.int64)
        inputs["word_ids"][present] = ids.words + 1  # (B, T)
    return inputs


def check_export(elmo: Elmo, file: str | Path, *, layers: Layers = "average") -> float:
    """Run a few sentences through both and give the largest difference; too large is an error."""
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingExtraError("onnxruntime", "onnx", "checking an ONNX file") from error
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, onnx_inputs(elmo, SENTENCES))
    gap = max(
        float(np.abs(of_sentence[..., : len(sentence), :] - expected).max(initial=0.0))
        for sentence, of_sentence, expected in zip(
            SENTENCES, found, elmo.embed(SENTENCES, layers=layers), strict=True
        )
    )
    if not gap <= TOLERANCE:
        raise ElmoError(
            f"{file}: onnxruntime gives other vectors than elmokit, by up to {gap:.1e}; "
            "please report it"
        )
    return gap
