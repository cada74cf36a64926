"""A model trained here goes out as bilm-tf files and comes back the same."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest

import elmokit
from elmokit.cli.main import run
from elmokit.lm.evaluate import Evaluation, evaluate
from elmokit.lm.text_file import read_text

TEXT = "\n".join(
    f"the {who} {does} the {what} ." + ("\n" if what == "tea" else "")
    for who in ("cat", "dog", "old cook", "child")
    for does in ("likes", "sees", "does not want")
    for what in ("soup", "fish", "tea")
)
SIZES = ["characters.filters=[[1,4],[2,8]]", "characters.max_characters=20", "lstm_dim=16"]
KINDS = {
    "characters": [*SIZES, "projection_dim=8"],
    "words": ["lstm_dim=16", "projection_dim=8", "words.embedding_dim=8"],
    "words tied": [
        "lstm_dim=16", "projection_dim=8", "words.embedding_dim=8", "tie_softmax=true",
    ],
    "no skip connections": [*SIZES, "projection_dim=8", "skip_connections=false", "layers=1"],
}  # fmt: skip


def figures(elmo: elmokit.Elmo, file: Path) -> Evaluation:
    text = read_text(
        file,
        tokenise=lambda line: [token.text for token in elmo.tokenise(line)],
        marks=elmo.config.marks,
    )
    return evaluate(elmo.language_model, text, start="zeros")


@pytest.mark.parametrize("kind", KINDS)
def test_train_convert_load(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text(TEXT, encoding="utf-8")
    assert run(["prepare", "text.txt", "-o", "prepared", "--processes", "1", "--json"]) == 0
    changes = [*KINDS[kind], "steps=8", "rows=4", "window=6", "warm_up=0"]
    sets = [part for change in changes for part in ("--set", change)]
    words = ["--words"] if "words" in kind else []
    assert run(["train", "prepared", "-o", "run", "--device", "cpu", *words, *sets]) == 0
    assert run(["convert", "run/model", "exported", "--format", "bilm-hdf5"]) == 0
    capsys.readouterr()

    options = json.loads(Path("exported/options.json").read_text(encoding="utf-8"))
    assert options["lstm"]["dim"] == 16
    with h5py.File("exported/weights.hdf5") as file:
        assert file["softmax/W"].shape[1] == 8
    trained, exported = (elmokit.load(name, device="cpu") for name in ("run/model", "exported"))
    assert exported.source_format == "bilm-hdf5"

    sentences = ["the dog likes the soup .", "a new word", "tea"]
    zeros = [elmokit.load(name, device="cpu", start="zeros") for name in ("run/model", "exported")]
    first, second = (elmo.embed(sentences, layers="all") for elmo in zeros)
    for left, right in zip(first, second, strict=True):
        np.testing.assert_allclose(left, right, rtol=0, atol=1e-6)
        assert np.abs(left).max() > 0.01

    own, foreign = (figures(elmo, Path("text.txt")) for elmo in (trained, exported))
    assert own == foreign
    assert own.perplexity < len(trained.language_model.vocabulary)
    assert own.unknown_words == 0
