"""`elmo index`, `elmo neighbours` and `elmo senses` in the shell."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Shell = Callable[..., tuple[int, str, str]]
TINY = ["--model", "tiny-untrained"]
NOTE = "untrained"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    file = tmp_path / "text.txt"
    file.write_text(
        "A play at night.\nThe bank [of] sand.\nA bank of stone.\n은행 에 갔다\n", encoding="utf-8"
    )
    return file


@pytest.fixture
def index(shell: Shell, corpus: Path) -> Path:
    code, out, err = shell("index", corpus, "-o", corpus.parent / "index", *TINY)
    assert code == 0, err
    assert "index: 20 occurrences in 4 sentences, 64 numbers a vector" in out
    return corpus.parent / "index"


def test_index_as_json(shell: Shell, corpus: Path) -> None:
    code, out, _ = shell(
        *("index", corpus, "-o", corpus.parent / "out", *TINY, "--json"),
        *("--layer", "0.5,0.25,0.25", "--skip", "punctuation", "--limit-tokens", "9"),
    )
    assert code == 0
    facts = json.loads(out)
    assert (facts["occurrences"], facts["sentences"]) == (8, 2)
    assert (facts["layer"], facts["weights"]) == (None, [0.5, 0.25, 0.25])
    assert facts["model"] == "tiny-untrained"


def test_neighbours(shell: Shell, index: Path) -> None:
    code, out, _ = shell("neighbours", index, "The *bank* [of] stone", "-k", "2", "--json")
    assert code == 0
    facts = json.loads(out)
    assert facts["word"] == "bank"
    assert facts["exact"] is True
    assert facts["static"] is None
    assert facts["neighbours"][0]["marked"] == "The *bank* [of] sand."
    assert len(facts["neighbours"]) == 2
    code, out, _ = shell("neighbours", index, "The *bank* [of] stone", "-k", "1")
    assert code == 0
    assert "The *bank* [of] sand." in out


def test_neighbours_beside_static_ones(shell: Shell, index: Path, tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text("bank 1 0\nmoney 9 1\nthe 0 1\n")
    arguments = ("neighbours", index, "A *bank*", "--vectors", tmp_path / "vectors.txt")
    static = json.loads(shell(*arguments, "--json")[1])["static"]
    assert [one["word"] for one in static] == ["money", "the"]
    assert "money 0.99, the 0.00" in shell(*arguments)[1]


def test_senses(shell: Shell, index: Path, corpus: Path) -> None:
    for source in ([index], [corpus, *TINY]):
        code, out, err = shell("senses", "bank", *source, "--clusters", "2", "--json")
        assert code == 0, err
        facts = json.loads(out)
        assert facts["occurrences"] == len(facts["points"]) == 2
        assert [one["size"] for one in facts["clusters"]] == [1, 1]
        assert facts["clusters"][0]["typical"][0]["sentence"] == "The bank [of] sand."
    code, out, _ = shell("senses", "bank", index, "--clusters", "1", "-o", index.parent / "m.svg")
    assert code == 0
    assert "The *bank* [of] sand." in out
    assert "<svg" in (index.parent / "m.svg").read_text()


def test_korean_senses(shell: Shell, corpus: Path) -> None:
    corpus.write_text("은행 에 갔다\n강가 은행 나무\n은행 창구\n", encoding="utf-8")
    code, out, _ = shell(
        "senses", "은행", corpus, *TINY, "-o", corpus.parent / "map.html", "--json"
    )
    assert code == 0
    assert json.loads(out)["occurrences"] == 3
    assert "*은행* 창구" in (corpus.parent / "map.html").read_text(encoding="utf-8")


def test_the_text_of_the_package(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    facts = json.loads(shell("neighbours", "demo", "A *bank* of sand", *TINY, "--json")[1])
    assert len(facts["neighbours"]) == 10
    facts = json.loads(shell("senses", "bank", "demo", *TINY, "--json")[1])
    assert facts["occurrences"] > 20
    # A folder with that name comes first.
    (tmp_path / "demo").mkdir()
    code, _, err = shell("neighbours", "demo", "A *bank*", *TINY)
    assert code == 2
    assert "is no index" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["neighbours", "INDEX", "no mark"], "expected one word between asterisks"),
        (["neighbours", "INDEX", "a *b*", "--faiss"], "holds no approximate index"),
        (["neighbours", "nowhere", "a *b*"], "nowhere: is no index"),
        (["senses", "sand", "INDEX"], "at least 2 occurrences of 'sand' in the text, found 1"),
        (["senses", "bank", "INDEX", "--clusters", "many"], "expected auto or a number, found"),
        (["senses", "bank", "INDEX", "-o", "map.gif"], "map.gif: expected a name that ends in"),
        (["senses", "bank", "nowhere.txt", *TINY], "nowhere.txt: no such file or folder"),
        (["index", "TEXT", "-o", "INDEX", *TINY], "exists already"),
        (["index", "TEXT", "-o", "new", *TINY, "--layer", "9"], "layers 0 to 2, found 9"),
    ],
)
def test_mistakes(shell: Shell, index: Path, arguments: list[str], message: str) -> None:
    places = {"INDEX": str(index), "TEXT": str(index.parent / "text.txt")}
    code, out, err = shell(*(places.get(word, word) for word in arguments))
    assert (code, out) == (2, "")
    assert message in err
