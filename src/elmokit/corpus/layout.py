"""What lies in the folder of a prepared corpus.

``corpus.json``             sizes of vocabulary and splits, and the report of the preparation
``words.txt``               one distinct word type a line, in the order of ids; marks first
``counts.npy``              how often each type occurs in the train stream
``train-00000.npy`` ...     the stream of ids: each sentence is id 0, then the ids of its words
``train-documents.npy``     where documents start in the stream
``valid-*``                 the same for held-out text
``manifest.json``           size and SHA-256 of each of the files above
"""

from elmokit.files import MANIFEST_FILE

FORMAT_VERSION = 1

CORPUS_FILE = "corpus.json"
WORDS_FILE = "words.txt"
COUNTS_FILE = "counts.npy"

TRAIN, VALID = "train", "valid"
SPLITS = (TRAIN, VALID)

MARKS = ("<S>", "</S>", "<UNK>")
BEGIN, END, UNKNOWN = 0, 1, 2

# Patterns of the files that replacing a prepared corpus may remove.
CORPUS_FILES = (
    CORPUS_FILE,
    WORDS_FILE,
    COUNTS_FILE,
    MANIFEST_FILE,
    *(f"{split}-*.npy" for split in SPLITS),
)


def shard_file(split: str, number: int) -> str:
    """Give the name of a shard of the stream of ids."""
    return f"{split}-{number:05d}.npy"


def documents_file(split: str) -> str:
    """Give the name of the file with the starts of documents."""
    return f"{split}-documents.npy"
