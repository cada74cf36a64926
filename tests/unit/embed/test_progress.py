import io

import pytest
from rich.console import Console

from elmokit.embed import progress


def test_items_pass_through_one_by_one() -> None:
    taken = []

    def items() -> object:
        for number in range(3):
            taken.append(number)
            yield number

    tracked = progress.track(items(), "Counting", total=None)  # type: ignore[arg-type, var-annotated]
    assert not taken
    assert next(tracked) == 0
    assert taken == [0]
    assert list(tracked) == [1, 2]


def test_a_bar_with_what_is_left_is_shown_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(
        "rich.console.Console",
        lambda stderr: Console(file=screen, force_terminal=True, width=100, stderr=stderr),
    )
    assert list(progress.track(iter("abc"), "Embedding", total=3)) == list("abc")
    shown = screen.getvalue()
    assert "Embedding" in shown
    assert "3/3" in shown
    assert "left" in shown
