"""What README and docs show works: every block of Python and shell runs, every link leads on.

The blocks of a page run in order, in one namespace and one temporary folder that holds
`sentences.txt` and the repository's `benchmarks/` and `examples/`. A line ``print(...)  # ->
text`` must print just that text. Blocks tagged ``text`` are not run.
"""

import contextlib
import io
import os
import re
import subprocess
import sys
import textwrap
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGE_NAMES = [str(page.relative_to(ROOT)) for page in PAGES]

PYTHON, SHELL = {"python"}, {"shell", "sh"}
# They set up an environment or run these very tests.
SKIPPED_COMMANDS = re.compile(r"\s*(make|pip)\b")
SECONDS_PER_COMMAND = 120

SENTENCES = "She sat on the bank of the river.\n\nHe took the money to the bank.\n"

FENCE = re.compile(r"^\s*```\s*(\w*)")
LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)(?:\s+\"[^\"]*\")?\)")
PROMISE = re.compile(r"^ *print\(.*\)  # -> (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    line: int
    """Number of its first line of code, counted from 1."""
    code: str


@dataclass(frozen=True)
class Page:
    """A document cut into what is read and what is run."""

    prose: list[tuple[int, str]]
    """Numbered lines outside of blocks."""
    blocks: list[Block]


def cut(text: str) -> Page:
    prose: list[tuple[int, str]] = []
    blocks: list[Block] = []
    opened: tuple[str, int] | None = None
    code: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        fence = FENCE.match(line)
        if opened is None and fence:
            opened, code = (fence[1].lower(), number + 1), []
        elif opened is not None and fence:
            blocks.append(Block(*opened, textwrap.dedent("\n".join(code))))
            opened = None
        elif opened is not None:
            code.append(line)
        else:
            prose.append((number, line))
    assert opened is None, f"the block at line {opened} is never closed"
    return Page(prose, blocks)


def run_python(block: Block, name: str, namespace: dict[str, Any]) -> None:
    printed = io.StringIO()
    # Empty lines in front make line numbers of tracebacks those of the page.
    code = compile("\n" * (block.line - 1) + block.code, name, "exec")
    with contextlib.redirect_stdout(printed):
        exec(code, namespace)
    lines = iter(printed.getvalue().splitlines())
    for promise in PROMISE.findall(block.code):
        if promise not in lines:
            pytest.fail(f"{promise!r} was promised; printed was\n{printed.getvalue()}")


def run_shell(block: Block, folder: Path) -> None:
    commands = [line for line in block.code.splitlines() if not SKIPPED_COMMANDS.match(line)]
    if not any(line.strip() for line in commands):
        return
    finished = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(commands)],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS_PER_COMMAND * len(commands),
        check=False,
    )
    if finished.returncode != 0:
        pytest.fail(f"exit code {finished.returncode}\n{finished.stdout}{finished.stderr}")


def environment() -> dict[str, str]:
    """Find this interpreter's `elmo` first; many threads only slow a small model down."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return {**os.environ, "PATH": path, "OMP_NUM_THREADS": "1"}


def failing_line(error: BaseException, name: str, block: Block) -> int:
    """Give the line of the page where the error was raised."""
    if isinstance(error, SyntaxError) and error.filename == name and error.lineno:
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == name and frame.lineno]
    return lines[0] if lines else block.line


@pytest.mark.parametrize("page", PAGES, ids=PAGE_NAMES)
def test_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sentences.txt").write_text(SENTENCES, encoding="utf-8")
    for name in ("benchmarks", "examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    name = str(page.relative_to(ROOT))
    namespace: dict[str, Any] = {"__name__": "a_page"}
    for block in cut(page.read_text(encoding="utf-8")).blocks:
        failure = None
        try:
            if block.language in PYTHON:
                run_python(block, name, namespace)
            elif block.language in SHELL:
                run_shell(block, tmp_path)
        except (Exception, SystemExit, pytest.fail.Exception) as error:
            line = failing_line(error, name, block)
            failure = f"{name}, line {line}: {type(error).__name__}: {error}"
        if failure is not None:
            pytest.fail(failure, pytrace=False)


@pytest.mark.parametrize("page", PAGES, ids=PAGE_NAMES)
def test_relative_links_lead_to_files(page: Path) -> None:
    for number, line in cut(page.read_text(encoding="utf-8")).prose:
        for target in LINK.findall(line):
            path = target.split("#")[0]
            if path and "://" not in target and not target.startswith("mailto:"):
                assert (page.parent / path).exists(), f"{page.name}, line {number}: {target}"


def test_pages_name_the_blocks_they_want_run() -> None:
    known = PYTHON | SHELL | {"text", "json", "toml", "yaml"}
    for page, name in zip(PAGES, PAGE_NAMES, strict=True):
        for block in cut(page.read_text(encoding="utf-8")).blocks:
            assert block.language in known, f"{name}, line {block.line}: {block.language!r}"


def test_a_failing_block_is_named_by_page_and_line() -> None:
    (block,) = cut("# Title\n\n```python\nfine = 1\n\n1 / 0\n```\n").blocks
    with pytest.raises(ZeroDivisionError) as raised:
        run_python(block, "page.md", {})
    assert failing_line(raised.value, "page.md", block) == 6


def test_a_broken_promise_is_found() -> None:
    (block,) = cut("```python\nprint(1 + 1)  # -> 3\n```\n").blocks
    with pytest.raises(pytest.fail.Exception, match="'3' was promised"):
        run_python(block, "page.md", {})


def test_a_failing_command_is_found(tmp_path: Path) -> None:
    (block,) = cut("```shell\nmake nothing\nfalse\ntrue\n```\n").blocks
    with pytest.raises(pytest.fail.Exception, match="exit code 1"):
        run_shell(block, tmp_path)


def test_the_tagger_learns() -> None:
    finished = subprocess.run(
        [sys.executable, "examples/elmo_layer_tagger.py"],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS_PER_COMMAND,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    assert not finished.stderr
    losses = [
        float(loss) for loss in re.findall(r"^epoch +\d+  loss (\S+)$", finished.stdout, re.M)
    ]
    assert len(losses) == 10
    assert losses[-1] < losses[0] / 2
    mixes = re.findall(r"^mix \d  weights (\S+) (\S+) (\S+)$", finished.stdout, re.M)
    assert len(mixes) == 2
    for weights in mixes:
        assert sum(map(float, weights)) == pytest.approx(1, abs=0.002)
    tagged = dict(token.split("/") for token in finished.stdout.splitlines()[-1].split())
    assert list(tagged) == ["they", "watch", "the", "play", "in", "garden", "."]
    assert (tagged["watch"], tagged["play"], tagged["."]) == ("VERB", "NOUN", "PUNCT")
