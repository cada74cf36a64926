"""The README.md of a model in the Hub's layout: facts for people and for the Hub's search."""

import json
import re

from elmokit.embed.describe import describe
from elmokit.formats.checkpoint import Checkpoint

TAGS = ("elmo", "bilm", "contextual-word-vectors")
# What the Hub's own list of licences looks like; any other text goes under "other".
_LICENCE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*")


def hub_card(checkpoint: Checkpoint, *, address: str) -> str:
    """Write the card; ``address`` is what `Elmo.from_pretrained` loads the model by."""
    facts = describe(checkpoint)
    name = facts["name"] or "An ELMo model"
    lines = ["---", "library_name: elmokit", "pipeline_tag: feature-extraction", "tags:"]
    lines += [f"- {tag}" for tag in TAGS]
    lines += [*_licence(facts["licence"]), "---", "", f"# {name}", ""]
    if facts["description"]:
        lines += [facts["description"], ""]
    if not facts["trained"]:
        lines += ["**Untrained: its vectors mean nothing.**", ""]
    lines += [
        "## Use",
        "",
        "```python",
        "import elmokit",
        "",
        f"elmo = elmokit.Elmo.from_pretrained({json.dumps(address, ensure_ascii=False)})",
        'vectors = elmo.embed(["The bank is closed."])[0]  # (tokens, dim)',
        "```",
        "",
        "## Model",
        "",
        "| | |",
        "| --- | --- |",
        f"| input | {facts['input']} |",
        f"| layers | {facts['layers']}, the one before context included |",
        f"| size of a vector | {facts['dim']:,} |",
        f"| LSTM cell, projection | {facts['lstm_dim']:,}, {facts['projection_dim']:,} |",
        f"| parameters | {facts['parameters']:,} |",
        f"| parameters of the softmax | {facts['softmax_parameters']:,} |",
        f"| tokeniser | {facts['tokeniser']} |",
        "",
        "`manifest.json` has the size and the SHA-256 of each file; a file that was damaged on "
        "its way is refused.",
        "",
    ]
    return "\n".join(lines)


def _licence(licence: str | None) -> list[str]:
    if not licence:
        return []
    if _LICENCE_NAME.fullmatch(licence):
        return [f"license: {licence.lower()}"]
    return ["license: other", f"license_name: {json.dumps(licence)}"]
