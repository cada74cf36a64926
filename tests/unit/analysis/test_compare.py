"""`elmo probe` and `elmo compare` on small made files, from the shell and from Python."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from elmokit.analysis.compare import PairData, SenseData, TagData, compare
from elmokit.analysis.probes.sense_text import Lemma, SenseInstance, SenseSentence
from elmokit.analysis.probes.static_words import StaticWords
from elmokit.analysis.probes.tagged_text import TaggedSentence
from elmokit.analysis.probes.word_pairs import WordInText, WordPair
from elmokit.baselines.static_vectors import StaticVectors
from elmokit.cli.main import run
from elmokit.errors import InputError
from unit.analysis.test_probe_sources import FakeTransformer

Shell = Callable[..., tuple[int, str, str]]

WORDS = {
    "the": "DET", "a": "DET", "cat": "NOUN", "bank": "NOUN", "은행": "NOUN", "sat": "VERB",
    "ran": "VERB",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests ask where figures go, and the tagger's are tested elsewhere."""
    from elmokit.analysis.probes import linear_tagger, pos

    def recipe() -> linear_tagger.LinearRecipe:
        return linear_tagger.LinearRecipe(least_steps=100)

    monkeypatch.setattr(pos, "LinearRecipe", recipe)


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    def call(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run([*map(str, arguments), *(["-m", "tiny-untrained"] if arguments else [])])
        out, err = capsys.readouterr()
        return code, out, err.replace(UNTRAINED, "")

    return call


UNTRAINED = (
    "elmo: note: 'tiny-untrained' has random weights, to try out the interface; "
    "load a trained model for real work\n"
)


def lines(file: Path, *records: dict[str, Any]) -> Path:
    file.write_text("\n".join(json.dumps(record) for record in records), encoding="utf-8")
    return file


@pytest.fixture
def tags(tmp_path: Path) -> Path:
    sentence = ["the", "cat", "sat", "a", "은행", "ran"]
    return lines(
        tmp_path / "tags.jsonl", {"tokens": sentence, "upos": [WORDS[word] for word in sentence]}
    )


@pytest.fixture
def senses(tmp_path: Path) -> Path:
    return lines(
        tmp_path / "eval_small.jsonl",
        *(
            {
                "tokens": ["the", "bank", word],
                "instances": [{"i": 1, "lemma": "bank", "pos": "NOUN", "keys": [key]}],
            }
            for word, key in (("sat", "bank%1"), ("ran", "bank%2"), ("ran", "bank%2"))
        ),
    )


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    return lines(
        tmp_path / "pairs.jsonl",
        *(
            {
                "sentence1": "the bank sat", "sentence2": f"the bank {word}", "label": label,
                "span1": [4, 8], "span2": [4, 8],
            }
            for word, label in (("sat", 1), ("ran", 0))
        ),
    )  # fmt: skip


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    rows = (f"{word} {' '.join(map(str, random.normal(size=8).round(3)))}" for word in WORDS)
    (tmp_path / "small.vec.txt").write_text("\n".join(rows), encoding="utf-8")
    return tmp_path / "small.vec.txt"


# elmo probe


def test_probe_pos_as_json(shell: Shell, tags: Path, vectors: Path) -> None:
    code, out, err = shell(
        "probe", "pos", "--train", tags, "--test", tags, "--vectors", vectors, "--json"
    )
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert (found["probe"], found["field"]) == ("pos", "upos")
    assert (found["train"], found["test"]) == (str(tags), str(tags))
    assert (found["tags"], found["tokens"]) == (3, 6)
    assert [row["layer"] for row in found["layers"]] == [0, 1, 2]
    assert all(0 <= row["accuracy"] <= 100 for row in found["layers"])
    assert [row["name"] for row in found["baselines"]] == ["most frequent tag", "small"]
    assert found["baselines"][0]["accuracy"] == 100


def test_probe_pos_prints_its_table(shell: Shell, tags: Path) -> None:
    code, out, err = shell(
        "probe", "pos", "--train", tags, "--dev", tags, "--test", tags,
        "--layer", 1, "--layer", "mix",
    )  # fmt: skip
    assert (code, err) == (0, "")
    title, head, *rows, mix = out.splitlines()
    assert title == ("upos accuracy (%) of a linear probe: 3 tags, 6 tokens of training, 6 of test")
    assert head.split() == ["dev", "test"]
    assert rows[0] == "most frequent tag  100.0  100.0"
    assert [row.rsplit(maxsplit=2)[0] for row in rows[1:]] == ["layer 1", "mix"]
    assert mix.startswith("mix: 0.") and mix.count(",") == 2


def test_probe_pos_of_the_other_tags(shell: Shell, tmp_path: Path) -> None:
    row = "\t".join(["1", "은행", "은행", "NOUN", "NNG", "_", "0", "root", "_", "_"])
    (tmp_path / "ko.conllu").write_text(f"# text = 은행\n{row}\n\n", encoding="utf-8")
    code, out, _ = shell(
        "probe", "pos", "--train", tmp_path / "ko.conllu", "--dev", tmp_path / "ko.conllu",
        "--field", "xpos", "--layer", 0, "--json",
    )  # fmt: skip
    found = json.loads(out)
    assert (code, found["field"], found["tags"]) == (0, "xpos", 1)
    assert [(row["layer"], row["accuracy"]) for row in found["layers"]] == [(0, 100)]


def test_probe_wsd(shell: Shell, senses: Path, tmp_path: Path) -> None:
    (tmp_path / "index.sense").write_text("bank%1:17:01:: 1 1 9\n", encoding="utf-8")
    arguments = ("probe", "wsd", "--train", senses, "--test", senses)
    code, out, err = shell(*arguments, "--prior", 0, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert (found["probe"], found["prior"], found["instances"]) == ("wsd", 0, 3)
    assert [(row["layer"], row["f1"]) for row in found["layers"]][1:] == [(1, 100), (2, 100)]
    assert found["layers"][2]["tests"] == {"small": 100}
    assert [row["name"] for row in found["baselines"]] == ["most frequent sense"]
    assert found["baselines"][0]["f1"] == pytest.approx(100 * 2 / 3)

    code, out, err = shell(*arguments, "--first-senses", tmp_path / "index.sense", "--layer", 2)
    assert (code, err) == (0, "")
    title, head, *rows = out.splitlines()
    assert "2 senses, prior" in title
    assert "3 words, 0 of them not in training (first sense in WordNet)" in title
    assert head.split() == ["small", "NOUN", "all", "all,", "no", "prior"]
    assert rows[0].split()[-4:] == ["66.7", "66.7", "66.7", "-"]
    assert [row[:10].strip() for row in rows] == ["most frequ", "first sens", "layer 2"]


def test_scores_are_drawn(
    shell: Shell, senses: Path, tags: Path, pairs: Path, tmp_path: Path
) -> None:
    probes = {
        "wsd": ("--train", senses, "--test", senses),
        "pos": ("--train", tags, "--test", tags),
        "wic": ("--train", pairs, "--dev", pairs),
    }
    for probe, files in probes.items():
        picture = tmp_path / f"{probe}.svg"
        code, out, err = shell("probe", probe, *files, "-o", picture, "--json")
        assert (code, err) == (0, "")
        drawn = picture.read_text(encoding="utf-8")
        for row in json.loads(out)["layers"]:
            assert f">layer {row['layer']}</text>" in drawn
            assert f">{row.get('accuracy', row.get('f1')):.1f}</text>" in drawn
    code, _, err = shell(
        "compare", "--wic-train", pairs, "--wic-dev", pairs, "-o", tmp_path / "c.svg"
    )
    assert (code, err) == (0, "")
    assert ">WiC accuracy</text>" in (tmp_path / "c.svg").read_text(encoding="utf-8")
    code, _, err = shell("probe", "wic", "-o", tmp_path / "wic.gif")
    assert code == 2
    assert "wic.gif: expected a name that ends in .png, .svg or .html" in err


def test_probe_wic(shell: Shell, pairs: Path, vectors: Path) -> None:
    arguments = ("probe", "wic", "--train", pairs, "--dev", pairs)
    code, out, err = shell(*arguments, "--vectors", f"my=own={vectors}")
    assert code == 2 and "own=" in err, "only the first = parts the name from the file"
    code, out, err = shell(*arguments, "--vectors", f"mine={vectors}", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert [(row["layer"], row["accuracy"]) for row in found["layers"]] == [
        (0, 50), (1, 100), (2, 100),
    ]  # fmt: skip
    assert [(row["name"], row["accuracy"]) for row in found["baselines"]] == [
        ("most frequent answer", 50),
        ("mine", 50),
    ]
    code, out, err = shell(*arguments, "--layer", 2)
    assert (code, err) == (0, "")
    assert out.splitlines()[-1].split()[:4] == ["layer", "2", "100.0", "100.0"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("probe", "pos"), "--train: expected a CoNLL-U file or JSON lines with tags; no data"),
        (("probe", "pos", "--train", "x"), "--test: expected a CoNLL-U file"),
        (("probe", "pos", "--train", "none", "--test", "none"), "none: cannot be read"),
        (("probe", "pos", "--layer", "-1"), "layer: expected a layer's number"),
        (("probe", "pos", "--field", "lemma"), "field: expected 'upos' or 'xpos', found 'lemma'"),
        (("probe", "wsd"), "--train: expected JSON lines with senses, such as SemCor; no data"),
        (("probe", "wic"), "--train: expected JSON lines with pairs of sentences; no data"),
        (("compare",), "expected data of at least one probe; no data come with elmokit"),
        (("compare", "--pos-test", "x"), "--pos-train: expected CoNLL-U or JSON lines"),
        (("compare", "--wic-train", "x"), "--wic-dev: expected JSON lines with pairs"),
    ],
)
def test_what_is_missing_is_said(shell: Shell, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = shell(*arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_missing_tests_and_wrong_layers(shell: Shell, senses: Path) -> None:
    code, _, err = shell("probe", "wsd", "--train", senses)
    assert code == 2 and "--test: expected JSON lines with senses to find" in err
    code, _, err = shell("probe", "wsd", "--train", senses, "--test", senses, "--layer", 3)
    assert code == 2 and "layer: this model has layers 0 to 2, found 3" in err


# elmo compare


def test_compare_as_json(
    shell: Shell,
    tags: Path,
    senses: Path,
    pairs: Path,
    vectors: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    library = ModuleType("sentence_transformers")
    library.SentenceTransformer = lambda name, device: FakeTransformer()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    code, out, err = shell(
        "compare", "--pos-train", tags, "--pos-test", tags, "--wsd-train", senses,
        "--wsd-test", senses, "--wic-train", pairs, "--wic-dev", pairs,
        "--vectors", f"벡터={vectors}", "--transformer", "fake=folder", "--json",
    )  # fmt: skip
    assert (code, err) == (0, "")
    rows = json.loads(out)["rows"]
    assert [(row["name"], row.get("layer")) for row in rows] == [
        ("most frequent tag", None), ("most frequent sense", None), ("most frequent answer", None),
        ("벡터", None), ("tiny-untrained", 0), ("tiny-untrained", 1), ("tiny-untrained", 2),
        ("fake", None),
    ]  # fmt: skip
    assert rows[0].keys() == {"name", "pos"}
    for row in rows[3:]:
        assert row.keys() - {"layer"} == {"name", "pos", "wsd", "wsd_neighbour", "wic"}
    assert [row["wic"] for row in rows[3:]] == [50, 50, 100, 100, 50]


def test_compare_prints_the_probes_that_have_data(shell: Shell, pairs: Path, vectors: Path) -> None:
    code, out, err = shell(
        "compare", "--wic-train", pairs, "--wic-dev", pairs, "--vectors", f"벡터={vectors}",
        "--layer", 2,
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert out.splitlines()[1:] == [
        "                         WiC accuracy",
        "most frequent answer             50.0",
        "벡터                             50.0",
        "tiny-untrained, layer 2         100.0",
    ]


def test_compare_gives_each_probe_its_own_figures() -> None:
    table = StaticVectors(tuple(WORDS), np.random.default_rng(3).normal(size=(len(WORDS), 8)))
    source = StaticWords(table, name="static")
    tagged = [TaggedSentence(tuple(WORDS), tuple(WORDS.values()))]
    bank = Lemma("bank", "NOUN")
    sensed = [SenseSentence(("bank",), (SenseInstance(0, bank, ("bank%1",)),))]
    use = WordInText(("bank",), 0, 0)
    paired = [WordPair((use, use), True)]
    rows = compare(
        [source],
        pos=TagData(tagged, tagged[:1]),
        wsd=SenseData(sensed, {"one": sensed}, {bank: "bank%2"}),
        wic=PairData(paired, [*paired, WordPair((use, use), False)]),
    )
    assert [(row.name, row.figures) for row in rows[:4]] == [
        ("most frequent tag", {"pos": 100}),
        ("most frequent sense", {"wsd": 100, "wsd_neighbour": 100}),
        ("first sense in WordNet", {"wsd": 0, "wsd_neighbour": 0}),
        ("most frequent answer", {"wic": 50}),
    ]
    assert rows[4].name == "static"
    assert rows[4].figures == {"pos": 100, "wsd": 100, "wsd_neighbour": 100, "wic": 50}


def test_compare_needs_data_and_names() -> None:
    with pytest.raises(InputError, match="expected those of at least one probe"):
        compare([])
    source = StaticWords(StaticVectors(["a"], np.ones((1, 2))), name="same")
    paired = [WordPair((WordInText(("a",), 0, 0), WordInText(("a",), 0, 0)), True)]
    with pytest.raises(InputError, match="a different one for each source, found 'same' twice"):
        compare([source, source], wic=PairData(paired, paired))
