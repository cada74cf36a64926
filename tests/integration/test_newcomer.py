"""The newcomer's path: text, prepare, train, embed, and neighbours that make sense to look at."""

import contextlib
import io
import lzma
import random
from pathlib import Path
from typing import Any

import pytest

from integration import test_documents
from integration.test_documents import PYTHON, ROOT, SHELL, Block, cut

SECTION = "## Train your own"
MINI = ROOT.parent / "shared/data/en_mini.train.txt.xz"
TWO_MEGABYTES = 2_000_000

PEOPLE = ("baker", "doctor", "farmer", "pilot", "teacher")
PLACES = ("Berlin", "Lisbon", "London", "Madrid", "Paris")
HELPERS = ("can", "could", "may", "must", "should", "will", "would")
VERBS = ("call", "come", "help", "rest", "wait")


def section_blocks() -> list[Block]:
    """Give the blocks of the README's section, as a reader copies them."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert SECTION in text
    return cut(text.split(SECTION, 1)[1].split("\n## ", 1)[0]).blocks


def run_section(folder: Path, blocks: list[Block]) -> list[str]:
    """Run the blocks in order; give what the Python ones print."""
    namespace: dict[str, Any] = {"__name__": "a_page"}
    printed = io.StringIO()
    for block in blocks:
        if block.language in SHELL:
            test_documents.run_shell(block, folder)
        elif block.language in PYTHON:
            with contextlib.redirect_stdout(printed):
                exec(block.code, namespace)
    return printed.getvalue().splitlines()


def made_text() -> str:
    draw = random.Random(0)
    lines = []
    for number in range(1, 1201):
        who, helper, verb = draw.choice(PEOPLE), draw.choice(HELPERS), draw.choice(VERBS)
        lines.append(
            draw.choice(
                (
                    f"The {who} {helper} {verb} in {draw.choice(PLACES)}.",
                    f"She {helper} {verb}.",
                    f"A {who} came to {draw.choice(PLACES)} and {draw.choice(PLACES)}.",
                )
            )
        )
        if number % 20 == 0:
            lines.append("")
    return "\n".join(lines) + "\n"


def neighbours(lines: list[str]) -> list[str]:
    """Give the words that a line of the answer begins with."""
    return [line.split()[0] for line in lines]


def test_a_made_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sentences.txt").write_text(made_text(), encoding="utf-8")
    found = neighbours(run_section(tmp_path, section_blocks()))
    assert len(found) == 5
    assert set(found) <= set(HELPERS)
    assert (tmp_path / "run/model/README.md").is_file()
    assert (tmp_path / "vectors.h5").is_file()


@pytest.mark.slow
@pytest.mark.skipif(not MINI.is_file(), reason="the text is not there")
def test_two_megabytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some minutes of training: the neighbours of a helping verb are helping verbs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(test_documents, "SECONDS_PER_COMMAND", 1800)
    with lzma.open(MINI, "rb") as stream:
        text = stream.read(TWO_MEGABYTES)
    (tmp_path / "sentences.txt").write_bytes(text.rpartition(b"\n")[0] + b"\n")
    found = neighbours(run_section(tmp_path, section_blocks()))
    assert len(found) == 5
    helping = {*HELPERS, "might", "shall", "'ll", "'d", "cannot", "did", "do", "does"}
    assert len([word for word in found if word.lower() in helping]) >= 4
