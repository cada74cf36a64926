"""The first sense of each word in WordNet, from WordNet's own file ``index.sense``."""

from pathlib import Path

from elmokit.analysis.probes.sense_text import Lemma
from elmokit.errors import FormatError
from elmokit.text.records import problem, read_lines, short

PARTS_OF_SPEECH = {"1": "NOUN", "2": "VERB", "3": "ADJ", "4": "ADV", "5": "ADJ"}
"""The number behind a sense key's ``%``; 5 is an adjective of a cluster around another."""


def read_first_senses(file: Path) -> dict[Lemma, str]:
    """Give the key of sense number 1 of each lemma.

    A line is ``sense_key synset_offset sense_number tag_count``, as in WordNet's ``dict`` folder.
    """
    first: dict[Lemma, str] = {}
    for number, line in read_lines(file):
        if not line.strip():
            continue
        columns = line.split()
        word, mark, sense = columns[0].partition("%")
        part = PARTS_OF_SPEECH.get(sense[:1])
        if not mark or part is None or len(columns) < 3 or not columns[2].isdecimal():
            raise problem(
                file,
                number,
                "expected a sense key, an offset and the sense's number, as in WordNet's "
                f"index.sense, found {short(line)}",
            )
        if columns[2] == "1":
            first[Lemma(word, part)] = columns[0]
    if not first:
        raise FormatError(file, "holds no sense with the number 1")
    return first
