"""Modules made without weights take them from elsewhere, and torch's compiler stays out of it."""

import subprocess
import sys

import torch
from torch import nn

from elmokit.nn.without_weights import without_weights


def test_modules_have_shapes_and_no_storage() -> None:
    with without_weights():
        made = nn.Sequential(nn.Embedding(4, 3), nn.Linear(3, 2))
        nn.init.normal_(made[1].weight, std=2.0)  # type: ignore[arg-type]
    assert {parameter.device.type for parameter in made.parameters()} == {"meta"}
    filled = nn.Sequential(nn.Embedding(4, 3), nn.Linear(3, 2))
    made.load_state_dict(filled.state_dict(), assign=True)
    ids = torch.tensor([0, 3])
    assert torch.equal(made(ids), filled(ids))


def test_outside_of_it_nothing_has_changed() -> None:
    with without_weights():
        pass
    weight = nn.init.normal_(torch.zeros(100))
    assert weight.std() > 0.5


def test_loading_a_model_does_not_import_the_compiler() -> None:
    script = (
        "import sys, warnings; warnings.simplefilter('ignore'); import elmokit; "
        "elmokit.load('tiny-untrained', device='cpu'); print('torch._dynamo' in sys.modules)"
    )
    command = [sys.executable, "-c", script]
    found = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (found.stdout, found.stderr) == ("False\n", "")
