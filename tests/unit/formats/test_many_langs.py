"""ELMoForManyLangs folders: where their sizes come from, and what is refused and how."""

import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import elmokit
from elmokit.config import ModelConfig, WordConfig
from elmokit.formats import detect, many_langs
from elmokit.text.vocabulary import Vocabulary
from unit.formats.small_checkpoints import (
    BASE,
    CHARACTERS,
    MANY_LANGS,
    WORDS,
    assert_same,
    change_json,
    contents,
    model,
    refuses,
    refuses_input,
    setting,
    vocabulary,
    within,
    without,
)

StateDict = dict[str, Any]

GATES = "forward_layer_0.input_linearity.weight"
ENCODER_NAMES = sorted(
    f"{direction}_layer_{layer}.{part}"
    for direction in ("forward", "backward")
    for layer in range(2)
    for part in (
        "input_linearity.weight",
        "state_linearity.weight",
        "state_linearity.bias",
        "state_projection.weight",
    )
)
EMBEDDER_NAMES = [
    "word_emb_layer.embedding.weight",
    "char_emb_layer.embedding.weight",
    "convolutions.0.weight",
    "convolutions.1.bias",
    "highways._layers.0.weight",
    "highways._layers.0.bias",
    "projection.weight",
    "projection.bias",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    many_langs.write(model(MANY_LANGS), tmp_path / "model")
    return tmp_path / "model"


def change_tensors(file: Path, change: Callable[[StateDict], object], **how: Any) -> None:
    state_dict = torch.load(file, weights_only=True)
    change(state_dict)
    torch.save(state_dict, file, **how)


def holder(folder: Path, name: str) -> Path:
    """The file that holds the tensor ``name``."""
    return folder / ("encoder.pkl" if name in ENCODER_NAMES else "token_embedder.pkl")


# What is written.


def test_files(folder: Path) -> None:
    names = {"config.json", "sizes.json", "char.dic", "word.dic", "encoder.pkl"}
    assert {file.name for file in folder.iterdir()} == names | {"token_embedder.pkl"}
    assert sorted(torch.load(folder / "encoder.pkl", weights_only=True)) == ENCODER_NAMES
    embedder = torch.load(folder / "token_embedder.pkl", weights_only=True)
    assert set(EMBEDDER_NAMES) < embedder.keys()
    first = (folder / "word.dic").read_text(encoding="utf-8").splitlines()[:2]
    assert first == ["<bos>\t0", "<eos>\t1"]


def test_the_gate_is_theirs_negated(folder: Path) -> None:
    stored = torch.load(folder / "token_embedder.pkl", weights_only=True)
    tensors = model(MANY_LANGS).tensors
    transform, gate = stored["highways._layers.0.weight"].split(5)
    assert torch.equal(transform, tensors["token_encoder.characters.highway.0.transform.weight"])
    assert torch.equal(-gate, tensors["token_encoder.characters.highway.0.gate.weight"])


# Where the sizes come from.


@pytest.mark.parametrize(
    "named",
    [
        "sizes.json",
        "./sizes.json",
        "/home/somebody/elmo/configs/sizes.json",
        "C:\\Users\\somebody\\configs\\sizes.json",
        "../configs/sizes.json",
    ],
)
def test_config_path_of_another_machine(folder: Path, named: str) -> None:
    change_json(folder / "config.json", setting("config_path", named))
    assert_same(detect.read(folder), model(MANY_LANGS))


def test_config_path_leads_to_another_folder(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "configs").mkdir()
    sizes = (folder / "sizes.json").rename(tmp_path / "configs" / "cnn.json")
    for named in ("../configs/cnn.json", str(sizes)):
        change_json(folder / "config.json", setting("config_path", named))
        assert_same(detect.read(folder), model(MANY_LANGS))


@pytest.mark.parametrize("named", [None, "", 5, [], "absent.json", "..", "a\0b", "\ud800"])
def test_stock_sizes(folder: Path, named: object) -> None:
    change_json(folder / "config.json", setting("config_path", named))
    with refuses(
        folder / "token_embedder.pkl",
        "wrong shape (key 'word_emb_layer.embedding.weight')",
        "expected (7, 100) by the config and the dictionaries, found (7, 3)",
    ):
        detect.read(folder)


@pytest.mark.parametrize("named", ["a" * 300, "a/" * 3000])
def test_a_config_path_that_is_too_long(folder: Path, named: str) -> None:
    change_json(folder / "config.json", setting("config_path", named))
    with pytest.raises(elmokit.FormatError):
        detect.read(folder)


def test_a_model_of_the_stock_sizes(tmp_path: Path) -> None:
    """The published sizes, but for the LSTM: 94M numbers would be slow to write."""
    sizes = json.loads(json.dumps(many_langs.STOCK_SIZES))
    assert sizes["token_embedder"]["word_dim"] == 100
    assert sizes["token_embedder"]["char_dim"] == 50
    assert sizes["encoder"]["dim"] == 4096
    assert sum(number for _, number in sizes["token_embedder"]["filters"]) == 2048


@pytest.mark.parametrize(
    ("file", "path"),
    [
        ("sizes.json", "encoder"),
        ("sizes.json", "token_embedder"),
        ("sizes.json", "encoder.name"),
        ("sizes.json", "encoder.dim"),
        ("sizes.json", "encoder.projection_dim"),
        ("sizes.json", "encoder.n_layers"),
        ("sizes.json", "encoder.cell_clip"),
        ("sizes.json", "encoder.proj_clip"),
        ("sizes.json", "token_embedder.name"),
        ("sizes.json", "token_embedder.word_dim"),
        ("sizes.json", "token_embedder.char_dim"),
        ("sizes.json", "token_embedder.filters"),
        ("sizes.json", "token_embedder.activation"),
        ("sizes.json", "token_embedder.n_highway"),
        ("sizes.json", "token_embedder.max_characters_per_token"),
    ],
)
def test_missing_option(folder: Path, file: str, path: str) -> None:
    change_json(folder / file, without(path))
    with refuses(folder / file):
        detect.read(folder)


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ("encoder", 5, "section missing (key 'encoder')"),
        ("encoder.name", "lstm", "(key 'encoder.name'): expected 'elmo', found 'lstm'"),
        ("token_embedder.name", "lstm", "(key 'token_embedder.name'): expected 'cnn', found"),
        ("encoder.dim", "6", "(key 'dim'): expected a whole number, found '6'"),
        ("encoder.dim", 6.5, "(key 'dim'): expected a whole number, found 6.5"),
        ("encoder.dim", True, "(key 'dim'): expected a whole number, found True"),
        ("encoder.dim", 0, "lstm_dim: expected a number above 0, found 0"),
        ("encoder.n_layers", -2, "layers: expected 1 to 1000, found -2"),
        ("encoder.cell_clip", "3", "(key 'cell_clip'): expected a number, found '3'"),
        ("encoder.cell_clip", -3, "cell_clip: expected a number above 0, found -3.0"),
        ("encoder.cell_clip", float("nan"), "(key 'cell_clip'): expected a number, found nan"),
        ("token_embedder.char_dim", None, "(key 'char_dim'): expected a whole number, found None"),
        ("token_embedder.filters", [[9, 2]], "found [9, 2]"),
        ("token_embedder.filters", None, "token_embedder.filters: expected a list, found None"),
        ("token_embedder.activation", "gelu", "found 'gelu'"),
        ("token_embedder.n_highway", -1, "highway_layers: expected 0 to 1000, found -1"),
        ("token_embedder.n_highway", "1", "expected int, found '1'"),
        ("token_embedder.max_characters_per_token", 2, "expected 3 to 10000, found 2"),
    ],
)
def test_wrong_option(folder: Path, path: str, value: object, problem: str) -> None:
    change_json(folder / "sizes.json", setting(path, value))
    with refuses(folder / "sizes.json", problem):
        detect.read(folder)


def test_a_number_beyond_all_bounds(folder: Path) -> None:
    change_json(folder / "sizes.json", setting("encoder.cell_clip", 10**400))
    with refuses(folder / "sizes.json", "cell_clip"):
        detect.read(folder)


def test_neither_words_nor_characters(folder: Path) -> None:
    for key in ("token_embedder.word_dim", "token_embedder.char_dim"):
        change_json(folder / "sizes.json", setting(key, 0))
    with refuses(folder / "sizes.json", "a model needs at least one of them, found neither"):
        detect.read(folder)


@pytest.mark.parametrize(
    ("path", "value", "name", "shape"),
    [
        ("encoder.dim", 7, ENCODER_NAMES[8], (28, 4)),
        ("encoder.projection_dim", 5, "projection.weight", (5, 8)),
        ("token_embedder.char_dim", 4, "char_emb_layer.embedding.weight", (10, 4)),
        ("token_embedder.word_dim", 4, "word_emb_layer.embedding.weight", (7, 4)),
        ("token_embedder.filters", [[1, 2], [3, 3]], "convolutions.1.weight", (3, 3, 3)),
    ],
)
def test_sizes_of_another_model(
    folder: Path, path: str, value: object, name: str, shape: tuple[int, ...]
) -> None:
    change_json(folder / "sizes.json", setting(path, value))
    with refuses(holder(folder, name), "wrong shape", f"(key {name!r}): expected {shape} by"):
        detect.read(folder)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("encoder.n_layers", "forward_layer_2.input_linearity.weight"),
        ("token_embedder.n_highway", "highways._layers.1.weight"),
    ],
)
def test_layers_that_are_not_there(folder: Path, path: str, name: str) -> None:
    file = folder / ("encoder.pkl" if path.startswith("encoder") else "token_embedder.pkl")
    change_json(folder / "sizes.json", setting(path, 3))
    with refuses(file, f"tensor missing (key {name!r})"):
        detect.read(folder)
    change_json(folder / "sizes.json", setting(path, 10**9))
    with within(5), pytest.raises(elmokit.FormatError, match=r"layer|highway"):
        detect.read(folder)


@pytest.mark.parametrize("text", ["", "[]", "<html>", "null"])
@pytest.mark.parametrize("name", ["config.json", "sizes.json"])
def test_json_that_is_none(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text, encoding="utf-8")
    with refuses(folder / name):
        detect.read(folder)


@pytest.mark.parametrize("name", ["config.json", "char.dic", "word.dic", "token_embedder.pkl"])
def test_a_missing_file(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with refuses(folder / name, "o such file"):
        detect.read(folder)


# Dictionaries.


def test_white_space_that_stands_for_itself(folder: Path) -> None:
    text = (folder / "char.dic").read_text(encoding="utf-8")
    assert "\n\u3000\t7\n" in text
    for written in ("\n7\n", "\n\u3000\t7\n", "\n \t7\n", "\n\t7\n"):
        (folder / "char.dic").write_text(text.replace("\n\u3000\t7\n", written), encoding="utf-8")
        found = detect.read(folder)
        assert found.characters is not None
        assert found.characters[7] == "\u3000"


def test_ids_in_any_order_and_other_line_ends(folder: Path) -> None:
    lines = (folder / "word.dic").read_text(encoding="utf-8").splitlines()
    for text in ("\r\n".join(lines), "\n".join(reversed(lines)), "\n".join(lines)):
        (folder / "word.dic").write_bytes(text.encode())
        assert_same(detect.read(folder), model(MANY_LANGS))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda lines: [*lines, ""], "line 8 is not 'token<TAB>id': found ''"),
        (lambda lines: [*lines, "word"], "line 8 is not 'token<TAB>id': found 'word'"),
        (lambda lines: [*lines, "a\tb\t7"], "line 8 is not 'token<TAB>id': found 'a\\tb\\t7'"),
        (lambda lines: [*lines, "a\t-1"], "line 8 is not 'token<TAB>id'"),
        (lambda lines: [*lines, "a\t7.0"], "line 8 is not 'token<TAB>id'"),
        (lambda lines: [*lines, "a\t７"], "line 8 is not 'token<TAB>id'"),
        (lambda lines: [*lines, "a\t²"], "line 8 is not 'token<TAB>id'"),
        (lambda lines: [*lines, "a " * 900], "line 8 is not"),
        (lambda lines: [*lines, "a\t6"], "line 8 gives an id a second time: found 6"),
        (lambda lines: [*lines, "a\t06"], "line 8 gives an id a second time: found 6"),
        (lambda lines: [*lines, "a\t8"], "ids do not run from 0 without a gap: expected id 7"),
        (lambda lines: [*lines, "a\t999999999999"], "without a gap: expected id 7"),
        (lambda lines: lines[1:], "without a gap: expected id 0"),
        (lambda lines: [], "line 1 is not 'token<TAB>id': found ''"),
    ],
)
def test_wrong_lines(folder: Path, change: Callable[[list[str]], list[str]], problem: str) -> None:
    lines = (folder / "word.dic").read_text(encoding="utf-8").splitlines()
    (folder / "word.dic").write_text("\n".join(change(lines)) + "\n", encoding="utf-8")
    with refuses(folder / "word.dic", problem):
        detect.read(folder)


def test_an_id_beyond_all_bounds(folder: Path) -> None:
    with (folder / "word.dic").open("a", encoding="utf-8") as stream:
        stream.write("a\t" + "1" * 5000 + "\n")
    with refuses(folder / "word.dic", "line 8"):
        detect.read(folder)


def test_a_dictionary_that_is_not_text(folder: Path) -> None:
    (folder / "char.dic").write_bytes(b"a\t0\n\xff\t1\n")
    with refuses(folder / "char.dic", "is not UTF-8 text (byte 4)"):
        detect.read(folder)


@pytest.mark.parametrize(("name", "size"), [("word.dic", 7), ("char.dic", 10)])
@pytest.mark.parametrize("change", [-1, 1])
def test_dictionaries_of_another_length(folder: Path, name: str, size: int, change: int) -> None:
    lines = (folder / name).read_text(encoding="utf-8").splitlines()
    lines = lines[:-1] if change < 0 else [*lines, f"more\t{size}"]
    (folder / name).write_text("\n".join(lines), encoding="utf-8")
    key = f"{name.removesuffix('.dic')}_emb_layer.embedding.weight"
    with refuses(
        folder / "token_embedder.pkl",
        f"wrong shape (key {key!r}): expected ({size + change}, 3) by the config and the "
        f"dictionaries, found ({size}, 3)",
    ):
        detect.read(folder)


@pytest.mark.parametrize(
    ("name", "mark"),
    [("char.dic", mark) for mark in ("<bow>", "<eow>", "<bos>", "<eos>", "<pad>", "<oov>")]
    + [("word.dic", mark) for mark in ("<bos>", "<eos>", "<oov>")],
)
def test_dictionaries_without_a_mark(folder: Path, name: str, mark: str) -> None:
    text = (folder / name).read_text(encoding="utf-8")
    (folder / name).write_text(text.replace(mark, "else"), encoding="utf-8")
    with pytest.raises(elmokit.FormatError, match=f"lacks (a|the) mark.*{mark}") as caught:
        detect.read(folder)
    assert str(caught.value).startswith(str(folder))


# Tensors.


@pytest.mark.parametrize("name", [*ENCODER_NAMES, *EMBEDDER_NAMES])
def test_a_missing_tensor(folder: Path, name: str) -> None:
    change_tensors(holder(folder, name), lambda tensors: tensors.pop(name))
    with refuses(holder(folder, name), f"tensor missing (key {name!r})"):
        detect.read(folder)


@pytest.mark.parametrize("name", [*ENCODER_NAMES, *EMBEDDER_NAMES])
def test_a_tensor_of_another_shape(folder: Path, name: str) -> None:
    def change(tensors: StateDict) -> None:
        tensors[name] = tensors[name][:-1].clone()

    change_tensors(holder(folder, name), change)
    with refuses(holder(folder, name), "wrong shape", f"(key {name!r}): expected ("):
        detect.read(folder)


@pytest.mark.parametrize("name", [GATES, "projection.bias"])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_values_that_are_no_numbers(folder: Path, name: str, value: float) -> None:
    change_tensors(holder(folder, name), lambda tensors: tensors[name].view(-1)[0].fill_(value))
    with refuses(folder, "NaN or infinity (key '"):
        detect.read(folder)


def replaced(make: Callable[[Tensor], object]) -> Callable[[StateDict], None]:
    def change(tensors: StateDict) -> None:
        tensors[GATES] = make(tensors[GATES])

    return change


@pytest.mark.parametrize(
    "make",
    [
        lambda tensor: tensor.int(),
        lambda tensor: tensor.bool(),
        lambda tensor: tensor.to(torch.complex64),
        lambda tensor: tensor.to_sparse(),
        lambda tensor: tensor.tolist(),
        lambda tensor: None,
        lambda tensor: "text",
        lambda tensor: {"a": tensor},
    ],
)
def test_what_is_no_tensor_of_floats(folder: Path, make: Callable[[Tensor], object]) -> None:
    change_tensors(folder / "encoder.pkl", replaced(make))
    with refuses(
        folder / "encoder.pkl", f"wrong content (key {GATES!r}): expected a tensor of floats"
    ):
        detect.read(folder)


def compressed_rows(tensor: Tensor) -> Tensor:
    return torch.sparse_csr_tensor(
        torch.tensor([0] * 25), torch.tensor([], dtype=torch.int64), torch.tensor([]), (24, 4)
    )


@pytest.mark.filterwarnings("ignore:Sparse CSR:UserWarning", "ignore:Sparse invariant:UserWarning")
@pytest.mark.parametrize("make", [lambda tensor: tensor.to("meta"), compressed_rows])
def test_tensors_without_plain_memory(folder: Path, make: Callable[[Tensor], Tensor]) -> None:
    change_tensors(folder / "encoder.pkl", replaced(make))
    with refuses(folder / "encoder.pkl", f"(key {GATES!r})"):
        detect.read(folder)


def test_a_stretched_tensor(folder: Path) -> None:
    """One number in the file can pass for a tensor of any size."""
    size = 10**7
    for key in ("dim", "projection_dim"):
        change_json(folder / "sizes.json", setting(f"encoder.{key}", size))
    shapes = {"weight": (4 * size, size), "bias": (4 * size,)}

    def change(tensors: StateDict) -> None:
        for name in tensors:
            shape: tuple[int, ...] = shapes[name.rsplit(".", maxsplit=1)[-1]]
            if "projection" in name:
                shape = (size, size)
            tensors[name] = torch.zeros(1).expand(shape)

    change_tensors(folder / "encoder.pkl", change)

    def change_projection(tensors: StateDict) -> None:
        tensors["projection.weight"] = torch.zeros(1, 1).expand(size, 8)
        tensors["projection.bias"] = torch.zeros(1).expand(size)

    change_tensors(folder / "token_embedder.pkl", change_projection)
    with pytest.raises(elmokit.FormatError):
        detect.read(folder)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_other_floats(folder: Path, dtype: torch.dtype) -> None:
    change_tensors(folder / "encoder.pkl", replaced(lambda tensor: tensor.to(dtype)))
    expected = model(MANY_LANGS).tensors["forward_lstm.layers.0.input_weight"].to(dtype).float()
    found = detect.read(folder).tensors["forward_lstm.layers.0.input_weight"]
    assert torch.equal(found, expected)


@pytest.mark.parametrize(
    "make",
    [
        torch.nn.Parameter,
        lambda tensor: tensor.t().contiguous().t(),
        lambda tensor: torch.stack([tensor, tensor])[1],
    ],
)
def test_other_ways_to_keep_a_tensor(folder: Path, make: Callable[[Tensor], Tensor]) -> None:
    change_tensors(folder / "encoder.pkl", replaced(make))
    found = detect.read(folder)
    assert_same(found, model(MANY_LANGS))
    assert all(t.is_contiguous() and not t.requires_grad for t in found.tensors.values())


def test_the_older_file_format(folder: Path) -> None:
    for name in ("encoder.pkl", "token_embedder.pkl"):
        change_tensors(folder / name, lambda tensors: None, _use_new_zipfile_serialization=False)
        assert not zipfile.is_zipfile(folder / name)
    assert_same(detect.read(folder), model(MANY_LANGS))


@pytest.mark.parametrize(
    ("path", "value", "key"),
    [
        ("encoder.n_layers", 1, "layer_1"),
        ("token_embedder.n_highway", 0, "highways._layers.0"),
    ],
)
def test_layers_that_the_sizes_do_not_speak_of(
    folder: Path, path: str, value: int, key: str
) -> None:
    change_json(folder / "sizes.json", setting(path, value))
    with pytest.raises(elmokit.FormatError, match=key):
        detect.read(folder)


# Files that are something else. Hostile ones are in test_hostile_pickles.py.


@pytest.mark.parametrize("name", ["encoder.pkl", "token_embedder.pkl"])
@pytest.mark.parametrize(
    "octets",
    [b"", b"\x80", b"<!DOCTYPE html>", b"version https://git-lfs.github.com/spec/v1\n", bytes(99)],
)
def test_not_torch(folder: Path, name: str, octets: bytes) -> None:
    (folder / name).write_bytes(octets)
    with refuses(folder / name, "is not a readable torch state dict", "never executes a pickle"):
        detect.read(folder)


@pytest.mark.parametrize("older", [False, True])
def test_truncated(folder: Path, older: bool) -> None:
    file = folder / "encoder.pkl"
    change_tensors(file, lambda tensors: None, _use_new_zipfile_serialization=not older)
    octets = file.read_bytes()
    for cut in (1, 10, 100, len(octets) // 2, len(octets) - 1):
        file.write_bytes(octets[:cut])
        with refuses(file, "is not a readable torch state dict"):
            detect.read(folder)


@pytest.mark.parametrize("value", [[1, 2], 5, "text", None, torch.zeros(3), (1,)])
def test_a_torch_file_of_something_else(folder: Path, value: object) -> None:
    torch.save(value, folder / "encoder.pkl")
    with refuses(folder / "encoder.pkl", f"expected a state dict, found {type(value).__name__}"):
        detect.read(folder)


def test_a_zip_of_something_else(folder: Path) -> None:
    octets = io.BytesIO()
    with zipfile.ZipFile(octets, "w") as archive:
        archive.writestr("notes.txt", "hello")
    (folder / "encoder.pkl").write_bytes(octets.getvalue())
    with refuses(folder / "encoder.pkl", "is not a readable torch state dict"):
        detect.read(folder)


# Writing.

UNWRITABLE = {
    "words that are not cut where their characters are": replace(
        MANY_LANGS, words=WordConfig(vocabulary_size=7, embedding_dim=3, longest_word=5)
    ),
    "a byte alphabet": replace(MANY_LANGS, characters=CHARACTERS),
    "forget_bias 1.0": replace(MANY_LANGS, forget_bias=1.0),
    "marks other than <bos>, <eos> and <oov>": replace(MANY_LANGS, marks=BASE.marks),
    "no skip connections": replace(MANY_LANGS, skip_connections=False),
    "no token_projection": replace(MANY_LANGS, projection_dim=8, token_projection=False),
    "no lstm_projection": replace(MANY_LANGS, lstm_dim=4, lstm_projection=False),
    "no clipping": replace(MANY_LANGS, cell_clip=None),
    "a softmax": replace(MANY_LANGS, softmax_size=7),
}


@pytest.mark.parametrize(("obstacle", "config"), UNWRITABLE.items(), ids=UNWRITABLE)
def test_what_cannot_be_written(obstacle: str, config: ModelConfig, tmp_path: Path) -> None:
    with refuses_input("the many-langs format cannot express a model with", obstacle):
        many_langs.write(model(config), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("config", [BASE, WORDS], ids=["characters", "words"])
def test_models_of_bilm_cannot_be_written(config: ModelConfig, tmp_path: Path) -> None:
    with refuses_input("the many-langs format cannot express"):
        many_langs.write(model(config), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_tokeniser_that_cannot_be_written(tmp_path: Path) -> None:
    checkpoint = model(replace(MANY_LANGS, tokeniser="whitespace"))
    with refuses_input("the many-langs format cannot express", "tokeniser"):
        many_langs.write(checkpoint, tmp_path / "model")


@pytest.mark.parametrize("token", ["a\tb", "\t", "\n", "a\nb"])
def test_tokens_that_cannot_be_written(token: str, tmp_path: Path) -> None:
    words = Vocabulary([*vocabulary(6, MANY_LANGS).words, token], marks=many_langs.MARKS)
    with refuses_input("cannot be written", repr(token)):
        many_langs.write(replace(model(MANY_LANGS), vocabulary=words), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("token", [" ", "", "a ", "\xa0", "\x85", "\u2028", "\r", "\x0b", " a"])
def test_tokens_that_cannot_be_read_back(token: str, tmp_path: Path) -> None:
    checkpoint = model(MANY_LANGS)
    characters = (*(checkpoint.characters or ())[:-1], token)
    with refuses_input("cannot be written", repr(token)):
        many_langs.write(replace(checkpoint, characters=characters), tmp_path / "model")


@pytest.mark.parametrize("token", ["a b", "字", "\u200b", "\ufeff", "5", "a\rb", "\u3000"])
def test_odd_tokens(token: str, tmp_path: Path) -> None:
    words = Vocabulary([*vocabulary(6, MANY_LANGS).words, token], marks=many_langs.MARKS)
    checkpoint = replace(model(MANY_LANGS), vocabulary=words)
    many_langs.write(checkpoint, tmp_path / "model")
    assert_same(detect.read(tmp_path / "model"), checkpoint)


def test_what_the_original_asks_for_is_there(folder: Path) -> None:
    """It looks up the share of dropout in all that it makes, also where nothing is dropped."""
    sizes = json.loads((folder / many_langs.SIZES_FILE).read_text(encoding="utf-8"))
    assert sizes["dropout"] == 0.1


def test_overwriting(folder: Path) -> None:
    before = contents(folder.parent)
    with refuses_input(str(folder), "exists already"):
        many_langs.write(model(MANY_LANGS, seed=1), folder)
    assert contents(folder.parent) == before
    many_langs.write(model(MANY_LANGS, seed=1), folder, overwrite=True)
    assert_same(detect.read(folder), model(MANY_LANGS, seed=1))


@pytest.mark.parametrize("step", ["write_json", "_write_dictionary", "_entries", "torch.save"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_whole_or_not_there(
    step: str, overwrite: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = folder if overwrite else folder.with_name("new")
    before = contents(folder.parent)

    def fail(*_: object, **__: object) -> None:
        raise OSError("disk full")

    place = torch if step == "torch.save" else many_langs
    monkeypatch.setattr(place, step.removeprefix("torch."), fail)
    with pytest.raises(OSError, match="disk full"):
        many_langs.write(model(MANY_LANGS), target, overwrite=overwrite)
    assert contents(folder.parent) == before


def test_no_place_to_write(tmp_path: Path) -> None:
    with refuses_input(str(tmp_path / "absent"), "is not a folder; create it first"):
        many_langs.write(model(MANY_LANGS), tmp_path / "absent" / "model")
    assert list(tmp_path.iterdir()) == []
