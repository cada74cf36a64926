"""The entry point: help, errors as one line, exit codes, tracebacks on demand."""

from collections.abc import Callable
from pathlib import Path

import pytest

from elmokit.version import __version__

Shell = Callable[..., tuple[int, str, str]]

COMMANDS = [
    "embed",
    "info",
    "convert",
    "verify",
    "prepare",
    "finetune",
    "train",
    "evaluate",
    "score",
    "substitutes",
    "demo",
]


def assert_one_line(err: str, *parts: str) -> None:
    assert err.startswith("elmo: error: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    for part in parts:
        assert part in err


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_names_every_command(shell: Shell, arguments: list[str]) -> None:
    code, out, err = shell(*arguments)
    assert (code, err) == (0, "")
    assert out.startswith("Usage: elmo [OPTIONS] COMMAND")
    for command in COMMANDS:
        assert f"\n  {command} " in out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_json(shell: Shell, command: str) -> None:
    code, out, err = shell(command, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"Usage: elmo {command}")
    assert "--json" in out


def test_the_options_of_embed(shell: Shell) -> None:
    _, out, _ = shell("embed", "--help")
    for option in ("--output", "-o", "--model", "--layers", "--tokenised", "--float16", "--start"):
        assert option in out


def test_version(shell: Shell) -> None:
    assert shell("--version") == (0, f"{__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["imbed"], ["No such command 'imbed'"]),
        (["info", "--jsno"], ["--jsno", "--json"]),
        (["embed"], ["Missing argument 'FILE'"]),
        (["embed", "in.txt"], ["Missing option '--output'"]),
        (["convert", "a"], ["Missing argument 'DST'"]),
        (["info", "a", "b"], ["b"]),
        (["embed", "in.txt", "-o", "out.npz", "--batch-tokens", "many"], ["--batch-tokens"]),
    ],
)
def test_wrong_usage(shell: Shell, arguments: list[str], parts: list[str]) -> None:
    code, out, err = shell(*arguments)
    assert (code, out) == (2, "")
    assert_one_line(err, *parts, "see elmo --help")


def test_a_user_s_mistake_is_one_line_and_2(shell: Shell) -> None:
    code, out, err = shell("info", "no-such-model")
    assert (code, out) == (2, "")
    assert_one_line(err, "'no-such-model'", "tiny-untrained")


def raise_it(error: BaseException) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


def test_a_mistake_of_ours_is_one_line_and_1(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("elmokit.embed.describe.describe", raise_it(KeyError("two\nlines")))
    code, out, err = shell("info", "tiny-untrained")
    assert (code, out) == (1, "")
    assert_one_line(err, "internal error, please report it", "KeyError", "--debug")


def test_the_system_s_refusal_is_2(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    error = OSError(28, "No space left on device", "/data/out.h5")
    monkeypatch.setattr("elmokit.embed.describe.describe", raise_it(error))
    code, _, err = shell("info", "tiny-untrained")
    assert code == 2
    assert_one_line(err, "/data/out.h5", "No space left on device")


def test_control_c(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("elmokit.embed.describe.describe", raise_it(KeyboardInterrupt()))
    code, out, err = shell("info", "tiny-untrained")
    assert (code, out) == (130, "")
    assert_one_line(err, "interrupted")


@pytest.mark.parametrize("place", [0, 1, 2])
def test_debug_shows_a_traceback_wherever_it_stands(shell: Shell, place: int) -> None:
    arguments = ["info", "no-such-model"]
    arguments.insert(place, "--debug")
    code, _, err = shell(*arguments)
    assert code == 2
    assert err.startswith("Traceback (most recent call last):")
    assert err.splitlines()[-1].startswith("elmo: error: ")


def test_debug_with_a_mistake_of_ours(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("elmokit.embed.describe.describe", raise_it(RuntimeError("boom")))
    code, _, err = shell("info", "tiny-untrained", "--debug")
    assert code == 1
    assert "Traceback" in err
    assert "raise error" in err


def test_after_two_dashes_debug_is_a_name(shell: Shell) -> None:
    code, _, err = shell("info", "--", "--debug")
    assert code == 2
    assert_one_line(err, "'--debug'")


def test_warnings_are_notes(shell: Shell, recwarn: pytest.WarningsRecorder) -> None:
    import warnings

    warnings.simplefilter("always")
    code, out, err = shell("demo", "--json", "--model", "tiny-untrained")
    assert code == 0
    assert out.startswith("{")
    assert err.startswith("elmo: note: ")
    assert "untrained" in err
    assert err.count("\n") == 1
    assert not recwarn.list


def test_a_missing_file_of_a_model(shell: Shell, model: Path) -> None:
    (model / "model.safetensors").unlink()
    code, _, err = shell("info", model)
    assert code == 2
    assert_one_line(err, "model.safetensors", "missing")
