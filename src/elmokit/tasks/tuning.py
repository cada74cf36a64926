"""A biLM trained on with the text of a task before the task is (section 3.4 of the paper)."""

from pathlib import Path

from elmokit.lm.pretrain import MODEL_FOLDER
from elmokit.tasks.own_command import own_command
from elmokit.tasks.study import Job

TUNED_FOLDER = "tuned"


def tuned_bilm(
    job: Job, folder: Path, *, data: Path, device: str, minutes: float, threads: int
) -> Path | None:
    """Give the biLM of a job, tuned on its text in ``folder/tuned``; None: it ran out of time.

    No label is seen, and no text of the dev and test data. What is there is not made again.
    """
    run = folder / TUNED_FOLDER / job.tuned_folder
    model = run / MODEL_FOLDER
    if model.is_dir():
        return model
    text = folder / TUNED_FOLDER / f"{job.tuned_folder}.txt"
    text.parent.mkdir(parents=True, exist_ok=True)
    files = [str(data / file) for file in job.data.text or job.data.train]
    own_command(["task", "text", job.data.task, *files, "--output", str(text)], job.key)
    words = ["finetune", str(job.elmo), str(text), "--output", str(run), "--device", device]
    own_command(words, f"{job.key}: fine-tuning", minutes=minutes, threads=threads)
    return model if model.is_dir() else None
