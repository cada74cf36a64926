"""docs/tasks.md names every setting with the default that it has."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest

from elmokit.tasks.names import TASK_NAMES, task_named
from elmokit.tasks.settings import InputSettings, Recipe

PAGE = Path(__file__).resolve().parents[3] / "docs" / "tasks.md"


def rows_below(heading: str) -> dict[str, list[str]]:
    """Give the rows of the table below a heading, by the key in their first cell."""
    text = PAGE.read_text(encoding="utf-8")
    settings = text[text.index("\n## Settings\n") :]
    part = re.split(r"\n#", settings.split(f"\n{heading}\n", 1)[1])[0]
    rows = [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith("| `")]
    return {row[0].strip("`"): [cell.strip() for cell in row[1:]] for row in rows}


def written(value: Any) -> str:
    """Write a value as --set takes it."""
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


@pytest.mark.parametrize(
    ("heading", "part", "kind"),
    [("### Recipe", "recipe", Recipe), ("### Inputs", "inputs", InputSettings)],
)
def test_recipe_and_inputs(heading: str, part: str, kind: Any) -> None:
    expected = {}
    for field in dataclasses.fields(kind):
        default = getattr(kind(), field.name)
        others: dict[str, list[str]] = {}
        for task in TASK_NAMES:
            value = getattr(getattr(task_named(task).defaults(), part), field.name)
            if value != default:
                others.setdefault(written(value), []).append(task)
        differing = [f"{', '.join(tasks)}: {value}" for value, tasks in others.items()]
        expected[field.name] = [written(default), "; ".join(differing)]
    assert {key: cells[:2] for key, cells in rows_below(heading).items()} == expected


@pytest.mark.parametrize("task", TASK_NAMES)
def test_models(task: str) -> None:
    expected = {
        key: written(value) for key, value in task_named(task).defaults().model.to_dict().items()
    }
    assert {key: cells[0] for key, cells in rows_below(f"#### {task}").items()} == expected


def test_where_elmo_enters() -> None:
    text = PAGE.read_text(encoding="utf-8")
    part = text.split("\n### Where ELMo enters\n", 1)[1].split("\n#", 1)[0]
    found = dict(re.findall(r"^\| `(\w+)` \| `(\w+)` \|", part, re.MULTILINE))
    assert found == {task: task_named(task).defaults().inputs.elmo_at for task in TASK_NAMES}
