"""Files damaged in a great many ways: refused in one line, or read for what they are.

Every case is read in a process of its own batch, so that a crash or a hang of a library below
is one failed case and not the end of the tests. To see one case again:

    PYTHONPATH=tests python -X faulthandler tests/integration/test_damaged_files.py KIND CASE COUNT
"""

import faulthandler
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import h5py
import pytest
import torch

import elmokit
from elmokit.config import ModelConfig
from elmokit.files import MANIFEST_FILE
from elmokit.formats import bilm_hdf5, detect, many_langs, native, tf_checkpoint
from elmokit.formats.checkpoint import Checkpoint
from unit.formats.small_checkpoints import BASE, MANY_LANGS, WORDS, assert_same, model, sign

SECONDS_PER_CASE = 20
MOST_MEMORY = 12 << 30  # of addresses; torch alone takes some

# How a damaged file is looked at:
REFUSED_OR_SAME = "refused or same"  # checksums leave no third way
REFUSED_OR_FINITE = "refused or finite"


@dataclass(frozen=True)
class Target:
    """One file of one model."""

    model: str
    """The folder of the model."""
    file: str
    """The file that is damaged."""
    rule: str = REFUSED_OR_FINITE
    signed: bool = False
    """Whether the manifest is made to agree with the damage, so that it is found out later."""


NATIVE_FILES = ["model.safetensors", "config.json", "manifest.json", "vocabulary.txt"]
TARGETS = {
    "native": [
        *(Target("native", name, REFUSED_OR_SAME) for name in NATIVE_FILES),
        Target("native-both", "characters.txt", REFUSED_OR_SAME),
        Target("native-both", "manifest.json", REFUSED_OR_SAME),
        Target("native", "model.safetensors", signed=True),
        Target("native", "config.json", signed=True),
        Target("native", "vocabulary.txt", signed=True),
        Target("native-both", "characters.txt", signed=True),
    ],
    "bilm-hdf5": [
        *[Target("hdf5", "weights.hdf5")] * 3,
        Target("hdf5-packed", "weights.hdf5"),
        Target("hdf5-words", "weights.hdf5"),
        Target("hdf5-words", "softmax.hdf5"),
        Target("hdf5-words", "vocab.txt"),
        Target("hdf5", "options.json"),
        Target("hdf5-words", "options.json"),
    ],
    "many-langs": [
        *(
            Target(folder, name)
            for folder in ("many-langs", "many-langs-older")
            for name in ("encoder.pkl", "token_embedder.pkl")
        ),
        *(Target("many-langs", name) for name in ("char.dic", "word.dic", "sizes.json")),
        Target("many-langs", "config.json"),
    ],
    "tf-checkpoint": [
        *[Target("tf", "model.ckpt-0.index", REFUSED_OR_SAME)] * 2,
        *[Target("tf", "model.ckpt-0.data-00000-of-00001", REFUSED_OR_SAME)] * 2,
        Target("tf", "options.json"),
        Target("tf", "vocab.txt"),
        Target("tf-several", "checkpoint"),
    ],
}


def write_models(folder: Path) -> None:
    """Write every model that `TARGETS` names."""

    def named(config: ModelConfig) -> Checkpoint:
        return replace(model(config), metadata={"name": "small", "licence": "none"})

    words = named(replace(WORDS, softmax_size=7))
    native.write(named(replace(BASE, softmax_size=9)), folder / "native")
    native.write(named(MANY_LANGS), folder / "native-both")
    bilm_hdf5.write(named(BASE), folder / "hdf5")
    bilm_hdf5.write(named(BASE), folder / "hdf5-packed")
    pack(folder / "hdf5-packed" / "weights.hdf5")
    bilm_hdf5.write(words, folder / "hdf5-words")
    move_softmax(folder / "hdf5-words")
    many_langs.write(named(MANY_LANGS), folder / "many-langs")
    many_langs.write(named(MANY_LANGS), folder / "many-langs-older")
    for name in ("encoder.pkl", "token_embedder.pkl"):
        file = folder / "many-langs-older" / name
        torch.save(torch.load(file, weights_only=True), file, _use_new_zipfile_serialization=False)
    tf_checkpoint.write(words, folder / "tf")
    tf_checkpoint.write(words, folder / "tf-several")
    for ending in ("index", "data-00000-of-00001"):  # the note is read where there is a choice
        octets = (folder / "tf-several" / f"model.ckpt-0.{ending}").read_bytes()
        (folder / "tf-several" / f"model.ckpt-9.{ending}").write_bytes(octets)


def pack(file: Path) -> None:
    """Store every array in chunks, compressed and with a checksum."""
    arrays: dict[str, Any] = {}
    with h5py.File(file) as opened:
        opened.visititems(
            lambda name, node: (
                arrays.update({name: node[()]}) if isinstance(node, h5py.Dataset) else None
            )
        )
    with h5py.File(file, "w", libver="latest") as opened:
        for name, array in arrays.items():
            opened.create_dataset(
                name, data=array, chunks=True, compression="gzip", shuffle=True, fletcher32=True
            )


def move_softmax(folder: Path) -> None:
    with h5py.File(folder / "weights.hdf5", "r+") as old:
        with h5py.File(folder / "softmax.hdf5", "w") as new:
            old.copy("softmax", new)
        del old["softmax"]


# The damage.


def flip_bits(octets: bytearray, dice: random.Random) -> None:
    for _ in range(dice.choice([1, 1, 1, 2, 8])):
        octets[dice.randrange(len(octets))] ^= 1 << dice.randrange(8)


def change_bytes(octets: bytearray, dice: random.Random) -> None:
    for _ in range(dice.choice([1, 1, 2, 5])):
        octets[dice.randrange(len(octets))] = dice.choice([0, 1, 0x7F, 0x80, 0xFF, 0x30, 0x39])


def overwrite_run(octets: bytearray, dice: random.Random) -> None:
    start = dice.randrange(len(octets))
    length = min(dice.choice([2, 4, 8, 64, 1024]), len(octets) - start)
    fill = dice.choice([b"\0", b"\xff", b"9", None])
    octets[start : start + length] = dice.randbytes(length) if fill is None else fill * length


def truncate(octets: bytearray, dice: random.Random) -> None:
    end = dice.choice([0, 1, len(octets) - 1, dice.randrange(len(octets))])
    del octets[end:]


def delete_run(octets: bytearray, dice: random.Random) -> None:
    start = dice.randrange(len(octets))
    del octets[start : start + dice.choice([1, 2, 8, 512])]


def insert_run(octets: bytearray, dice: random.Random) -> None:
    start = dice.randrange(len(octets) + 1)
    octets[start:start] = dice.randbytes(dice.choice([1, 4, 512]))


def swap_blocks(octets: bytearray, dice: random.Random) -> None:
    size = min(dice.choice([1, 8, 64, 512]), max(1, len(octets) // 2))
    first, second = (dice.randrange(len(octets) - size + 1) for _ in range(2))
    one, other = octets[first : first + size], octets[second : second + size]
    octets[first : first + size], octets[second : second + size] = other, one


def repeat_block(octets: bytearray, dice: random.Random) -> None:
    start = dice.randrange(len(octets))
    octets[start:start] = octets[start : start + dice.choice([1, 16, 512])]


DAMAGE: list[Callable[[bytearray, random.Random], None]] = [
    flip_bits,
    flip_bits,
    flip_bits,
    change_bytes,
    change_bytes,
    overwrite_run,
    overwrite_run,
    truncate,
    delete_run,
    insert_run,
    swap_blocks,
    repeat_block,
]

STRANGE_VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 7, 999, 2**31, 2**63, 10**30, 0.5, -0.0, 1e308),
    *(10**400, "x" * 5000, float("inf"), float("nan")),
    *("", "2", "x" * 200, "\0", "\ud800", "../..", "/", "\n"),
    *([], [[]], [1, 2], [[1, 2, 3]], {}, {"a": 1}, {"": None}, [[0, 0]], [None] * 9),
]


def change_json(octets: bytearray, dice: random.Random) -> None:
    """Leave JSON that is well formed, with one value or key that is not what it was."""
    values = json.loads(octets)
    places: list[tuple[Any, Any]] = []
    pending = [values]
    while pending:
        node = pending.pop()
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        places += [(node, key) for key in keys]
        pending += [node[key] for key in keys if isinstance(node[key], dict | list)]
    node, key = dice.choice(places)
    action = dice.randrange(5)
    if action == 0:
        del node[key]
    elif action == 1 and isinstance(node, dict):
        node[dice.choice(["", "x", "\ud800", f"{key} "])] = node.pop(key)
    else:
        node[key] = dice.choice(STRANGE_VALUES)
    octets[:] = json.dumps(values).encode()


def damaged(original: bytes, target: Target, dice: random.Random) -> bytes:
    octets = bytearray(original)
    if target.file.endswith(".json") and dice.random() < 0.5:
        change_json(octets, dice)
    else:
        dice.choice(DAMAGE)(octets, dice)
    return bytes(octets)


# Reading it: what follows runs in a process of its own.


def read_damaged(folder: Path, target: Target, original: Checkpoint) -> str:
    """Read the damaged model and say what came of it; anything unforeseen raises."""
    source = folder / target.model
    try:
        checkpoint = detect.read(source)
        elmokit.load(source, device="cpu")
    except elmokit.ElmoError as error:
        assert len(str(error).splitlines()) == 1, f"not one line: {error}"
        assert str(folder) in str(error), f"names no file: {error}"
        return type(error).__name__
    if target.rule == REFUSED_OR_SAME:
        assert_same(checkpoint, original)
        assert checkpoint.metadata == original.metadata
        return "same"
    for name, tensor in checkpoint.tensors.items():
        assert tensor.dtype == torch.float32, name
        assert bool(torch.isfinite(tensor).all()), name
    return "read"


def run_batch(kind: str, first: int, count: int) -> None:
    """Read the cases ``first`` to ``count``, and tell of each before and after."""
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("error")
    torch.set_num_threads(1)
    targets = TARGETS[kind]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_models(folder)
        originals = {target.model: detect.read(folder / target.model) for target in targets}
        for case in range(first, count):
            target = targets[case % len(targets)]
            dice = random.Random(f"{kind} {case}")
            file = folder / target.model / target.file
            octets = file.read_bytes()
            manifest = folder / target.model / MANIFEST_FILE
            signature = manifest.read_bytes() if target.signed else b""
            file.write_bytes(damaged(octets, target, dice))
            if target.signed:
                sign(folder / target.model)
            tell(case=case)
            faulthandler.dump_traceback_later(SECONDS_PER_CASE, exit=True)
            try:
                outcome = read_damaged(folder, target, originals[target.model])
                tell(case=case, target=f"{target.model}/{target.file}", outcome=outcome)
            except BaseException as error:
                problem = f"{type(error).__name__}: {error}"
                tell(case=case, target=f"{target.model}/{target.file}", problem=problem[:500])
            faulthandler.cancel_dump_traceback_later()
            file.write_bytes(octets)
            if target.signed:
                manifest.write_bytes(signature)


def tell(**facts: object) -> None:
    print(json.dumps(facts), flush=True)


# The tests: they start the processes and gather what these tell.


def outcomes_of(kind: str, count: int) -> tuple[Counter[str], list[str]]:
    """Run ``count`` cases; give how they ended, and every one that ended badly."""
    root = Path(__file__).parents[1]
    path = os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
    outcomes: Counter[str] = Counter()
    problems: list[str] = []
    first = 0
    while first < count:
        finished = subprocess.run(
            [sys.executable, __file__, kind, str(first), str(count)],
            env=os.environ | {"PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=60 + count * 1.0,
            check=False,
        )
        told = [json.loads(line) for line in finished.stdout.splitlines()]
        outcomes.update(facts["outcome"] for facts in told if "outcome" in facts)
        problems += [str(facts) for facts in told if "problem" in facts]
        if finished.returncode == 0:
            break
        # A crash or a hang: the last case told of is the one; go on after it.
        assert told, f"no case was begun: {finished.stderr[-2000:]}"
        first = told[-1]["case"] + 1
        end = f"exit {finished.returncode}: {finished.stderr[-1500:]}"
        problems.append(f"case {told[-1]['case']} of {kind}: {end}")
    return outcomes, problems


def check(kind: str, count: int) -> None:
    outcomes, problems = outcomes_of(kind, count)
    assert not problems, f"{len(problems)} of {count}:\n" + "\n".join(problems[:20])
    assert outcomes.total() == count
    # Damage that changes nothing, or not what is looked at, is rare: most is refused.
    assert outcomes["FormatError"] > count // 4, outcomes
    print(f"{kind}: {count} cases, {dict(outcomes)}")


@pytest.mark.parametrize("kind", TARGETS)
def test_damaged_files(kind: str) -> None:
    check(kind, 150)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [
        "native",
        "bilm-hdf5",
        "many-langs",
        "tf-checkpoint",
    ],
)
def test_many_more_damaged_files(kind: str) -> None:
    check(kind, 2000)


def test_the_same_case_is_the_same_damage() -> None:
    """Else no failure could be looked at again."""
    target = Target("native", "config.json")
    original = json.dumps({"a": [1, {"b": "text"}], "c": None}).encode()
    for case in range(50):
        first, second = (damaged(original, target, random.Random(str(case))) for _ in range(2))
        assert first == second


def test_every_kind_of_damage_changes_something() -> None:
    original = bytes(range(256)) * 16
    for damage in DAMAGE:
        results = set()
        for case in range(20):
            octets = bytearray(original)
            damage(octets, random.Random(str(case)))
            results.add(bytes(octets))
        assert len(results - {original}) > 2, damage.__name__


if __name__ == "__main__":
    run_batch(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
