"""The tour's pages and notebooks are what their one source makes."""

import ast
import importlib.util
import json
import re
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_tour", ROOT / "scripts" / "make_tour.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TOUR = _script()
SOURCE = TOUR.SOURCE.read_text(encoding="utf-8")
PARTS = TOUR.parts_of(SOURCE)
OUTPUTS: dict[str, str] = json.loads(TOUR.OUTPUTS.read_text(encoding="utf-8"))
CODE = [part for part in PARTS if part.kind != "prose"]


def test_no_output_is_missing_or_of_other_code() -> None:
    names = {name for name, part in TOUR.named(PARTS) if part.kind != "prose"}
    assert set(OUTPUTS) == names, "the code of scripts/tour.md has changed: run make_tour.py"


def test_the_committed_files_are_what_the_source_makes() -> None:
    made = TOUR.files(PARTS, OUTPUTS)
    assert len(made) == 4
    for file, content in made.items():
        said = "run scripts/make_tour.py (--prose if only prose has changed)"
        assert file.read_text(encoding="utf-8") == content, f"{file.name}: {said}"


def test_code_is_code() -> None:
    assert {part.kind for part in CODE} == {"shell", "python"}
    for part in CODE:
        if part.kind == "python":
            ast.parse(part.text)
        else:
            subprocess.run(["bash", "-n", "-c", part.text], check=True)


def test_the_languages_say_the_same_things() -> None:
    headings = {
        language: [
            re.match("#+", line)[0]  # type: ignore[index]
            for part in PARTS
            if part.kind == "prose" and part.language == language
            for line in part.text.splitlines()
            if line.startswith("#")
        ]
        for language in TOUR.LANGUAGES
    }
    assert headings["en"] == headings["ko"]
    assert len(headings["en"]) > 5
    for part in PARTS:
        korean = any("가" <= letter <= "힣" for letter in part.text)
        assert korean == (part.language == "ko"), part.text


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_notebook_is_in_the_format_of_jupyter(language: str) -> None:
    notebook = json.loads(TOUR.NOTEBOOKS[language].read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    for cell in notebook["cells"]:
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", cell["id"])
        needed = {"id", "metadata", "cell_type", "source"}
        if cell["cell_type"] == "code":
            needed |= {"outputs", "execution_count"}
            for output in cell["outputs"]:
                assert set(output) == {"name", "output_type", "text"}
        assert set(cell) == needed
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(code) == sum(part.language in ("all", language) for part in CODE)
    # Links are seen from examples/.
    prose = "".join("".join(c["source"]) for c in notebook["cells"] if c["cell_type"] != "code")
    for target in re.findall(r"\]\((?!\w+://)([^)#]+)", prose):
        assert (ROOT / "examples" / target).exists(), target


SMALL = """<!-- en -->
# Title
<!-- ko -->
# 제목
<!-- all -->
```shell
echo one
```
<!-- ko -->
말
```python
print(2)
```
<!-- en -->
```text
prose
```
See [docs](tour.md).
"""


def test_a_small_tour(tmp_path: Path) -> None:
    parts = TOUR.parts_of(SMALL)
    assert [(part.kind, part.language) for part in parts] == [
        ("prose", "en"),
        ("prose", "ko"),
        ("shell", "all"),
        ("prose", "ko"),
        ("python", "ko"),
        ("prose", "en"),
    ]
    outputs = TOUR.run_all(parts)
    assert list(outputs.values()) == ["one", "2"]
    english, korean = (TOUR.page(parts, outputs, language) for language in ("en", "ko"))
    assert english.startswith("# Title\n")
    assert "```shell\necho one\n```\n\n```text\none\n```\n\n```text\nprose\n```" in english
    assert "print(2)" not in english
    # What the English page runs is not run again.
    assert "```text\necho one\n```\n\n```text\none\n```\n\n말\n\n```python\nprint(2)\n```" in korean
    cells = TOUR.notebook(parts, outputs, "en")["cells"]
    assert cells[1]["source"] == ["%%bash\n", "echo one"]
    assert cells[1]["outputs"][0]["text"] == ["one"]
    assert "](../docs/tour.md)" in "".join(cells[2]["source"])


def test_an_output_belongs_to_all_code_before_it() -> None:
    before = dict.fromkeys(name for name, _ in TOUR.named(TOUR.parts_of(SMALL)))
    after = dict.fromkeys(
        name for name, _ in TOUR.named(TOUR.parts_of(SMALL.replace("echo one", "echo two")))
    )
    assert not set(list(before)[1:]) & set(list(after)[1:])
    prose = dict.fromkeys(
        name for name, _ in TOUR.named(TOUR.parts_of(SMALL.replace("말", "다른 말")))
    )
    assert before == prose


def test_code_that_fails_stops_the_script() -> None:
    with pytest.raises(SystemExit, match="exit 3"):
        TOUR.run_all(TOUR.parts_of("```shell\nexit 3\n```\n"))
