"""The plan for a spilled corpus: duplicates out, held-out text apart."""

from pathlib import Path
from typing import Any

import numpy as np

from elmokit.corpus.duplicates import mark_duplicates
from elmokit.corpus.plan import IN_TRAIN, IN_VALID, Plan, hold_out, open_documents
from elmokit.corpus.spill_corpus import SpilledCorpus

DUPLICATES = ("keep", "report", "drop")


def plan_splits(
    text: SpilledCorpus, folder: Path, *, duplicates: str, share: float
) -> tuple[Plan, dict[str, Any]]:
    """Say for every sentence where it goes, and give the facts about that for the report.

    Duplicates are looked for in the corpus, not in the files of held-out text.
    """
    plan = Plan(folder / "plan", text.spills)
    marks = found = None
    if duplicates != "keep":
        marks = mark_duplicates([text.spills[number] for number in text.train], folder)
        found = {"sentences": int(np.count_nonzero(marks)), "dropped": duplicates == "drop"}
    dropped = marks if duplicates == "drop" else None
    open_documents(plan, text.spills, numbers=text.train, place=IN_TRAIN, duplicates=dropped)
    open_documents(plan, text.spills, numbers=text.valid, place=IN_VALID, duplicates=None)
    held_out: dict[str, Any] = {"from": "files" if text.valid else "none"}
    if share > 0:
        choice = hold_out(plan, text.spills, folder, numbers=text.train, share=share)
        held_out = {"from": choice.units, "share": share}
        if choice.block_sentences:
            held_out["block_sentences"] = choice.block_sentences
    return plan, {"held_out": held_out, "duplicates": found}
