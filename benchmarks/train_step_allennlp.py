"""A training step of AllenNLP 0.9's modules, on request; `train_step.py` starts this.

It runs in an environment of its own and imports nothing of elmokit. Sizes come as JSON in the
first argument; for every line on standard input one step is done and its seconds are printed.
"""

import json
import random
import sys
import tempfile
import time
from pathlib import Path

import h5py
import numpy as np
import torch
from allennlp.modules.elmo import _ElmoBiLm, batch_to_ids  # type: ignore[import-not-found]
from allennlp.modules.sampled_softmax_loss import (  # type: ignore[import-not-found]
    SampledSoftmaxLoss,
)

FILTERS = [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]]


def write_weights(folder: Path, sizes: dict[str, int]) -> None:
    """Write random weights in bilm-tf's layout."""
    generator = np.random.default_rng(0)

    def random_array(*shape: int) -> np.ndarray:
        return generator.normal(0, 0.05, shape).astype(np.float32)

    cell, size, features = sizes["cell"], sizes["projection"], sum(n for _, n in FILTERS)
    with h5py.File(folder / "weights.hdf5", "w") as file:
        file["char_embed"] = random_array(261, 16)
        for index, (width, number) in enumerate(FILTERS):
            file[f"CNN/W_cnn_{index}"] = random_array(1, width, 16, number)
            file[f"CNN/b_cnn_{index}"] = random_array(number)
        for index in range(sizes["highway"]):
            for part in ("carry", "transform"):
                file[f"CNN_high_{index}/W_{part}"] = random_array(features, features)
                file[f"CNN_high_{index}/b_{part}"] = random_array(features)
        file["CNN_proj/W_proj"] = random_array(features, size)
        file["CNN_proj/b_proj"] = random_array(size)
        for direction in range(2):
            for layer in range(2):
                place = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
                file[f"{place}/W_0"] = random_array(2 * size, 4 * cell)
                file[f"{place}/B"] = random_array(4 * cell)
                file[f"{place}/W_P_0"] = random_array(cell, size)
    options = {
        "lstm": {
            "dim": cell, "projection_dim": size, "n_layers": 2, "cell_clip": 3, "proj_clip": 3,
            "use_skip_connections": True,
        },
        "char_cnn": {
            "activation": "relu", "filters": FILTERS, "embedding": {"dim": 16},
            "max_characters_per_token": 50, "n_characters": 262, "n_highway": sizes["highway"],
        },
    }  # fmt: skip
    (folder / "options.json").write_text(json.dumps(options))


def main() -> None:
    sizes = json.loads(sys.argv[1])
    torch.set_num_threads(sizes["threads"])
    rows, window, size = sizes["rows"], sizes["window"], sizes["projection"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_weights(folder, sizes)
        bilm = _ElmoBiLm(
            str(folder / "options.json"), str(folder / "weights.hdf5"), requires_grad=True
        )
    losses = SampledSoftmaxLoss(sizes["vocabulary"], size, sizes["samples"])
    parameters = [*bilm.parameters(), *losses.parameters()]
    optimiser = torch.optim.Adagrad(parameters, lr=0.2, initial_accumulator_value=1.0)
    letters = random.Random(0)
    words = [
        "".join(letters.choices("etaoinshrdlu", k=letters.randint(1, 12))) for _ in range(5000)
    ]
    bilm.train()
    losses.train()
    for line in sys.stdin:
        del line
        # Words of a Zipf-like text; AllenNLP's time does not depend on how many are distinct.
        sentences = [
            [words[int(len(words) ** letters.random()) - 1] for _ in range(window)]
            for _ in range(rows)
        ]
        started = time.perf_counter()
        output = bilm(batch_to_ids(sentences))
        top = output["activations"][-1][:, 1:-1]  # without the marks
        targets = torch.randint(1, sizes["vocabulary"], (rows * window,))
        forward, backward = top[..., :size], top[..., size:]
        loss = sum(losses(part.reshape(-1, size), targets) for part in (forward, backward)) / (
            2 * rows * window
        )
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 10.0)
        optimiser.step()
        print(f"seconds {time.perf_counter() - started}", flush=True)


if __name__ == "__main__":
    main()
