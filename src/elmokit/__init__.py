"""Contextual word vectors from bidirectional language models (ELMo)."""

from typing import TYPE_CHECKING, Any

from elmokit.version import __version__

if TYPE_CHECKING:
    from elmokit.config import ModelConfig
    from elmokit.embed.convert import convert
    from elmokit.embed.elmo import Elmo
    from elmokit.embed.elmo_layer import ElmoLayer
    from elmokit.embed.load import load
    from elmokit.embed.start_state import CarriedState
    from elmokit.errors import ElmoError, FormatError, InputError, MissingExtraError
    from elmokit.lm.score import SentenceScore
    from elmokit.lm.substitutes import Substitute
    from elmokit.nn.scalar_mix import ScalarMix

# Imported when first used, so that `import elmokit` and `elmo --help` do not wait for torch.
_HOMES = {
    "CarriedState": "elmokit.embed.start_state",
    "Elmo": "elmokit.embed.elmo",
    "ElmoError": "elmokit.errors",
    "ElmoLayer": "elmokit.embed.elmo_layer",
    "FormatError": "elmokit.errors",
    "InputError": "elmokit.errors",
    "MissingExtraError": "elmokit.errors",
    "ModelConfig": "elmokit.config",
    "ScalarMix": "elmokit.nn.scalar_mix",
    "SentenceScore": "elmokit.lm.score",
    "Substitute": "elmokit.lm.substitutes",
    "convert": "elmokit.embed.convert",
    "load": "elmokit.embed.load",
}

__all__ = [
    "CarriedState",
    "Elmo",
    "ElmoError",
    "ElmoLayer",
    "FormatError",
    "InputError",
    "MissingExtraError",
    "ModelConfig",
    "ScalarMix",
    "SentenceScore",
    "Substitute",
    "__version__",
    "convert",
    "load",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'elmokit' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
