"""Tiny data of every task, made up, in the documented formats."""

import json
from pathlib import Path
from typing import Any

NAMES = ("Ada", "Bob", "Carla", "Dan", "Eve")
PLACES = ("Paris", "Rome", "Oslo", "Lima", "Bern")


def write_records(file: Path, records: list[dict[str, Any]]) -> Path:
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return file


def _ner() -> list[dict[str, Any]]:
    records = []
    for name in NAMES:
        for place in PLACES[:4]:
            records.append(
                {
                    "tokens": [name, "went", "to", "New", place, "today"],
                    "tags": ["B-PER", "O", "O", "B-LOC", "I-LOC", "O"],
                }
            )
    return records


def _sst() -> list[dict[str, Any]]:
    feelings = {"4": ("superb", "wonderful"), "2": ("average", "ordinary"), "0": ("awful", "dire")}
    return [
        {"tokens": [*opening, word, "."], "label": label}
        for label, words in feelings.items()
        for word in words
        for opening in (["It", "is"], ["A", "film", "that", "is"], ["Really"])
    ]


def _snli() -> list[dict[str, Any]]:
    records = []
    for name in NAMES:
        premise = f"{name} sleeps in a bed"
        records += [
            {"premise": premise, "hypothesis": f"{name} sleeps", "label": "entailment"},
            {"premise": premise, "hypothesis": f"{name} runs fast", "label": "contradiction"},
            {"premise": premise, "hypothesis": f"{name} may dream", "label": "neutral"},
        ]
    return records


def _squad() -> list[dict[str, Any]]:
    records = []
    for number, (name, place) in enumerate(zip(NAMES, PLACES, strict=True)):
        context = f"{name} lives in {place} now."
        records.append(
            {
                "title": "t",
                "context": context,
                "qas": [
                    {
                        "id": f"{number}-who",
                        "question": "Who lives there?",
                        "answers": [{"text": name, "start": 0}],
                    },
                    {
                        "id": f"{number}-where",
                        "question": "Where is the home?",
                        "answers": [{"text": place, "start": context.index(place)}],
                    },
                ],
            }
        )
    return records


def _srl() -> list[dict[str, Any]]:
    return [
        {
            "id": name,
            "tokens": [name, "gave", "Dan", "a", thing],
            "upos": ["PROPN", "VERB", "PROPN", "DET", "NOUN"],
            "frames": [
                {
                    "pred": 1,
                    "roleset": "give.01",
                    "spans": [["ARG0", 0, 0], ["V", 1, 1], ["ARG2", 2, 2], ["ARG1", 3, 4]],
                }
            ],
        }
        for name in NAMES
        for thing in ("book", "pen", "hat")
    ]


def _coref() -> list[dict[str, Any]]:
    return [
        {
            "doc": name,
            "split": "train",
            "sentences": [[name, "saw", other, "."], ["Then", name, "left", "."]],
            "clusters": [[[0, 0], [5, 5]]],
        }
        for name in NAMES
        for other in ("rain", "snow")
    ]


RECORDS = {
    "ner": _ner(), "sst": _sst(), "snli": _snli(), "squad": _squad(), "srl": _srl(),
    "coref": _coref(),
}  # fmt: skip

# Sizes and recipes that learn these by heart in seconds.
CHANGES = {
    "ner": ["hidden_dim=16", "layers=1", "batch_size=5"],
    "sst": [
        "hidden_dim=16",
        "output_dims=[16]",
        "output_dropouts=[0.1]",
        "batch_size=6",
        "inputs.dropout=0.1",
        "model.dropout=0.1",
    ],
    "snli": ["hidden_dim=16", "batch_size=5"],
    "squad": ["hidden_dim=16", "projection_dim=16", "batch_size=5", "epochs=150", "patience=150"],
    "srl": ["hidden_dim=16", "layers=2", "predicate_dim=4", "batch_size=5"],
    "coref": ["lstm_dim=16", "hidden_dim=16", "widest=3", "coarse_dim=8", "feature_dim=4"],
}
INPUTS_TO_ASK = {
    "ner": "Ada went to New Rome today",
    "sst": "A film that is superb.",
    "snli": {"premise": "Ada sleeps in a bed", "hypothesis": "Ada sleeps"},
    "squad": {"context": "Eve lives in Bern now.", "question": "Who lives there?"},
    "srl": "Ada *gave* Dan a hat",
    "coref": "Ada saw rain. Then Ada left.",
}
