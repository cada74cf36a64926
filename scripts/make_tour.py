"""Build the tour, as pages and notebooks in English and Korean, from scripts/tour.md.

    python scripts/make_tour.py            run all code, keep what it prints, write all four files
    python scripts/make_tour.py --prose    write them with the kept outputs (only prose changed)

In the source a line ``<!-- en -->``, ``<!-- ko -->`` or ``<!-- all -->`` says for which language
the following is. Blocks of shell and Python are code and are run in order, in one folder; blocks
of text are prose. Each output is kept in scripts/tour.json under a name made of the code up to
there, so that no output of other code can get into a page.
"""

import contextlib
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SOURCE, OUTPUTS = ROOT / "scripts" / "tour.md", ROOT / "scripts" / "tour.json"
LANGUAGES = ("en", "ko")
PAGES = {"en": ROOT / "docs" / "tour.md", "ko": ROOT / "docs" / "tour.ko.md"}
NOTEBOOKS = {"en": ROOT / "examples" / "tour.ipynb", "ko": ROOT / "examples" / "tour.ko.ipynb"}
FOR = re.compile(r"<!-- (en|ko|all) -->")
FENCE = re.compile(r"```(\w*)")
# Links of pages lead out of docs/, those of notebooks out of examples/.
LINK = re.compile(r"\]\((?!\w+://)([^)#]+)")

Kind = Literal["prose", "shell", "python"]


class Part(NamedTuple):
    """A stretch of the source."""

    kind: Kind
    language: str
    """``en``, ``ko`` or ``all``."""
    text: str


def parts_of(source: str) -> list[Part]:
    """Cut the source at its marks and its blocks of code."""
    parts: list[Part] = []
    kind: Kind = "prose"
    language, lines, fenced = "all", list[str](), False

    def close() -> None:
        text = "\n".join(lines).strip("\n")
        if text:
            parts.append(Part(kind, language, text))
        lines.clear()

    for line in source.splitlines():
        fence, mark = FENCE.match(line), FOR.fullmatch(line)
        if mark and not fenced:
            close()
            language = mark[1]
        elif fence and not fenced and fence[1] in ("shell", "python"):
            close()
            kind, fenced = ("shell" if fence[1] == "shell" else "python"), True
        elif fence and kind != "prose":
            close()
            kind, fenced = "prose", False
        else:
            fenced = not fenced if fence else fenced
            lines.append(line)
    close()
    return parts


def named(parts: Sequence[Part]) -> Iterator[tuple[str, Part]]:
    """Give every part with the name of its output: a digest of all code up to it."""
    digest = hashlib.sha256()
    for part in parts:
        if part.kind != "prose":
            digest.update(f"{part.kind}\n{part.text}\n".encode())
        yield digest.hexdigest()[:16], part


def run_all(parts: Sequence[Part]) -> dict[str, str]:
    """Run the code of all languages in a folder of its own; give what it prints."""
    outputs = {}
    namespace: dict[str, Any] = {"__name__": "tour"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, part in named(parts):
            if part.kind == "shell":
                print(part.text, flush=True)
                outputs[name] = _run_shell(part.text)
            elif part.kind == "python":
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(compile(part.text, "tour", "exec"), namespace)
                outputs[name] = printed.getvalue()
            else:
                continue
            outputs[name] = "\n".join(line.rstrip() for line in outputs[name].splitlines())
    return outputs


def _run_shell(code: str) -> str:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    finished = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code],
        env={**os.environ, "PATH": path, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    if finished.returncode:
        raise SystemExit(f"{code}\n{finished.stdout}{finished.stderr}")
    return finished.stdout


def page(parts: Sequence[Part], outputs: Mapping[str, str], language: str) -> str:
    """Write a page of the docs.

    The tests run the blocks of all pages. In the Korean page, those that the English one has too
    are marked as text, so that they are run once.
    """
    blocks = [_note(language)]
    for name, part in named(parts):
        if part.language not in ("all", language):
            continue
        if part.kind == "prose":
            blocks.append(part.text)
            continue
        tag = part.kind if language in ("en", part.language) else "text"
        blocks.append(f"```{tag}\n{part.text}\n```")
        if outputs[name]:
            blocks.append(f"```text\n{outputs[name]}\n```")
    # The title stands first.
    blocks[:2] = [blocks[1], blocks[0]]
    return "\n\n".join(blocks) + "\n"


def _note(language: str) -> str:
    link = f"../examples/{NOTEBOOKS[language].name}"
    if language == "ko":
        said = f"이 글은 [노트북]({link})으로도 볼 수 있습니다. [English](tour.md)"
    else:
        said = f"This page is a [notebook]({link}) too. [한국어](tour.ko.md)"
    return f"<!-- made by scripts/make_tour.py from scripts/tour.md -->\n{said}"


def notebook(parts: Sequence[Part], outputs: Mapping[str, str], language: str) -> dict[str, Any]:
    """Write a notebook of Jupyter's format 4.5."""
    cells: list[dict[str, Any]] = []
    for name, part in named(parts):
        if part.language not in ("all", language):
            continue
        cell: dict[str, Any] = {"id": f"cell-{len(cells):02}", "metadata": {}}
        if part.kind == "prose":
            text = LINK.sub(lambda found: f"]({_from_examples(found[1])}", part.text)
            cell |= {"cell_type": "markdown", "source": _lines(text)}
        else:
            code = f"%%bash\n{part.text}" if part.kind == "shell" else part.text
            printed = {"name": "stdout", "output_type": "stream", "text": _lines(outputs[name])}
            cell |= {
                "cell_type": "code",
                "execution_count": None,
                "outputs": [printed] if outputs[name] else [],
                "source": _lines(code),
            }
        cells.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _from_examples(target: str) -> str:
    return target.removeprefix("../") if target.startswith("../examples/") else _moved(target)


def _moved(target: str) -> str:
    return target if target.startswith("../") else f"../docs/{target}"


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def files(parts: Sequence[Part], outputs: Mapping[str, str]) -> dict[Path, str]:
    """Give the text of all four files."""
    found = {}
    for language in LANGUAGES:
        found[PAGES[language]] = page(parts, outputs, language)
        content = json.dumps(notebook(parts, outputs, language), indent=1, ensure_ascii=False)
        found[NOTEBOOKS[language]] = content + "\n"
    return found


def main() -> None:
    """Write the tour."""
    parts = parts_of(SOURCE.read_text(encoding="utf-8"))
    if sys.argv[1:] == ["--prose"]:
        outputs = json.loads(OUTPUTS.read_text(encoding="utf-8"))
        missing = [p for name, p in named(parts) if p.kind != "prose" and name not in outputs]
        if missing:
            raise SystemExit(f"the code has changed; run without --prose: {missing[0].text}")
    else:
        outputs = run_all(parts)
        text = json.dumps(outputs, indent=1, ensure_ascii=False)
        OUTPUTS.write_text(text + "\n", encoding="utf-8")
    for file, content in files(parts, outputs).items():
        file.write_text(content, encoding="utf-8")
        print(f"wrote {file.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
