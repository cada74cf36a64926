"""Sizes and recipes by name, and single changes to them."""

from dataclasses import dataclass, fields, replace
from typing import Any

from elmokit.config import CharacterConfig, ModelConfig, WordConfig, parsed_change
from elmokit.errors import InputError
from elmokit.lm.settings import TrainSettings

SHORT_FILTERS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512))


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A model and how to train it."""

    model: ModelConfig
    settings: TrainSettings


PRESETS = {
    # For a laptop and a first look: two megabytes of text in minutes.
    "tiny": Preset(
        model=ModelConfig(
            characters=CharacterConfig(
                filters=((1, 16), (2, 32), (3, 64), (4, 64)), highway_layers=1
            ),
            lstm_dim=256,
            projection_dim=64,
        ),
        settings=TrainSettings(
            epochs=4,
            rows=32,
            window=32,
            optimiser="adamw",
            learning_rate=4e-3,
            warm_up=100,
            decay="cosine",
            clip=1.0,
            sum_over_window=False,
            samples=1024,
            document_resets=0.5,
            sentence_resets=0.05,
        ),
    ),
    # The published sizes with the paper's recipe.
    "small": Preset(
        model=ModelConfig(
            characters=CharacterConfig(highway_layers=1), lstm_dim=1024, projection_dim=128
        ),
        settings=TrainSettings(),
    ),
    "medium": Preset(
        model=ModelConfig(
            characters=CharacterConfig(highway_layers=1), lstm_dim=2048, projection_dim=256
        ),
        settings=TrainSettings(),
    ),
    "original": Preset(model=ModelConfig(), settings=TrainSettings()),
    # The bundled English model.
    "base": Preset(
        model=ModelConfig(
            characters=CharacterConfig(filters=SHORT_FILTERS, highway_layers=1),
            lstm_dim=2816,
            projection_dim=352,
        ),
        settings=TrainSettings(
            epochs=4.3,
            rows=1024,
            window=32,
            optimiser="adamw",
            learning_rate=4e-3,
            warm_up=500,
            decay="linear",
            decay_share=0.6,
            beta2=0.98,
            clip=1.0,
            sum_over_window=False,
            dropout=0.1,
            samples=None,
            document_resets=0.5,
            sentence_resets=0.02,
        ),
    ),
}


def preset_named(name: str) -> Preset:
    """Find a preset."""
    if name not in PRESETS:
        raise InputError(f"preset: expected one of {', '.join(PRESETS)}, found {name!r}")
    return PRESETS[name]


def changed(preset: Preset, changes: list[str]) -> Preset:
    """Apply changes written ``key=value``, as ``rows=64`` or ``characters.highway_layers=1``.

    A key is a field of the recipe or of the model; a value is JSON, or else a plain word.
    """
    model, settings = preset.model.to_dict(), preset.settings.to_dict()
    for change in changes:
        key, value = parsed_change(change)
        if key in settings:
            settings[key] = value
        else:
            _put(model, key, value)
    return Preset(
        model=ModelConfig.from_dict(model, "model"),
        settings=TrainSettings.from_dict(settings, "settings"),
    )


def with_word_input(preset: Preset) -> Preset:
    """Read words by their number instead of their characters.

    The size of the vocabulary is that of the corpus, known when training starts.
    """
    words = WordConfig(vocabulary_size=1, embedding_dim=preset.model.projection_dim)
    model = replace(preset.model, characters=None, words=words, token_projection=False)
    return replace(preset, model=model)


def _put(model: dict[str, Any], key: str, value: Any) -> None:
    *path, last = key.split(".")
    place: Any = model
    for part in path:
        place = place.get(part) if isinstance(place, dict) else None
    if not isinstance(place, dict) or last not in place:
        known = [f.name for f in fields(TrainSettings)] + [f.name for f in fields(ModelConfig)]
        raise InputError(
            f"set: unknown key {key!r}; known keys are {', '.join(sorted(known))} and "
            "characters.KEY or words.KEY for the input"
        )
    place[last] = value
