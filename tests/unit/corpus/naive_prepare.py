"""Preparing a corpus the plain way, all in memory: what `prepare` must come to."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from elmokit.text.tokenise import tokeniser_named

MASK = 2**64 - 1


@dataclass
class Sentence:
    words: list[str]
    text: str
    opens: bool


@dataclass
class Naive:
    words: list[str]
    counts: list[int]
    streams: dict[str, list[int]]
    documents: dict[str, list[int]]
    bytes: dict[str, int]
    problems: Counter[str] = field(default_factory=Counter)


def naive_prepare(
    texts: Sequence[bytes],
    *,
    valid: Sequence[bytes] = (),
    tokeniser: str = "whitespace",
    share: float = 0.0,
    drop_duplicates: bool = False,
) -> Naive:
    problems: Counter[str] = Counter()
    train = sentences_of(texts, tokeniser, problems)
    held = sentences_of(valid, tokeniser, problems)
    if drop_duplicates:
        train = without_duplicates(train)
    if share:
        train, held = divided(train, share)
    counts = Counter(word for sentence in train for word in sentence.words)
    types = set(counts) | {word for sentence in held for word in sentence.words}
    unknown = counts.pop("<UNK>", 0)
    types.discard("<UNK>")
    ordered = sorted(types, key=lambda word: (-counts[word], word))
    words = ["<S>", "</S>", "<UNK>", *ordered]
    ids = {word: number for number, word in enumerate(words)}
    result = Naive(
        words=words,
        counts=[len(train), 0, unknown, *(counts[word] for word in ordered)],
        streams={},
        documents={},
        bytes={},
        problems=problems,
    )
    for name, sentences in (("train", train), ("valid", held)):
        stream: list[int] = []
        starts: list[int] = []
        for sentence in sentences:
            if sentence.opens or not stream:
                starts.append(len(stream))
            stream += [0, *(ids[word] for word in sentence.words)]
        result.streams[name], result.documents[name] = stream, starts
        result.bytes[name] = sum(len(s.text.encode()) + 1 for s in sentences)
    return result


def sentences_of(texts: Sequence[bytes], tokeniser: str, problems: Counter[str]) -> list[Sentence]:
    cut = tokeniser_named(tokeniser)
    sentences: list[Sentence] = []
    for text in texts:
        opens = True
        for raw in text.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
            try:
                line = raw.decode().strip()
            except UnicodeDecodeError:
                problems["bad_utf8"] += 1
                continue
            if "\0" in line:
                problems["nul"] += 1
                continue
            if not line:
                opens = True
                continue
            words = [token.text for token in cut(line)]
            problems["mark"] += sum(word in ("<S>", "</S>") for word in words)
            words = [word for word in words if word not in ("<S>", "</S>")]
            if words:
                sentences.append(Sentence(words, line, opens))
                opens = False
    return sentences


def without_duplicates(sentences: list[Sentence]) -> list[Sentence]:
    kept: list[Sentence] = []
    seen: set[str] = set()
    opens = False
    for sentence in sentences:
        opens = opens or sentence.opens
        if sentence.text not in seen:
            seen.add(sentence.text)
            kept.append(Sentence(sentence.words, sentence.text, opens))
            opens = False
    return kept


def divided(sentences: list[Sentence], share: float) -> tuple[list[Sentence], list[Sentence]]:
    """Hold out whole documents or blocks, those whose content has the smallest hashes."""
    if len(sentences) < 2:
        return sentences, []
    starts = [number for number, sentence in enumerate(sentences) if sentence.opens or not number]
    lengths = np.diff([*starts, len(sentences)])
    if len(starts) < 1000 or lengths.max() > len(sentences) / 100:
        block = min(max(len(sentences) // 1000, 1), 100)
        starts = list(range(0, len(sentences), block))
    units = [
        sentences[start:end]
        for start, end in zip(starts, [*starts[1:], len(sentences)], strict=True)
    ]
    hashes = [mixed(sum(mixed(hash_of(s.text)) for s in unit) & MASK) for unit in units]
    wanted = min(max(round(share * len(units)), 1), len(units) - 1)
    limit = sorted(hashes)[wanted - 1]
    chosen = [value <= limit for value in hashes]
    if all(chosen):
        chosen[0] = False
    train: list[Sentence] = []
    held: list[Sentence] = []
    before = None
    for unit, is_held in zip(units, chosen, strict=True):
        if before is not None and before != is_held:
            unit[0].opens = True
        (held if is_held else train).extend(unit)
        before = is_held
    return train, held


def hash_of(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def mixed(value: int) -> int:
    value ^= value >> 30
    value = value * 0xBF58476D1CE4E5B9 & MASK
    value ^= value >> 27
    value = value * 0x94D049BB133111EB & MASK
    return value ^ value >> 31


@dataclass
class Prepared:
    """A prepared folder, read with numpy alone."""

    facts: dict[str, Any]
    words: list[str]
    counts: list[int]
    streams: dict[str, list[int]]
    documents: dict[str, list[int]]

    @property
    def problems(self) -> dict[str, int]:
        found: dict[str, Any] = self.facts["report"]["problems"]
        return {kind: facts["count"] for kind, facts in found.items()}

    def sentences(self, split: str = "train") -> list[str]:
        """The sentences of a split as words joined by spaces."""
        text = " ".join(self.words[number] for number in self.streams[split])
        return [sentence.strip() for sentence in text.split("<S>")[1:]]


def read_prepared(folder: Path) -> Prepared:
    facts = json.loads((folder / "corpus.json").read_text(encoding="utf-8"))
    words = (folder / "words.txt").read_bytes().decode().split("\n")
    assert words.pop() == ""
    streams: dict[str, list[int]] = {}
    documents: dict[str, list[int]] = {}
    for name, split in facts["splits"].items():
        streams[name] = []
        for shard in split["shards"]:
            array = np.load(folder / shard["file"], allow_pickle=False)
            assert array.ndim == 1
            assert array.dtype == (np.uint16 if len(words) <= 65536 else np.uint32)
            assert len(array) == shard["tokens"]
            streams[name] += array.tolist()
        starts = np.load(folder / f"{name}-documents.npy", allow_pickle=False)
        assert starts.dtype == np.uint64
        documents[name] = starts.tolist()
        assert split["tokens"] == len(streams[name])
        assert split["documents"] == len(starts)
        assert split["sentences"] == streams[name].count(0)
        assert split["words"] == split["tokens"] - split["sentences"]
    counts = np.load(folder / "counts.npy", allow_pickle=False)
    assert counts.dtype == np.int64
    assert facts["types"] == len(words) == len(counts)
    return Prepared(facts, words, counts.tolist(), streams, documents)
