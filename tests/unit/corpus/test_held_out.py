"""Which text is held out: some of any corpus, whole documents or blocks, chosen by content."""

import random
from pathlib import Path
from typing import Any

import pytest

from elmokit.corpus import plan
from elmokit.corpus.prepare import prepare
from elmokit.errors import InputError
from unit.corpus.naive_prepare import Prepared, naive_prepare, read_prepared


def documents(count: int, sentences: int = 3) -> list[bytes]:
    chance = random.Random(count)
    return [
        b"".join(
            b" ".join(b"w%d" % chance.randrange(200) for _ in range(4)) + b" d%d\n" % number
            for _ in range(sentences)
        )
        for number in range(count)
    ]


def held(tmp_path: Path, *texts: bytes, share: float | None = None, **options: Any) -> Prepared:
    files = []
    for number, text in enumerate(texts):
        files.append(tmp_path / f"{number}.txt")
        files[-1].write_bytes(text)
    prepare(
        files, tmp_path / "out", held_out=share, tokeniser="whitespace", overwrite=True, **options
    )
    return read_prepared(tmp_path / "out")


def test_whole_documents_where_there_are_many(tmp_path: Path) -> None:
    texts = documents(1200)
    found = held(tmp_path, b"\n".join(texts), block_bytes=500)
    assert found.facts["report"]["held_out"] == {"from": "documents", "share": 0.01}
    assert found.facts["splits"]["valid"]["documents"] == 12
    assert found.facts["splits"]["train"]["documents"] == 1188
    of_valid = {sentence.split()[-1] for sentence in found.sentences("valid")}
    of_train = {sentence.split()[-1] for sentence in found.sentences("train")}
    assert len(of_valid) == 12
    assert not of_valid & of_train
    expected = naive_prepare([b"\n".join(texts)], share=0.01)
    assert found.streams == expected.streams
    assert found.documents == expected.documents


def test_documents_are_chosen_by_what_they_say(tmp_path: Path) -> None:
    """Neither their order nor the files that they are in matter."""
    texts = documents(1200)
    first = held(tmp_path, b"\n".join(texts)).sentences("valid")
    random.Random(0).shuffle(texts)
    second = held(tmp_path, b"\n".join(texts[:700]), b"\n".join(texts[700:])).sentences("valid")
    assert sorted(first) == sorted(second)
    assert first


@pytest.mark.parametrize(
    "text",
    [
        b"".join(documents(1200)),
        b"\n".join(documents(900)),
        b"\n".join([*documents(1000), *documents(1, sentences=50)]),
    ],
    ids=["one document", "few documents", "a large document"],
)
@pytest.mark.parametrize("block_bytes", [700, 2**22])
def test_blocks_where_documents_are_too_coarse(
    tmp_path: Path, text: bytes, block_bytes: int
) -> None:
    found = held(tmp_path, text, block_bytes=block_bytes)
    sentences = sum(split["sentences"] for split in found.facts["splits"].values())
    size = sentences // 1000
    assert found.facts["report"]["held_out"] == {
        "from": "blocks",
        "share": 0.01,
        "block_sentences": size,
    }
    share = found.facts["splits"]["valid"]["sentences"] / sentences
    assert 0.005 < share < 0.02
    expected = naive_prepare([text], share=0.01)
    assert found.streams == expected.streams
    assert found.documents == expected.documents


@pytest.mark.parametrize("count", [2, 3, 10, 300])
@pytest.mark.parametrize("share", [None, 0.001, 0.99])
def test_there_is_always_some_text_in_both(tmp_path: Path, count: int, share: float | None) -> None:
    found = held(tmp_path, b"".join(documents(count, sentences=1)), share=share)
    assert found.facts["splits"]["valid"]["sentences"] > 0
    assert found.facts["splits"]["train"]["sentences"] > 0


def test_sentences_that_are_all_alike(tmp_path: Path) -> None:
    found = held(tmp_path, b"the same\n" * 10)
    assert found.facts["splits"]["train"]["sentences"] == 1
    assert found.facts["splits"]["valid"]["sentences"] == 9


def test_one_sentence_cannot_be_shared(tmp_path: Path) -> None:
    found = held(tmp_path, b"alone\n")
    assert list(found.facts["splits"]) == ["train"]
    assert found.facts["report"]["held_out"] == {"from": "none", "share": 0.01}
    assert not list((tmp_path / "out").glob("valid*"))


def test_nothing_if_nothing_is_wanted(tmp_path: Path) -> None:
    found = held(tmp_path, b"a\nb\n", share=0)
    assert list(found.facts["splits"]) == ["train"]
    assert found.facts["report"]["held_out"] == {"from": "none"}


def test_the_share_of_very_many_units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So many that their hashes are not sorted: the threshold is the share itself."""
    monkeypatch.setattr(plan, "_MOST_TO_SORT", 1000)
    found = held(tmp_path, b"\n".join(documents(5000)), share=0.1)
    assert 400 < found.facts["splits"]["valid"]["documents"] < 600


def test_held_out_files_and_a_share_exclude_each_other(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(b"a\n")
    (tmp_path / "v").write_bytes(b"b\n")
    with pytest.raises(InputError, match=r"held_out=0\.1 and files of held-out text .*v\)"):
        prepare(tmp_path / "t", tmp_path / "out", valid=tmp_path / "v", held_out=0.1)
