"""Processes that train, and die, fail or suffer on command.

Importing torch takes seconds. So a nursery imports it once and forks a child for every training;
a child counts what it does, and can be killed at any of these points.
"""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

PATIENCE = 120.0  # seconds; only a hang takes so long


@dataclass(frozen=True)
class Ended:
    """How a child ended."""

    code: int
    """Exit code; minus the number of the signal that killed it, as in `subprocess`."""
    output: str
    """What it printed."""


class Nursery:
    """Starts trainings in processes of their own."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )

    def run(self, **task: Any) -> Ended:
        """Run one task to its end."""
        return self.run_all([task])[0]

    def run_world(self, size: int, **task: Any) -> list[Ended]:
        """Run a task in several processes that know each other, as torchrun does."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        shared = {"WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        return self.run_all(
            [task | {"environment": shared | {"RANK": str(rank)}} for rank in range(size)]
        )

    def run_all(self, tasks: list[dict[str, Any]]) -> list[Ended]:
        """Run tasks side by side."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(tasks) + "\n")
        self._process.stdin.flush()
        return [Ended(**ended) for ended in json.loads(self._process.stdout.readline())]

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(PATIENCE)
        self._process.stdout.close()


def serve() -> None:
    """Fork children until nobody asks any more."""
    import torch._dynamo  # optimisers import it, which takes seconds

    import elmokit.lm.pretrain  # noqa: F401

    torch.set_num_threads(1)
    for line in sys.stdin:
        tasks = json.loads(line)
        with tempfile.TemporaryDirectory() as folder:
            outputs = [Path(folder) / str(number) for number in range(len(tasks))]
            children = [_fork(task, file) for task, file in zip(tasks, outputs, strict=True)]
            codes = _codes(children, kill_after=tasks[0].get("kill_after"))
            answers = [
                {"code": codes[child], "output": file.read_text(encoding="utf-8")}
                for child, file in zip(children, outputs, strict=True)
            ]
        print(json.dumps(answers), flush=True)
    os._exit(0)  # tidying torch away takes seconds


def _codes(children: list[int], *, kill_after: float | None) -> dict[int, int]:
    codes: dict[int, int] = {}
    deadline = time.monotonic() + (PATIENCE if kill_after is None else kill_after)
    while len(codes) < len(children):
        for child in children:
            if child not in codes:
                gone, status = os.waitpid(child, os.WNOHANG)
                if gone:
                    codes[child] = os.waitstatus_to_exitcode(status)
                elif time.monotonic() > deadline:
                    os.kill(child, signal.SIGKILL)
        time.sleep(0.002)
    return codes


def _fork(task: dict[str, Any], output: Path) -> int:
    output.touch()
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        descriptor = os.open(output, os.O_WRONLY)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        os.environ.update(task.pop("environment", {}))
        task.pop("kill_after", None)
        code = train(**task)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def train(
    *,
    corpus: str,
    folder: str,
    changes: list[str],
    conduct: dict[str, Any],
    die: dict[str, Any] | None = None,
    trace: str | None = None,
    poison: list[int] | None = None,
    trick: str | None = None,
) -> int:
    """Train in this process.

    ``die`` names a point of a `Fate`, ``poison`` the steps before which the LSTMs' state becomes
    NaN, ``trick`` one of `TRICKS`; ``trace`` is a file for all points that were passed.
    """
    from elmokit.lm.presets import changed, preset_named
    from elmokit.lm.pretrain import pretrain
    from elmokit.training.conduct import Conduct

    fate = Fate(Path(folder), die or {})
    fate.watch()
    if poison:
        poison_states(frozenset(poison))
    if trick is not None:
        TRICKS[trick](int(os.environ.get("RANK", "0")))
    outcome = pretrain(
        Path(corpus),
        Path(folder),
        changed(preset_named("tiny"), changes),
        conduct=Conduct(**conduct, device="cpu", quiet=trick is None and not poison),
    )
    if trace is not None:
        Path(trace).write_text(json.dumps(fate.points), encoding="utf-8")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"ending": outcome.ending, "step": outcome.step, "peak": peak}))
    return 0


def put(owner: Any, **functions: Any) -> None:
    """Put other functions in the place of a class's or a module's."""
    for name, function in functions.items():
        setattr(owner, name, function)


class Fate:
    """Counts the points that a training passes, and kills the process at the chosen one.

    A point is a change of a file of the run, or half of one, or a part of a step. ``save`` and
    ``point`` choose a point of the process's nth save, ``point`` alone one of all points.
    """

    def __init__(self, folder: Path, die: dict[str, Any]) -> None:
        self.points: list[tuple[int | None, str]] = []
        self._folder = str(folder)
        self._die = die
        self._saves = 0
        self._saving = False
        self._point_of_save = 0
        self._dying = False

    def is_next(self) -> bool:
        """Say whether the next point is the last."""
        if "save" in self._die:
            here = (self._saves, self._point_of_save) if self._saving else None
            return here == (self._die["save"], self._die["point"])
        return len(self.points) == self._die.get("point")

    def passes(self, name: str, half: Callable[[], object] | None = None) -> None:
        """Be at a point; if it is the last, do only ``half`` of what would follow."""
        if self._dying:
            return
        if self.is_next():
            self._dying = True
            if half is not None:
                half()
            os.kill(os.getpid(), signal.SIGKILL)
        self._point_of_save += 1
        self.points.append((self._saves if self._saving else None, name))

    def watch(self) -> None:
        """Notice points from now on."""
        import safetensors.torch
        from torch.optim import optimizer as hooks

        from elmokit.lm.learner import BiLMLearner
        from elmokit.training.checkpoints import Checkpoints, TrainingState
        from elmokit.training.journal import Journal, Record

        def audit(event: str, arguments: tuple[Any, ...]) -> None:
            if event == "open":
                path, _, flags = arguments
                ours = str(path).startswith(self._folder) and flags & (os.O_WRONLY | os.O_RDWR)
            elif event in ("os.remove", "os.rmdir"):  # shutil.rmtree gives names within a folder
                ours = str(arguments[0]).startswith(self._folder) or arguments[1] != -1
            elif event in ("os.rename", "os.mkdir", "os.chmod"):
                ours = str(arguments[0]).startswith(self._folder)
            else:
                return
            if ours:
                self.passes(event)

        sys.addaudithook(audit)
        sync, save_file, write_bytes = os.fsync, safetensors.torch.save_file, Path.write_bytes
        write_record, save = Journal.write, Checkpoints.save
        gradients = BiLMLearner.gradients

        def fsync(descriptor: int) -> None:
            self.passes("fsync")
            sync(descriptor)

        def half_file(tensors: Any, filename: Path) -> None:
            self.passes("tensors")
            save_file(tensors, filename)
            half = filename.stat().st_size // 2
            self.passes("half of the tensors", lambda: os.truncate(filename, half))

        def half_bytes(path: Path, data: bytes) -> int:
            if str(path).startswith(self._folder):
                self.passes("half of a file", lambda: write_bytes(path, data[: len(data) // 2]))
            return write_bytes(path, data)

        def half_record(journal: Journal, record: Record) -> None:
            def half() -> None:
                with journal.file.open("a") as stream:
                    stream.write(json.dumps(record)[:20])

            self.passes("half of a record", half)
            write_record(journal, record)

        def counted_save(checkpoints: Checkpoints, state: TrainingState) -> None:
            self._saves += 1
            self._saving, self._point_of_save = True, 0
            save(checkpoints, state)
            self.passes("end of the save")
            self._saving = False

        def counted_gradients(learner: BiLMLearner, step: int) -> Any:
            self.passes("gradients")
            return gradients(learner, step)

        put(os, fsync=fsync)
        put(safetensors.torch, save_file=half_file)
        put(Path, write_bytes=half_bytes)
        put(Journal, write=half_record)
        put(Checkpoints, save=counted_save)
        put(BiLMLearner, gradients=counted_gradients)
        hooks.register_optimizer_step_pre_hook(lambda *_: self.passes("before the update"))
        hooks.register_optimizer_step_post_hook(lambda *_: self.passes("after the update"))


def poison_states(steps: frozenset[int]) -> None:
    """Let the LSTMs read NaN from the state before these steps."""
    import math

    from elmokit.lm.learner import BiLMLearner

    gradients = BiLMLearner.gradients

    def poisoned(learner: BiLMLearner, step: int) -> Any:
        if step in steps:
            state = {name: tensor.clone() for name, tensor in learner.state().items()}
            for tensor in state.values():
                tensor.view(-1)[0] = math.nan
            learner.load_state(state)
        return gradients(learner, step)

    put(BiLMLearner, gradients=poisoned)


def _disk_full(rank: int) -> None:
    """From the second save on the disk takes nothing more."""
    import errno

    import safetensors.torch

    save_file, saves = safetensors.torch.save_file, 0

    def failing(tensors: Any, filename: Path) -> None:
        nonlocal saves
        saves += 1
        if saves > 1:
            Path(filename).write_bytes(b"half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        save_file(tensors, filename)

    put(safetensors.torch, save_file=failing)


def _small_files(rank: int) -> None:
    """The system refuses files beyond 30 kB."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))


def _last_process_fails(rank: int) -> None:
    """The last process fails in the middle of a step."""
    from elmokit.lm.learner import BiLMLearner

    gradients = BiLMLearner.gradients

    def failing(learner: BiLMLearner, step: int) -> Any:
        if step == 3 and rank == learner.world.size - 1:
            raise RuntimeError("the corpus is gone")
        return gradients(learner, step)

    put(BiLMLearner, gradients=failing)


def _last_process_stops(rank: int) -> None:
    """Somebody asks the last process to stop, in the middle of a step."""
    from elmokit.lm.learner import BiLMLearner

    gradients = BiLMLearner.gradients

    def stopping(learner: BiLMLearner, step: int) -> Any:
        if step == 4 and rank == learner.world.size - 1:
            os.kill(os.getpid(), signal.SIGTERM)
        return gradients(learner, step)

    put(BiLMLearner, gradients=stopping)


def _separate_disks(rank: int) -> None:
    """Only the first process sees checkpoints."""
    from elmokit.training.checkpoints import Checkpoints

    if rank:
        put(Checkpoints, load=lambda _: None)


def _cannot_begin(rank: int) -> None:
    """The first process fails before anything else."""
    from elmokit.errors import InputError
    from elmokit.training.checkpoints import Checkpoints

    def failing(checkpoints: Checkpoints) -> NoReturn:
        raise InputError("the first process cannot begin")

    put(Checkpoints, prepare=failing)


TRICKS: dict[str, Callable[[int], None]] = {
    "disk full": _disk_full,
    "small files": _small_files,
    "last process fails": _last_process_fails,
    "last process stops": _last_process_stops,
    "separate disks": _separate_disks,
    "cannot begin": _cannot_begin,
}


if __name__ == "__main__":
    serve()
