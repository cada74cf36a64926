"""Exported files in onnxruntime against `Elmo.embed`, over shapes of models and of batches.

The tolerance is what the documents promise. Both sides are float32 and sum in another order;
through 52 steps of lively untrained weights each is up to 1.7e-5 from float64, the two up to
3.1e-5 from each other. A wrong formula is off by 1e-2 or more.
"""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from elmokit.config import CharacterConfig, Marks, ModelConfig, WordConfig
from elmokit.embed.elmo import Elmo
from elmokit.embed.layer_choice import Layers
from elmokit.embed.start_state import Start
from elmokit.errors import ElmoError, InputError, MissingExtraError
from elmokit.integrations import onnx as onnx_module
from elmokit.integrations import onnx_check
from elmokit.integrations.onnx import export_onnx
from elmokit.integrations.onnx_check import check_export, onnx_inputs
from elmokit.pretrained.untrained import untrained_checkpoint
from elmokit.text.vocabulary import Vocabulary
from small_models import CHARACTERS, CONFIG, CONFIGS, WORDS

TOLERANCE = 1e-4
SPELLINGS = ("a", "the", "cat", "sat", "e" * 43, "e" * 48, "e" * 70, "고양이", "🙂", "<S>", "")
DICTIONARY = ("<bow>", "<eow>", "<bos>", "<eos>", "<pad>", "<oov>", "\u3000", *"acehst고")
MANY_LANGS = replace(
    CONFIG,
    characters=replace(CHARACTERS, alphabet="dictionary", alphabet_size=len(DICTIONARY)),
    words=WordConfig(vocabulary_size=6, embedding_dim=5, longest_word=4),
    marks=Marks(begin="<bos>", end="<eos>", unknown="<oov>"),
    forget_bias=0.0,
)


def make(config: ModelConfig = CONFIG, *, start: Start = "warm") -> Elmo:
    characters = config.characters
    dictionary = characters is not None and characters.alphabet == "dictionary"
    marks = config.marks
    words = WORDS if marks.begin == "<S>" else ("<bos>", "<eos>", "<oov>", "the", "cat", "eeee")
    checkpoint = untrained_checkpoint(
        config,
        vocabulary=Vocabulary(words, marks=marks) if config.words else None,
        characters=DICTIONARY if dictionary else None,
    )
    # Untrained weights hardly move a cell; these reach the bent parts of every function.
    louder = {
        name: tensor * 1.5 if "lstm" in name else tensor
        for name, tensor in checkpoint.tensors.items()
    }
    return Elmo(replace(checkpoint, tensors=louder), device="cpu", start=start)


def session(file: Path) -> Any:
    return onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])


def run(elmo: Elmo, opened: Any, sentences: list[list[str]]) -> np.ndarray:
    (found,) = opened.run(None, onnx_inputs(elmo, sentences))
    array: np.ndarray = found
    return array


def gap(elmo: Elmo, opened: Any, sentences: list[list[str]], layers: Layers) -> float:
    """Give the largest difference; shapes must fit and padding must be zero."""
    found = run(elmo, opened, sentences)
    longest = max(map(len, sentences))
    worst = 0.0
    for row, expected in enumerate(elmo.embed(sentences, layers=layers)):
        of_sentence, count = found[row], len(sentences[row])
        assert of_sentence.shape == (*expected.shape[:-2], longest, elmo.dim)
        assert not of_sentence[..., count:, :].any()
        if count:
            worst = max(worst, float(np.abs(of_sentence[..., :count, :] - expected).max()))
    return worst


def batches(seed: int = 0) -> list[list[list[str]]]:
    """Batches of 1 to 7 sentences of 0 to 50 tokens, the shortest and the longest among them."""
    chance = np.random.default_rng(seed)
    lengths = [[0], [1], [50], [0, 0], [1, 0, 50]]
    lengths += [chance.integers(0, 51, size=rows).tolist() for rows in range(1, 8)]
    return [
        [chance.choice(SPELLINGS, size=count).tolist() for count in counts] for counts in lengths
    ]


@pytest.mark.parametrize("name", [*CONFIGS, "words and characters"])
def test_every_shape_of_model_and_batch(tmp_path: Path, name: str) -> None:
    config = CONFIGS.get(name, MANY_LANGS)
    elmo = make(config)
    summary = export_onnx(elmo, tmp_path / "model.onnx", layers="all")
    assert summary.outputs == ("layers",)
    assert summary.inputs[-1] == "lengths"
    assert ("character_ids" in summary.inputs) == (config.characters is not None)
    assert ("word_ids" in summary.inputs) == (config.words is not None)
    opened = session(tmp_path / "model.onnx")
    assert max(gap(elmo, opened, batch, "all") for batch in batches()) <= TOLERANCE


@pytest.mark.parametrize("layers", ["average", "top", 0, 1, -2, [0.2, 0.0, 0.5], [0.0, 0.0, 0.0]])
def test_mixes_inside(tmp_path: Path, layers: Layers) -> None:
    elmo = make()
    summary = export_onnx(elmo, tmp_path / "model.onnx", layers=layers)
    assert summary.outputs == ("vectors",)
    opened = session(tmp_path / "model.onnx")
    assert max(gap(elmo, opened, batch, layers) for batch in batches(1)) <= TOLERANCE


def test_layers_that_are_not_asked_for_are_not_in_the_file(tmp_path: Path) -> None:
    sizes = [
        export_onnx(make(), tmp_path / f"{layer}.onnx", layers=layer).bytes for layer in (0, 1, 2)
    ]
    assert sizes[0] < sizes[1] < sizes[2]


def test_a_sentence_does_not_depend_on_its_batch(tmp_path: Path) -> None:
    elmo = make()
    export_onnx(elmo, tmp_path / "model.onnx", layers="all")
    opened = session(tmp_path / "model.onnx")
    sentence = ["the", "cat", "sat"]
    alone = run(elmo, opened, [sentence])[0]
    among = run(elmo, opened, [["a"] * 40, sentence, [], ["e" * 70]])[1][:, :3]
    np.testing.assert_allclose(among, alone, atol=TOLERANCE)


@pytest.mark.parametrize("start", ["warm", "zeros"])
def test_the_start_state_is_inside(tmp_path: Path, start: Start) -> None:
    elmo, other = make(start=start), make(start="zeros" if start == "warm" else "warm")
    export_onnx(elmo, tmp_path / "model.onnx", layers="all")
    opened = session(tmp_path / "model.onnx")
    batch = [["the", "cat"], ["sat"]]
    assert gap(elmo, opened, batch, "all") <= TOLERANCE
    assert gap(other, opened, batch, "all") > 1e-3


def test_the_file_says_what_it_is(tmp_path: Path) -> None:
    elmo = make(MANY_LANGS)
    export_onnx(elmo, tmp_path / "model.onnx", layers=[0.5, 0.25, 0.25])
    model = onnx.load(tmp_path / "model.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert [(one.domain, one.version) for one in model.opset_import] == [("", onnx_module.OPSET)]
    assert model.ir_version == onnx_module.IR_VERSION
    found = session(tmp_path / "model.onnx").get_modelmeta().custom_metadata_map
    assert found["alphabet"] == "dictionary"
    assert found["max_characters"] == "50"
    assert found["layers"] == "[0.5, 0.25, 0.25]"
    assert found["longest_word"] == "4"
    assert found["unknown_word"] == "<oov>"
    assert found["vocabulary"] == '["<bos>", "<eos>", "<oov>", "the", "cat", "eeee"]'
    assert '"고"' in found["characters"]
    assert found["about_name"] == "tiny-untrained"


def test_weights_beside_a_file_that_would_be_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx_module, "MOST_BYTES_INSIDE", 10_000)
    elmo = make(replace(CONFIG, lstm_dim=60))
    summary = export_onnx(elmo, tmp_path / "model.onnx", layers="all")
    assert summary.data == str(tmp_path / "model.onnx.data")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["model.onnx", "model.onnx.data"]
    beside = (tmp_path / "model.onnx.data").stat().st_size
    assert beside > 50_000
    assert (tmp_path / "model.onnx").stat().st_size < summary.bytes
    opened = session(tmp_path / "model.onnx")
    assert max(gap(elmo, opened, batch, "all") for batch in batches()[:6]) <= TOLERANCE
    with pytest.raises(InputError, match="exists already"):
        export_onnx(elmo, tmp_path / "model.onnx")


def test_what_cannot_be_exported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found start='carry'"):
        export_onnx(make(start="carry"), tmp_path / "model.onnx")
    with pytest.raises(InputError, match=r"ends in \.onnx, found .*model\.bin"):
        export_onnx(make(), tmp_path / "model.bin")
    with pytest.raises(InputError, match=r"layers: expected .* found 'bottom'"):
        export_onnx(make(), tmp_path / "model.onnx", layers="bottom")
    with pytest.raises(InputError, match="nowhere is not a folder"):
        export_onnx(make(), tmp_path / "nowhere" / "model.onnx")
    with pytest.raises(InputError, match=r"elmo: expected what elmokit\.load gives, found 'x'"):
        export_onnx("x", tmp_path / "model.onnx")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
    (tmp_path / "model.onnx").write_bytes(b"mine")
    with pytest.raises(InputError, match=r"model\.onnx exists already"):
        export_onnx(make(), tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").read_bytes() == b"mine"
    export_onnx(make(), tmp_path / "model.onnx", overwrite=True)
    session(tmp_path / "model.onnx")


def test_missing_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elmo = make()
    export_onnx(elmo, tmp_path / "model.onnx")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=r'pip install "elmokit\[onnx\]"'):
        check_export(elmo, tmp_path / "model.onnx")
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtraError, match=r'pip install "elmokit\[onnx\]"'):
        export_onnx(elmo, tmp_path / "other.onnx")


def test_the_check_tells_a_wrong_file(tmp_path: Path) -> None:
    elmo = make()
    export_onnx(elmo, tmp_path / "model.onnx")
    assert check_export(elmo, tmp_path / "model.onnx") <= onnx_check.TOLERANCE
    other = make(replace(CONFIG, skip_connections=False))
    with pytest.raises(ElmoError, match=r"model\.onnx: onnxruntime gives other vectors"):
        check_export(other, tmp_path / "model.onnx")


@pytest.mark.slow
def test_the_bundled_model(tmp_path: Path) -> None:
    import elmokit

    elmo = elmokit.load(device="cpu")
    export_onnx(elmo, tmp_path / "model.onnx", layers="all")
    opened = session(tmp_path / "model.onnx")
    assert max(gap(elmo, opened, batch, "all") for batch in batches()) <= TOLERANCE


@pytest.mark.slow
def test_more_than_two_gigabytes(tmp_path: Path) -> None:
    """A word model whose embedding alone is larger than a protocol buffer can be."""
    words = tuple(f"w{number}" for number in range(4_200_000))
    config = ModelConfig(
        characters=None,
        words=WordConfig(vocabulary_size=len(words) + 3, embedding_dim=128),
        token_projection=False,
        lstm_dim=128,
        projection_dim=128,
        lstm_projection=False,
    )
    checkpoint = untrained_checkpoint(
        config, vocabulary=Vocabulary(("<S>", "</S>", "<UNK>", *words))
    )
    elmo = Elmo(checkpoint, device="cpu")
    summary = export_onnx(elmo, tmp_path / "model.onnx", layers="all")
    assert summary.data is not None
    assert Path(summary.data).stat().st_size > 2**31
    opened = session(tmp_path / "model.onnx")
    batch = [["w0", "w4199999", "unknown"], ["w2000000"]]
    assert gap(elmo, opened, batch, "all") <= TOLERANCE


def test_small_configs_reach_their_limits() -> None:
    """The models above clip; else clipping would be untested."""
    assert CONFIGS["clipped hard"].cell_clip == 0.05
    top = make(CONFIGS["clipped hard"]).embed([["the", "cat"]], layers=1)[0]
    assert np.isclose(np.abs(top), 0.01).any()
    assert isinstance(MANY_LANGS.characters, CharacterConfig)
