"""The README.md of a trained model: what it is, what it has read, how good it is."""

from typing import Any

from elmokit.formats.checkpoint import Checkpoint
from elmokit.lm.settings import TrainSettings


def model_card(
    checkpoint: Checkpoint,
    settings: TrainSettings,
    corpus: dict[str, Any],
    result: dict[str, Any],
) -> str:
    """Write the card of a model that was just trained."""
    config = checkpoint.config
    train = corpus["splits"]["train"]
    reads = " and ".join(
        name for name, part in (("words", config.words), ("characters", config.characters)) if part
    )
    lines = [
        f"# {checkpoint.metadata['name']}",
        "",
        "A bidirectional language model (ELMo) trained with elmokit.",
        "",
        "## Use",
        "",
        "```python",
        "import elmokit",
        "",
        'elmo = elmokit.load("path/to/this/folder")',
        'vectors = elmo.embed(["The bank is closed."])[0]',
        "```",
        "",
        "## Model",
        "",
        f"- input: {reads}, cut by the tokeniser `{config.tokeniser}`",
        f"- {config.layers} LSTM layers each way, cell {config.lstm_dim}, "
        f"projection {config.projection_dim}, clipped at {config.cell_clip} and "
        f"{config.projection_clip}",
        f"- vocabulary of the softmax: {config.softmax_size:,}",
        "",
        "## Data",
        "",
        f"- {train['words']:,} words in {train['sentences']:,} sentences and "
        f"{train['documents']:,} documents, {corpus['types']:,} distinct words",
        "- Say here which text that was and under which licence, if you pass the model on.",
        "",
        "## Training",
        "",
        f"- {result['steps']:,} steps of {settings.rows} x {settings.window} tokens "
        f"({result['epochs']:.1f} epochs), {result['seconds'] / 60:.0f} minutes, "
        f"{result['device']} x {result['processes']}",
        *(f"- `{name}`: {value}" for name, value in settings.to_dict().items()),
        "",
        "## Held-out text",
        "",
        *_held_out(result["held_out"]),
        "",
        "## Limits",
        "",
        "It knows what its text knows: other domains, languages and times are less well "
        "predicted, and what the text said of people, fair or not, is in the vectors.",
        "",
    ]
    return "\n".join(lines)


def _held_out(found: dict[str, Any] | None) -> list[str]:
    if found is None:
        return ["There was none: nothing is known about how well it predicts."]
    return [
        f"- perplexity {found['perplexity']:.2f} (forward {found['forward_perplexity']:.2f}, "
        f"backward {found['backward_perplexity']:.2f}), {found['bits_per_byte']:.3f} bits per byte",
        f"- {found['tokens']:,} tokens, {found['oov_rate']:.2%} of the words unknown, state "
        "carried within documents",
    ]
