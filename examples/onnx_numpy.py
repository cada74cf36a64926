"""An exported model with onnxruntime and numpy alone: neither elmokit nor torch is imported.

    elmo export onnx -o elmo.onnx
    python examples/onnx_numpy.py elmo.onnx "she sat on the bank" "the bank was closed"

Tokens are what stands between spaces. Works for models that read bytes, a dictionary of
characters, words, or both; everything it needs to know is in the file.

B sentences, T tokens of the longest, C characters of a row
"""

import json
import sys
from typing import Any

import numpy as np
import onnxruntime

BEGIN_WORD, END_WORD, PADDING = 259, 260, 261


class OnnxElmo:
    """Token lists in, one array per sentence out."""

    def __init__(self, file: str) -> None:
        self._session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
        facts = self._session.get_modelmeta().custom_metadata_map
        self._inputs = [one.name for one in self._session.get_inputs()]
        self._alphabet = facts.get("alphabet")
        self._width = int(facts.get("max_characters", 0))
        self._characters = _numbers(facts.get("characters", "[]"))
        self._words = _numbers(facts.get("vocabulary", "[]"))
        self._unknown = facts.get("unknown_word", "")
        self._longest = json.loads(facts.get("longest_word", "null"))

    def __call__(self, sentences: list[list[str]]) -> list[Any]:
        """Give (tokens, dim), or (layers, tokens, dim), for each sentence."""
        lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
        shape = (len(sentences), int(lengths.max(initial=0)))
        inputs = {"lengths": lengths}
        if "character_ids" in self._inputs:
            inputs["character_ids"] = np.zeros((*shape, self._width), dtype=np.int64)
        if "word_ids" in self._inputs:
            inputs["word_ids"] = np.zeros(shape, dtype=np.int64)
        for row, sentence in enumerate(sentences):
            for place, word in enumerate(sentence):
                if "character_ids" in inputs:
                    inputs["character_ids"][row, place] = self._spelled(word)
                if "word_ids" in inputs:
                    known = self._words.get(word[: self._longest], self._words[self._unknown])
                    inputs["word_ids"][row, place] = known
        (found,) = self._session.run(None, inputs)
        return [one[..., :length, :] for one, length in zip(found, lengths, strict=True)]

    def _spelled(self, word: str) -> Any:
        """Give the row (C,) of a word."""
        if self._alphabet == "bytes":
            spelled = [byte + 1 for byte in word.encode("utf-8")[: self._width - 2]]
            begin, end, padding = BEGIN_WORD, END_WORD, PADDING
        else:
            numbers = self._characters
            unknown = numbers["<oov>"]
            spelled = [numbers.get(one, unknown) for one in word[: self._width - 2]]
            # The names are the wrong way round: the models were trained so.
            begin, end, padding = numbers["<eow>"], numbers["<bow>"], numbers["<pad>"]
        row = np.full(self._width, padding, dtype=np.int64)
        row[: len(spelled) + 2] = [begin, *spelled, end]
        return row


def _numbers(names: str) -> dict[str, int]:
    """Number a JSON list from 1 on; of equal names the last one counts."""
    return {name: number for number, name in enumerate(json.loads(names), start=1)}


def main() -> None:
    """Embed the texts of the command line."""
    file, *texts = sys.argv[1:]
    for text, vectors in zip(texts, OnnxElmo(file)([text.split() for text in texts]), strict=True):
        print(f"{vectors.shape}  first numbers {vectors.ravel()[:3].round(4)}  {text}")


if __name__ == "__main__":
    main()
