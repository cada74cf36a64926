"""The README of a trained task model: what it is, what it reached, how it is used."""

from typing import TYPE_CHECKING, Any

from elmokit.tasks.task_folder import TrainedTask
from elmokit.version import __version__

if TYPE_CHECKING:
    from elmokit.tasks.run import TaskFiles


def task_card(trained: TrainedTask, files: "TaskFiles", result: dict[str, Any]) -> str:
    """Write the card in Markdown."""
    task = trained.task
    lines = [
        f"# A model for {task.title}",
        "",
        f"Trained with elmokit {__version__} on {', '.join(file.name for file in files.train)} "
        f"({result['train_examples']:,} examples), {result['epochs']} epochs, the best of them "
        f"chosen by {files.dev.name}; seed {result['seed']}. "
        + (f"With ELMo: {trained.elmo_name}." if trained.elmo_name else "Without ELMo."),
        "",
        "| data | " + " | ".join(_names(result)) + " |",
        "| --- |" + " --- |" * len(_names(result)),
    ]
    for name, figures in result["figures"].items():
        cells = [f"{figures[key]:.2f}" if key in figures else "" for key in _names(result)]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    if result["mix_weights"]:
        lines += ["", "Weights of ELMo's layers, and their scale:", ""]
        for place, weights in result["mix_weights"].items():
            shown = ", ".join(f"{weight:.3f}" for weight in weights)
            lines.append(f"- at the {place}: {shown}")
    lines += [
        "",
        "```python",
        "import elmokit.tasks",
        "",
        'predictor = elmokit.tasks.load("this-folder")',
        "```",
    ]
    return "\n".join(lines) + "\n"


def _names(result: dict[str, Any]) -> list[str]:
    """List the figures of the whole data, without those of parts such as ``f1/LOC``."""
    found = {key: None for figures in result["figures"].values() for key in figures}
    return [key for key in found if "/" not in key]
