"""The six tasks of the ELMo paper, with and without ELMo."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elmokit.tasks.predictor import Predictor, load

__all__ = ["Predictor", "load"]


def __getattr__(name: str) -> Any:
    # Imported when first used: reading a task's name must not wait for torch.
    if name not in __all__:
        raise AttributeError(f"module 'elmokit.tasks' has no attribute {name!r}")
    from elmokit.tasks import predictor

    return getattr(predictor, name)
