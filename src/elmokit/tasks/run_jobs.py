"""Running many trainings side by side, each in a process of its own, and keeping what they gave."""

import json
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

import torch

from elmokit.errors import FormatError
from elmokit.files import read_json, replacing_file
from elmokit.tasks.own_command import NoMemoryError, own_command
from elmokit.tasks.run import RESULT_FILE
from elmokit.tasks.run_records import figure
from elmokit.tasks.study import Job
from elmokit.tasks.tuning import tuned_bilm
from elmokit.text.records import split_choice

RECORDS_FILE = "runs.jsonl"
CACHE_FOLDER = "layers"


def run_jobs(
    jobs: Sequence[Job],
    folder: Path,
    *,
    data: Path,
    vectors: Path | None,
    device: str,
    at_once: int = 1,
    minutes: float | None = None,
    say: Callable[[str], None] = print,
) -> list[dict[str, Any]]:
    """Run what ``runs.jsonl`` in the folder does not hold yet; give all records of these jobs.

    After ``minutes`` nothing new is begun, and what runs saves and stops; the same call goes on.
    A run that finds too little memory beside the others begins again with one fewer beside it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    deadline = None if minutes is None else time.monotonic() + 60 * minutes
    known = read_records(folder)
    different = {job.identity: job for job in reversed(jobs)}  # the first of those that are one run
    waiting = [
        job for job in jobs if different[job.identity] is job and _record_of(job, known) is None
    ]
    if minutes is None or minutes > 0:
        _look_for_files(waiting, data)
    say(f"{len(different)} runs, {len(different) - len(waiting)} of them done before")
    queue, one_at_a_time, one_tuning = deque(waiting), Lock(), Lock()
    side_by_side = min(at_once, len(waiting))
    # Runs that each took all cores would wait for each other at every step.
    threads = max(1, torch.get_num_threads() // max(1, side_by_side))

    def minutes_left() -> float:
        return math.inf if deadline is None else (deadline - time.monotonic()) / 60

    def run_queue() -> None:
        nonlocal side_by_side
        while minutes_left() > 0:
            with one_at_a_time:
                if not queue:
                    return
                job = queue.popleft()
            try:
                run(job)
            except Exception as error:
                with one_at_a_time:
                    if isinstance(error, NoMemoryError) and side_by_side > 1:
                        side_by_side -= 1
                        queue.appendleft(job)
                        say(f"{job.key}: out of memory; {side_by_side} go on side by side")
                        return
                    queue.clear()  # what it met the next ones would meet too
                say(f"{job.key}: failed; nothing new is begun ({error!s:.300})")
                raise

    def run(job: Job) -> None:
        place = folder / "runs" / job.folder
        started = time.monotonic()
        stopped = _train(
            job, place, folder, data, vectors, device, minutes_left, threads, one_tuning
        )
        if stopped:
            say(f"{job.key}: {stopped}; the next call goes on")
            return
        record = {"key": job.key, "variant": job.variant, "data": job.data.name}
        record |= read_json(place / RESULT_FILE) | {"elmo": job.bilm}
        with one_at_a_time:
            known.append(record)
            _write_records(folder, known)
        seconds = time.monotonic() - started
        say(f"{job.key}: {figure(record, job.data):.2f} in {seconds:.0f} s")

    with ThreadPoolExecutor(max_workers=at_once) as pool:
        while queue and minutes_left() > 0:
            for worker in [pool.submit(run_queue) for _ in range(side_by_side)]:
                worker.result()
    found = [_record_of(job, known) for job in jobs]
    return [record for record in found if record is not None]


def read_records(folder: Path) -> list[dict[str, Any]]:
    """Read what earlier runs gave."""
    file = folder / RECORDS_FILE
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _write_records(folder: Path, records: Sequence[dict[str, Any]]) -> None:
    with replacing_file(folder / RECORDS_FILE) as beside:
        lines = [json.dumps(record) + "\n" for record in records]
        beside.write_text("".join(lines), encoding="utf-8")


def _record_of(job: Job, records: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Find the record of a job; it may have been made under another name."""
    found = next((record for record in reversed(records) if job.is_done_by(record)), None)
    return None if found is None else found | {"key": job.key, "variant": job.variant}


def _look_for_files(jobs: Sequence[Job], folder: Path) -> None:
    """Say before the first run what the last one would lack."""
    for data in dict.fromkeys(job.data for job in jobs):
        files = data.files(folder)
        for file in (*files.train, files.dev, *files.test):
            if not split_choice(file)[0].exists():
                raise FormatError(
                    file,
                    f"is not there, and {data.task}/{data.name} needs it",
                    hint="choose those that are there by --task",
                )


def _train(
    job: Job,
    place: Path,
    folder: Path,
    data: Path,
    vectors: Path | None,
    device: str,
    minutes_left: Callable[[], float],
    threads: int,
    one_tuning: Lock,
) -> str:
    """Train in another process; give where it stopped, nothing if it came to its end."""
    elmo = job.elmo
    if job.is_tuned:
        with one_tuning:  # the first of those that share a biLM makes it
            tuned = tuned_bilm(
                job, folder, data=data, device=device, minutes=minutes_left(), threads=threads
            )
        if tuned is None:
            return "out of time while its biLM was tuned"
        elmo = str(tuned)
    files = job.data.files(data)
    command = ["task", "train", job.data.task]
    command += [word for file in files.train for word in ("--train", str(file))]
    command += ["--dev", str(files.dev)]
    command += [word for file in files.test for word in ("--test", str(file))]
    command += ["--elmo", elmo or "none", "--output", str(place), "--device", device]
    command += ["--cache", str(folder / CACHE_FOLDER), "--share", str(job.share)]
    command += [word for change in job.changes for word in ("--set", change)]
    command += ["--set", f"seed={job.seed}", "--keep", "1", "--save-every", "5000"]
    if vectors is not None:
        command += ["--vectors", str(vectors)]
    outcome = own_command(command, job.key, minutes=minutes_left(), threads=threads)
    if outcome["ending"] == "finished":
        return ""
    return f"{outcome['ending']} at step {outcome['step']:,} of at most {outcome['steps']:,}"
