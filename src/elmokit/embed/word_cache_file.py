"""The vectors of words before context, kept in a file beside a model.

A safetensors file: ``vectors`` (N, P) in float32, ``words`` a JSON list as UTF-8 bytes, and the
fingerprint of the encoder that made them, so that no other model reads them.
"""

import hashlib
import json
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import safetensors
import safetensors.torch
import torch
from torch import Tensor

from elmokit.engine.word_vectors import WordVectors
from elmokit.errors import FormatError
from elmokit.files import replacing_file
from elmokit.nn.token_encoder import TokenEncoder

FILE_NAME = "word_cache.safetensors"


class KnownWords(NamedTuple):
    """Words and their vectors."""

    words: list[str]
    vectors: Tensor
    """(N, P) float32"""


def fingerprint(encoder: TokenEncoder) -> str:
    """Tell encoders with different weights apart."""
    digest = hashlib.sha256()
    for name, tensor in sorted(encoder.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().to("cpu", torch.float32).contiguous().numpy().tobytes())
    return digest.hexdigest()


def write_words(word_vectors: WordVectors, encoder: TokenEncoder, file: Path) -> None:
    """Write all words that are known at the moment."""
    words, vectors = word_vectors.known()
    spelled = np.frombuffer(json.dumps(words).encode(), dtype=np.uint8).copy()
    with replacing_file(file) as beside:
        safetensors.torch.save_file(
            {"vectors": vectors.to("cpu", torch.float32), "words": torch.from_numpy(spelled)},
            beside,
            metadata={"fingerprint": fingerprint(encoder)},
        )


def read_words(file: Path, encoder: TokenEncoder) -> KnownWords | None:
    """Read what `write_words` wrote; a warning and None where another model has written it."""
    try:
        with safetensors.safe_open(file, framework="pt") as stream:
            made_by = (stream.metadata() or {}).get("fingerprint")
            vectors = stream.get_tensor("vectors")
            words = json.loads(bytes(stream.get_tensor("words").numpy()))
    except (safetensors.SafetensorError, OSError, ValueError) as error:
        raise FormatError(
            file, f"cannot be read ({error})", hint="delete it: it only saves time"
        ) from error
    if vectors.ndim != 2 or not isinstance(words, list) or len(words) != len(vectors):
        raise FormatError(file, "wrong content", hint="delete it: it only saves time")
    if made_by != fingerprint(encoder) or vectors.shape[1] != encoder.output_dim:
        warnings.warn(
            f"{file} holds words of another model and is not used; save the model again with its "
            "words, or delete the file",
            stacklevel=2,
        )
        return None
    return KnownWords(words, vectors)
