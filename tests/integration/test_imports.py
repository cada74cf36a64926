"""Importing does nothing and costs nothing; what is promised is there."""

import importlib
import importlib.util
import json
import pkgutil
import subprocess
import sys

import pytest

import elmokit

# Whatever takes long to import or may be missing.
HEAVY = {"torch", "numpy", "h5py", "safetensors", "pyarrow", "rich.progress"}

# Modules that are nothing without their guest, and what importing that guest alone does.
GUESTS = {
    "elmokit.integrations.flair": "flair",
    "elmokit.integrations.sklearn": "sklearn.base",
    "elmokit.integrations.spacy": "spacy",
}

PUBLIC = {
    "CarriedState",
    "Elmo",
    "ElmoError",
    "ElmoLayer",
    "FormatError",
    "InputError",
    "MissingExtraError",
    "ModelConfig",
    "ScalarMix",
    "__version__",
    "load",
}


def modules_after(statement: str) -> set[str]:
    """Name the modules that a fresh Python holds after a statement that prints nothing."""
    script = f"import sys\n{statement}\nimport json\nprint(json.dumps(sorted(sys.modules)))"
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, text=True
    )
    assert found.stderr == ""
    assert found.stdout.count("\n") == 1
    return set(json.loads(found.stdout))


@pytest.mark.parametrize(
    "statement",
    [
        "import elmokit",
        "import elmokit.cli.main",
        "from elmokit import ElmoError, InputError, __version__",
    ],
)
def test_light_imports_stay_light(statement: str) -> None:
    assert not modules_after(statement) & HEAVY


def test_torch_comes_with_the_first_use() -> None:
    loaded = modules_after("import elmokit\nelmokit.load")
    assert "torch" in loaded
    assert "pyarrow" not in loaded, "it is an extra"
    assert "typer" not in loaded, "the library does not need the shell"


def test_every_public_name_resolves() -> None:
    assert set(elmokit.__all__) >= PUBLIC
    for name in elmokit.__all__:
        assert getattr(elmokit, name) is not None, name
        assert getattr(elmokit, name) is getattr(elmokit, name)


def test_a_public_name_is_the_one_of_its_home() -> None:
    for name, home in elmokit._HOMES.items():
        assert getattr(elmokit, name) is getattr(importlib.import_module(home), name)


def test_dir_is_what_is_public() -> None:
    assert dir(elmokit) == sorted(elmokit.__all__)
    assert elmokit.__all__ == sorted(elmokit.__all__)


def test_import_star() -> None:
    names: dict[str, object] = {}
    exec("from elmokit import *", names)
    assert names.keys() >= set(elmokit.__all__)


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'elmokit' has no attribute 'embedd'"):
        getattr(elmokit, "embedd")  # noqa: B009
    assert not hasattr(elmokit, "__wrapped__")


def test_errors_can_be_caught_as_people_expect() -> None:
    for error in (elmokit.FormatError, elmokit.InputError, elmokit.MissingExtraError):
        assert issubclass(error, elmokit.ElmoError)
    assert issubclass(elmokit.InputError, ValueError)
    assert issubclass(elmokit.MissingExtraError, ImportError)


def test_importing_every_module_does_nothing() -> None:
    """No output, no handlers, no environment, no threads, no random numbers drawn."""
    names = [m.name for m in pkgutil.walk_packages(elmokit.__path__, "elmokit.")]
    if importlib.util.find_spec("triton") is None:
        names = [name for name in names if not name.endswith("_triton")]
    guests = {
        name: guest
        for name, guest in GUESTS.items()
        if importlib.util.find_spec(guest.partition(".")[0]) is not None
    }
    names = [name for name in names if name not in GUESTS or name in guests]
    assert len(names) > 40
    statement = "\n".join(
        [
            "import importlib, logging, os, random, threading, warnings",
            "import numpy, torch, h5py, typer, rich.progress",
            *(f"import {guest}" for guest in guests.values()),
            "def state():",
            "    return (dict(os.environ), list(logging.root.handlers), random.getstate(),",
            "            threading.active_count(), torch.get_num_threads(),",
            "            bytes(torch.random.get_rng_state().numpy()), list(warnings.filters))",
            "before = state()",
            f"for name in {names!r}:",
            "    importlib.import_module(name)",
            "assert state() == before",
        ]
    )
    assert set(names) <= modules_after(statement)
