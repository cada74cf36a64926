"""Text in many scripts through the whole path: load, tokenise, embed, file, and back."""

import json
from pathlib import Path

import h5py
import numpy as np
import pyarrow.parquet
import pytest

import elmokit
from elmokit.cli.main import run

TEXTS = {
    "Korean": "그는 강가의 은행나무 아래에 앉아, 은행에 갈지 생각했다.",
    "Japanese": "彼女は銀行の前で、コーヒーを飲みながら待っていた。ｶﾀｶﾅも！",
    "Arabic": "جلستْ على ضفّة النهر، ثم ذهبت إلى البنك؟ ٣٫٥٠ دينار",
    "Hindi": "वह नदी के किनारे बैठी थी; बैंक बंद था। क्या तुमने देखा?",
    "emoji": "OK 🙂👍🏽 family 👨‍👩‍👧‍👦 flag 🇰🇷🇯🇵 heart ❤️ key 1️⃣ end",
    "Thai and Chinese": "สวัสดีครับ 我们去银行吧，好不好？",
    "Hebrew and combining": "צה״ל הלך לבנק e\u0301te\u0301 naïve",
    "right-to-left marks": "\u200fمرحبا\u200f \u202bעולם\u202c",
    "lone and private": "a\ue000b \U0010fffd \ufeff x\u00ady",
}


@pytest.fixture(scope="module")
def elmo() -> elmokit.Elmo:
    return elmokit.load("tiny-untrained", device="cpu")


@pytest.mark.parametrize("name", TEXTS)
def test_offsets_cover_the_text(elmo: elmokit.Elmo, name: str) -> None:
    text = TEXTS[name]
    tokens = elmo.tokenise(text)
    assert len(tokens) >= 3
    place = 0
    for token in tokens:
        assert text[token.start : token.end] == token.text
        assert not text[place : token.start].strip(), "only white space is left out"
        assert token.start >= place
        place = token.end
    assert not text[place:].strip()


@pytest.mark.parametrize("name", TEXTS)
def test_raw_text_and_its_tokens_are_embedded_alike(elmo: elmokit.Elmo, name: str) -> None:
    tokens = [token.text for token in elmo.tokenise(TEXTS[name])]
    raw, listed = elmo.embed([TEXTS[name], tokens], layers="all")
    assert raw.shape == (3, len(tokens), 64)
    assert np.isfinite(raw).all()
    np.testing.assert_allclose(raw, listed, atol=1e-6)


def test_different_words_have_different_vectors(elmo: elmokit.Elmo) -> None:
    words = ["은행", "은헹", "銀行", "بنك", "बैंक", "🙂", "🙃", "❤", "❤️", "é", "e\u0301"]
    (vectors,) = elmo.embed([words], layers=0)
    gaps = np.abs(vectors[:, None] - vectors[None]).max(axis=2) + np.eye(len(words))
    assert gaps.min() > 1e-3


@pytest.mark.parametrize("suffix", ["h5", "npz", "parquet"])
def test_from_a_file_to_a_file(elmo: elmokit.Elmo, tmp_path: Path, suffix: str) -> None:
    """Through the shell, with an empty line between any two."""
    lines = [line for text in TEXTS.values() for line in (text, "")]
    source, output = tmp_path / "글.txt", tmp_path / f"vecteurs-é.{suffix}"
    source.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    assert run(["embed", str(source), "-o", str(output), "--model", "tiny-untrained"]) == 0

    if suffix == "h5":
        with h5py.File(output) as file:
            index = json.loads(file["sentence_to_index"][0])
            assert index.keys() == {line.strip() for line in lines}
            tokens = [json.loads(file[str(i)].attrs["tokens"]) for i in range(len(lines))]
            vectors = [file[str(i)][...] for i in range(len(lines))]
    elif suffix == "npz":
        with np.load(output) as archive:
            tokens = json.loads(str(archive["tokens"]))
            vectors = [archive[str(i)] for i in range(len(lines))]
    else:
        table = pyarrow.parquet.read_table(output)
        assert table.column("text").to_pylist() == lines
        tokens = table.column("tokens").to_pylist()
        nested = table.column("vectors").to_pylist()
        vectors = [np.array(v, dtype=np.float32).reshape(-1, 64) for v in nested]

    assert tokens == [[token.text for token in elmo.tokenise(line)] for line in lines]
    for found, expected in zip(vectors, elmo.embed(lines), strict=True):
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, atol=1e-6)


def same(elmo: elmokit.Elmo, first: str, second: str) -> bool:
    """Tell whether a model reads two words alike."""
    left, right = elmo.embed([[first, "."], [second, "."]], layers="all")
    return bool(np.abs(left - right).max() <= 1e-6)


def test_words_are_cut_at_48_bytes(elmo: elmokit.Elmo) -> None:
    """A Korean syllable has 3 bytes, an emoji 4."""
    assert same(elmo, "가" * 16, "가" * 100)
    assert not same(elmo, "가" * 15, "가" * 16)
    assert same(elmo, "🙂" * 12, "🙂" * 13)
    assert not same(elmo, "🙂" * 11, "🙂" * 12)
    assert same(elmo, "a" * 48, "a" * 5000)
    assert not same(elmo, "a" * 47, "a" * 48)


def test_a_character_may_be_cut_in_two(elmo: elmokit.Elmo) -> None:
    """46 bytes and 2 of the 3 of the next syllable: 각 and 간 share these two, 나 does not."""
    start = "a" + "가" * 15
    shared, other = "각", "나"
    assert "각".encode()[:2] == "간".encode()[:2] != "나".encode()[:2]
    assert same(elmo, start + shared, start + "간")
    assert not same(elmo, start + shared, start + other)


def test_long_words_of_every_script(elmo: elmokit.Elmo) -> None:
    words = [character * 500 for character in "가銀بक🙂é"]
    (vectors,) = elmo.embed([words])
    assert vectors.shape == (6, 64)
    assert np.isfinite(vectors).all()


def test_a_lone_surrogate_does_no_harm(elmo: elmokit.Elmo) -> None:
    text = "bad \ud83d text"
    (vectors,) = elmo.embed([text])
    assert len(vectors) == len(elmo.tokenise(text)) == 3
    assert np.isfinite(vectors).all()


def test_through_a_layer_of_a_task_model(elmo: elmokit.Elmo) -> None:
    batch = [[token.text for token in elmo.tokenise(text)] for text in TEXTS.values()]
    layer = elmokit.ElmoLayer(elmo, 1, 0.0)
    output = layer(layer.character_ids(batch))
    for row, vectors in enumerate(elmo.embed(batch)):
        found = output.representations[0][row, : len(vectors)].detach().numpy()
        np.testing.assert_allclose(found, vectors, atol=1e-6)
