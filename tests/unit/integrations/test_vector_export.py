"""Static and averaged vectors in word2vec's format, read back by gensim and by ourselves."""

import gzip
import json
import tracemalloc
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from gensim.models import KeyedVectors
from typer.testing import CliRunner

from elmokit.cli import export_vectors
from elmokit.corpus.prepare import prepare
from elmokit.embed.elmo import Elmo
from elmokit.errors import FormatError, InputError
from elmokit.formats.word2vec_files import read_binary_word_vectors
from elmokit.formats.word_vectors import WordVectors, read_word_vectors
from elmokit.integrations.loaded_models import loaded_model
from elmokit.integrations.word_vectors import (
    export_averaged_vectors,
    export_static_vectors,
    model_words,
)
from elmokit.pretrained.untrained import untrained_checkpoint
from elmokit.text.vocabulary import Vocabulary
from small_models import CONFIG, WORDS

TEXT = """
The cat sat on the mat.
the cat, the dog and the cat

A dog sat. 고양이 고양이!
the the the
"""
LISTED = ["cat", "고양이", "the", "e" * 60, "cat", "—", "'s"]
FORMS = ["vectors.txt", "vectors.bin", "vectors.txt.gz", "vectors.bin.xz"]


@pytest.fixture(scope="module")
def elmo() -> Elmo:
    return Elmo(untrained_checkpoint(CONFIG), device="cpu")


@pytest.fixture
def text(tmp_path: Path) -> Path:
    file = tmp_path / "text.txt"
    file.write_text(TEXT, encoding="utf-8")
    return file


def by_ourselves(file: Path) -> WordVectors:
    read = read_binary_word_vectors if ".bin" in file.name else read_word_vectors
    return read(file)


def by_gensim(file: Path) -> WordVectors:
    loaded = KeyedVectors.load_word2vec_format(str(file), binary=".bin" in file.name)
    return WordVectors(tuple(loaded.index_to_key), loaded.vectors)


def means(elmo: Elmo, layers: Any) -> dict[str, np.ndarray[Any, Any]]:
    """The slow, plain way: every sentence by itself, every vector kept."""
    found = defaultdict(list)
    for line in TEXT.strip().split("\n"):
        words = elmo.tokeniser.words(line)
        for word, vector in zip(words, elmo.embed([words], layers=layers)[0], strict=True):
            found[word].append(vector.astype(np.float64))
    return {word: np.mean(vectors, axis=0) for word, vectors in found.items()}


@pytest.mark.parametrize("name", FORMS)
def test_words_by_themselves(elmo: Elmo, tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    summary = export_static_vectors(elmo, LISTED, file)
    distinct = tuple(dict.fromkeys(LISTED))
    assert (summary.words, summary.dim, summary.contexts) == (len(distinct), elmo.dim, 0)
    expected = np.concatenate(elmo.embed([[word] for word in distinct], layers=0))
    readers = (by_ourselves, by_gensim) if not name.endswith("xz") else (by_ourselves,)
    for read in readers:
        words, vectors = read(file)
        assert words == distinct
        # Float32 goes through both formats unchanged; computing differs by what shares a batch.
        np.testing.assert_allclose(vectors, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("layers", [1, "average", [0.3, 0.0, -2.0]])
def test_words_by_themselves_in_other_layers(elmo: Elmo, tmp_path: Path, layers: Any) -> None:
    file = tmp_path / "vectors.bin"
    export_static_vectors(elmo, ["cat", "dog"], file, layers=layers)
    expected = np.concatenate(elmo.embed([["cat"], ["dog"]], layers=layers))
    np.testing.assert_allclose(by_gensim(file).vectors, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("layers", [0, -3, 1, "top", "average", [0.3, 0.2, 0.5]])
def test_means_over_contexts(elmo: Elmo, text: Path, tmp_path: Path, layers: Any) -> None:
    file = tmp_path / "vectors.bin"
    summary = export_averaged_vectors(elmo, [text], file, layers=layers, min_count=1)
    expected = means(elmo, layers)
    words, vectors = by_gensim(file)
    assert words[:3] == ("the", "cat", ".")
    assert sorted(words) == sorted(expected)
    for word, vector in zip(words, vectors, strict=True):
        np.testing.assert_allclose(vector, expected[word], rtol=0, atol=1e-6)
    # Layer 0 is the same in every context, so that none is computed.
    assert summary.contexts == (0 if layers in (0, -3) else 25)


def test_frequent_words_alone(elmo: Elmo, text: Path, tmp_path: Path) -> None:
    file = tmp_path / "vectors.txt"
    expected = means(elmo, "average")
    choices: list[tuple[dict[str, Any], tuple[str, ...]]] = [
        ({"min_count": 3}, ("the", "cat")),
        ({"min_count": 2}, ("the", "cat", ".", "dog", "sat", "고양이")),
        ({"min_count": 1, "most": 2}, ("the", "cat")),
    ]
    for settings, words in choices:
        export_averaged_vectors(elmo, [text], file, overwrite=True, **settings)
        found, vectors = by_ourselves(file)
        assert found == words
        np.testing.assert_allclose(vectors, [expected[word] for word in words], rtol=0, atol=1e-6)


def test_tokenised_text_is_cut_at_spaces(elmo: Elmo, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("do-n't! do-n't!\n")
    export_averaged_vectors(
        elmo, [tmp_path / "text.txt"], tmp_path / "v.txt", tokenised=True, min_count=2
    )
    assert by_ourselves(tmp_path / "v.txt").words == ("do-n't!",)


def test_memory_does_not_grow_with_the_text(elmo: Elmo, tmp_path: Path) -> None:
    peaks = []
    for copies in (100, 600):
        (tmp_path / "long.txt").write_text(TEXT * copies, encoding="utf-8")
        prepared = tmp_path / f"prepared-{copies}"
        prepare([tmp_path / "long.txt"], prepared, held_out=0.0)
        tracemalloc.start()
        summary = export_averaged_vectors(
            elmo, [prepared], tmp_path / "v.bin", overwrite=True, batch_tokens=256
        )
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert summary.contexts == 25 * copies
    # The vectors of the longer text would take 1 MB more.
    assert peaks[1] - peaks[0] < 600_000


def test_a_models_own_words(tmp_path: Path) -> None:
    elmo = Elmo(untrained_checkpoint(CONFIG, vocabulary=Vocabulary(WORDS)), device="cpu")
    assert model_words(elmo) == ["the", "cat", "sat"]
    with pytest.raises(InputError, match="the model has no list of words"):
        model_words(loaded_model("tiny-untrained").elmo)


def test_what_cannot_be_written_is_named(elmo: Elmo, text: Path, tmp_path: Path) -> None:
    file = tmp_path / "vectors.bin"
    wrong: list[tuple[Any, str]] = [
        ([], "words: expected at least one"),
        ("cat", "words: expected a list of words, found one string 'cat'"),
        (["cat", "New York"], r"found 'New York' at place 1"),
        (["cat", ""], r"found '' at place 1"),
        (["cat", 7], r"found 7 at place 1"),
        (["cat", "\ud800"], r"words: '\\ud800' is no valid Unicode"),
    ]
    for words, message in wrong:
        with pytest.raises(InputError, match=message):
            export_static_vectors(elmo, words, file)
    with pytest.raises(InputError, match="layers: expected a choice of one vector per word"):
        export_static_vectors(elmo, ["cat"], file, layers="all")
    with pytest.raises(InputError, match=r"min_count: no word .* occurs 9 times.* 7 times"):
        export_averaged_vectors(elmo, [text], file, min_count=9)
    with pytest.raises(InputError, match="most: expected a whole number above 0, found 0"):
        export_averaged_vectors(elmo, [text], file, most=0)
    carrying = Elmo(untrained_checkpoint(CONFIG), device="cpu", start="carry")
    with pytest.raises(InputError, match="found 'carry'"):
        export_averaged_vectors(carrying, [text], file)
    assert not file.exists()
    file.touch()
    with pytest.raises(InputError, match=r"vectors\.bin exists already"):
        export_static_vectors(elmo, ["cat"], file)
    assert [path.name for path in tmp_path.iterdir() if path != text] == ["vectors.bin"]


def test_gensims_own_files_are_read(elmo: Elmo, tmp_path: Path) -> None:
    """gensim leaves out the line ends that word2vec writes."""
    export_static_vectors(elmo, LISTED, tmp_path / "ours.bin")
    loaded = KeyedVectors.load_word2vec_format(str(tmp_path / "ours.bin"), binary=True)
    loaded.save_word2vec_format(str(tmp_path / "theirs.bin"), binary=True)
    ours, theirs = by_ourselves(tmp_path / "ours.bin"), by_ourselves(tmp_path / "theirs.bin")
    assert theirs.words == ours.words
    np.testing.assert_array_equal(theirs.vectors, ours.vectors)
    few = read_binary_word_vectors(tmp_path / "ours.bin", limit=1, wanted={"the"})
    assert few.words == ("cat", "the")
    np.testing.assert_array_equal(few.vectors, ours.vectors[[0, 2]])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no binary file of word2vec: found an empty file"),
        (b"cat 1 2 3\n", "no binary file of word2vec"),
        (b"0 3\n", "holds no word vectors"),
        (b"2 1\ncat \x00\x00\x80?\n", "breaks off: expected 2, found 1 words"),
        (b"1 1\ncat \x00\x00", "breaks off: expected 1, found 0 words"),
        (b"1 1\n\xff\xfe \x00\x00\x80?\n", "word 1: is no UTF-8"),
        (b"1 1\ncat \x00\x00\x80\x7f\n", "vector of 'cat' is not finite"),
        (b"1 1\n" + b"x" * 100_000, "word 1: no end of it was found"),
        (b"9 999999999999\ncat \x00", "breaks off"),
    ],
)
def test_damaged_binary_files_are_named(tmp_path: Path, content: bytes, message: str) -> None:
    for name, pack in (("v.bin", bytes), ("v.bin.gz", gzip.compress)):
        (tmp_path / name).write_bytes(pack(content))
        if name == "v.bin" or "found an empty" not in message:
            with pytest.raises(FormatError, match=message):
                read_binary_word_vectors(tmp_path / name)


def shell(*arguments: object) -> Any:
    app = typer.Typer()
    app.command()(export_vectors.command)
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None:
        raise result.exception
    return result.output


def test_the_command(text: Path, tmp_path: Path) -> None:
    tiny = ["--model", "tiny-untrained", "--json"]
    (tmp_path / "words.txt").write_text("\ufeffcat\r\n\r\n고양이\r\n", encoding="utf-8")
    printed = shell("--words", tmp_path / "words.txt", "-o", tmp_path / "static.bin", *tiny)
    assert json.loads(printed)["words"] == 2
    found = by_gensim(tmp_path / "static.bin")
    assert found.words == ("cat", "고양이")
    elmo = loaded_model("tiny-untrained").elmo
    expected = np.concatenate(elmo.embed([["cat"], ["고양이"]], layers=0))
    np.testing.assert_allclose(found.vectors, expected, rtol=0, atol=1e-6)

    output = tmp_path / "means.txt.gz"
    printed = shell(text, "-o", output, "--min-count", 2, "--most", 2, "--layers", "0,0,1", *tiny)
    assert json.loads(printed)["contexts"] == 10
    expected = np.array([means(elmo, "top")[word] for word in ("the", "cat")])
    np.testing.assert_allclose(by_gensim(output).vectors, expected, rtol=0, atol=1e-6)

    for arguments, message in (
        ([text, "--words", text, "-o", tmp_path / "x"], "give a corpus or --words, found both"),
        ([text, "-o", output, *tiny], "exists already"),
        (["-o", tmp_path / "x", *tiny], "the model has no list of words"),
    ):
        with pytest.raises(InputError, match=message):
            shell(*arguments)
