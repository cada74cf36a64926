"""What lies in the folder of an index of words in context.

``index.json``           the model that made the vectors, the layer, and how many there are
``vectors.npy``          (N, D) float16: a vector of length 1 for each occurrence of a word
``occurrences.npy``      (N, 4) uint32: sentence, first and past-last character, hash of the word
``sentences.txt``        one sentence a line, UTF-8
``sentence_starts.npy``  (S + 1,) int64: the byte that each sentence begins at
``head.npy``, ``slack.npy``, ``rotation.npy``, ``scales.npy``
                         what exact search finds its candidates with, in large indexes
``approximate.faiss``    what faiss finds its candidates with, where it was asked for
``manifest.json``        size and SHA-256 of each of the files above

N occurrences, D size of a vector, S sentences
"""

import unicodedata
import zlib
from dataclasses import dataclass

from elmokit.config import ConfigFields
from elmokit.files import MANIFEST_FILE

FORMAT_VERSION = 1

FACTS_FILE = "index.json"
VECTORS_FILE = "vectors.npy"
OCCURRENCES_FILE = "occurrences.npy"
SENTENCES_FILE = "sentences.txt"
STARTS_FILE = "sentence_starts.npy"
HEAD_FILE, SLACK_FILE = "head.npy", "slack.npy"
ROTATION_FILE, SCALES_FILE = "rotation.npy", "scales.npy"
FAISS_FILE = "approximate.faiss"

ALWAYS = (FACTS_FILE, VECTORS_FILE, OCCURRENCES_FILE, SENTENCES_FILE, STARTS_FILE)
BOUND_FILES = (HEAD_FILE, SLACK_FILE, ROTATION_FILE, SCALES_FILE)
# What replacing an index may remove.
INDEX_FILES = (*ALWAYS, *BOUND_FILES, FAISS_FILE, MANIFEST_FILE)

# Columns of the occurrences.
SENTENCE, BEGIN, END, HASH = range(4)


@dataclass(frozen=True, kw_only=True)
class IndexFacts(ConfigFields):
    """What ``index.json`` says."""

    version: int
    """Of the layout."""
    model: str
    """Name of the model, for people."""
    model_source: str | None
    """What the model was loaded by; None for the bundled one."""
    model_sha256: str
    """Digest of its weights."""
    start: str
    """What its LSTMs remembered before each sentence."""
    dtype: str
    """Precision that the vectors were computed in."""
    layer: int | None
    """The layer that the vectors are from, or None for a mix."""
    weights: tuple[float, ...] | None
    """Weights of the layers in the mix, or None for one layer."""
    tokenised: bool
    """Whether tokens were separated by white space already."""
    skip: str
    """Which tokens were left out."""
    dim: int
    """Size of a vector."""
    occurrences: int
    """Number of tokens."""
    sentences: int
    """Number of sentences."""
    has_bounds: bool
    """Whether exact search finds candidates by bounds."""
    has_faiss: bool
    """Whether there is an approximate index too."""

    @property
    def layers(self) -> int | tuple[float, ...]:
        """The layer or mix, as `Elmo.embed` takes it."""
        if self.layer is not None:
            return self.layer
        assert self.weights is not None
        return self.weights


def folded(word: str) -> str:
    """Give a word as it is looked up when its casing does not matter."""
    return unicodedata.normalize("NFC", word).casefold()


def word_hash(word: str) -> int:
    """Give 32 bits by which the occurrences of a word are found; casing does not matter.

    Of two words that share them the text tells which is which.
    """
    return zlib.crc32(folded(word).encode("utf-8", "surrogatepass"))
