"""Reading what the probes read: right files, and wrong ones that say what is wrong."""

import json
import lzma
from pathlib import Path

import numpy as np
import pytest

from elmokit.analysis.probes.first_senses import read_first_senses
from elmokit.analysis.probes.sense_text import Lemma, SenseInstance, SenseSentence, read_senses
from elmokit.analysis.probes.static_words import StaticWords
from elmokit.analysis.probes.tagged_text import TaggedSentence, checked_tag_field, read_tagged
from elmokit.analysis.probes.word_pairs import WordInText, read_pairs
from elmokit.baselines.static_vectors import StaticVectors
from elmokit.errors import FormatError, InputError

CONLLU = """\
# sent_id = 1
# text = It's a play
1-2\tIt's\t_\t_\t_\t_\t_\t_\t_\t_
1\tIt\tit\tPRON\tPRP\t_\t4\tnsubj\t_\t_
2\t's\tbe\tAUX\tVBZ\t_\t4\tcop\t_\t_
3\ta\ta\tDET\tDT\t_\t4\tdet\t_\t_
3.1\tnew\tnew\tADJ\tJJ\t_\t_\t_\t_\t_
4\tplay\tplay\tNOUN\t_\t_\t0\troot\t_\t_

# text = 제일 가까운
1\t제일\t제일\tADV\tNNG\t_\t2\tadvmod\t_\t_
2\t가까운\t가깝+ㄴ\tADJ\tVA+ETM\t_\t0\troot\t_\t_
"""


def written(folder: Path, text: str, name: str = "data") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_conllu_gives_words_and_tags(tmp_path: Path) -> None:
    file = written(tmp_path, CONLLU)
    assert read_tagged(file) == [
        TaggedSentence(("It", "'s", "a", "play"), ("PRON", "AUX", "DET", "NOUN")),
        TaggedSentence(("제일", "가까운"), ("ADV", "ADJ")),
    ]
    fine = read_tagged(file, field="xpos")
    assert fine[0].tags == ("PRP", "VBZ", "DT", None), "an underscore is no tag"
    assert fine[1].tags == ("NNG", "VA+ETM")


def test_json_lines_give_the_same_also_packed(tmp_path: Path) -> None:
    lines = [
        {"tokens": ["It", "'s"], "upos": ["PRON", "AUX"], "xpos": ["PRP", "_"]},
        {"tokens": ["제일"], "upos": ["ADV"], "xpos": ["NNG"]},
    ]
    file = tmp_path / "tags.jsonl.xz"
    text = "\n\n".join(json.dumps(line) for line in lines)
    file.write_bytes(lzma.compress(text.encode()))
    assert read_tagged(file) == [
        TaggedSentence(("It", "'s"), ("PRON", "AUX")),
        TaggedSentence(("제일",), ("ADV",)),
    ]
    assert read_tagged(file, field="xpos")[0].tags == ("PRP", None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "data: holds no data"),
        ("# only a comment\n", "data: holds no sentence"),
        ("\nThe play began .\n", "line 2: expected 10 columns of CoNLL-U .* found 1 in 'The play"),
        ("x\tIt" + "\t_" * 8, "line 1: expected a word's number, found 'x'"),
        ("1\t \t" + "_\t" * 7 + "_", "line 1: expected a word, found ' '"),
        ("1\tIt" + "\t_" * 8, "no tag in the field 'upos'"),
        ('{"tokens": ["a"], "upos": []}', "line 1: key 'upos': expected a list of strings"),
        ('{"tokens": ["a"], "upos": ["X", "Y"]}', "line 1: expected 1 tags in 'upos', found 2"),
        ('{"tokens": ["a"], "tag": ["X"]}', "line 1: key 'upos' is missing; found 'tokens', 'tag'"),
        ('{"tokens": [3], "upos": ["X"]}', r"line 1: key 'tokens': .* found \[3\]"),
        ('{"tokens": ["a"]\n', "line 1: is no JSON"),
    ],
)
def test_wrong_tags_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_tagged(written(tmp_path, text))


def test_a_missing_file_and_a_wrong_field_are_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"none\.conllu: cannot be read"):
        read_tagged(tmp_path / "none.conllu")
    with pytest.raises(InputError, match="field: expected 'upos' or 'xpos', found 'lemma'"):
        checked_tag_field("lemma")
    assert (checked_tag_field("upos"), checked_tag_field("xpos")) == ("upos", "xpos")


def test_senses_are_read_and_sentences_without_any_left_out(tmp_path: Path) -> None:
    instance = {"i": 1, "lemma": "play", "pos": "NOUN", "keys": ["play%1", "play%2"]}
    lines = [
        {"tokens": ["a", "play"], "instances": [instance]},
        {"tokens": ["nothing"], "instances": []},
    ]
    file = written(tmp_path, "\n".join(map(json.dumps, lines)))
    found = SenseInstance(1, Lemma("play", "NOUN"), ("play%1", "play%2"))
    assert read_senses(file) == [SenseSentence(("a", "play"), (found,))]


@pytest.mark.parametrize(
    ("instances", "message"),
    [
        (None, "key 'instances': expected a list of objects, found None"),
        (["play"], "instances: expected objects, found 'play'"),
        ([{"i": 2, "lemma": "a", "pos": "X", "keys": ["k"]}], "'i' from 0 to 1, found 2"),
        ([{"i": True, "lemma": "a", "pos": "X", "keys": ["k"]}], "'i' from 0 to 1, found True"),
        ([{"i": 0, "pos": "X", "keys": ["k"]}], "key 'lemma' is missing; found 'i', 'pos', 'keys'"),
        ([{"i": 0, "lemma": "a", "pos": "", "keys": ["k"]}], "key 'pos': expected a text"),
        ([{"i": 0, "lemma": "a", "pos": "X", "keys": []}], "key 'keys': expected a list"),
        ([], "holds no word with a sense"),
    ],
)
def test_wrong_senses_are_named(tmp_path: Path, instances: object, message: str) -> None:
    file = written(tmp_path, json.dumps({"tokens": ["a", "play"], "instances": instances}))
    with pytest.raises(FormatError, match=message):
        read_senses(file)


def pair(**changes: object) -> str:
    fields = {
        "word": "play",
        "sentence1": "A play's end.",
        "sentence2": "첫 play!",
        "span1": [2, 6],
        "span2": [2, 6],
        "label": 1,
    }
    return json.dumps(fields | changes)


def test_pairs_find_their_tokens(tmp_path: Path) -> None:
    file = written(tmp_path, pair() + "\n" + pair(label=False, span1=[2, 8]))
    first, second = read_pairs(file)
    assert first.uses == (
        WordInText(("A", "play", "'s", "end", "."), 1, 1),
        WordInText(("첫", "play", "!"), 1, 1),
    )
    assert first.same
    assert (second.uses[0].first, second.uses[0].last) == (1, 2), "a span of two tokens"
    assert not second.same


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label": 2}, "line 1: key 'label': expected 0 or 1, found 2"),
        ({"span1": [2, 99]}, r"key 'span1': expected \[start, end\] within 13 characters"),
        ({"span2": [3, 3]}, r"key 'span2': .* found \[3, 3\]"),
        ({"span2": [1, 2]}, r"key 'span2': no word at \[1, 2\] in '첫 play!'"),
        ({"sentence1": " "}, "key 'sentence1': expected a text, found ' '"),
    ],
)
def test_wrong_pairs_are_named(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_pairs(written(tmp_path, pair(**changes)))


def test_an_empty_file_of_pairs(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="holds no pair of sentences"):
        read_pairs(written(tmp_path, "\n"))


def test_first_senses_of_wordnet(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        "play%1:04:00:: 00041468 2 5\nplay%1:10:01:: 07007945 1 7\nplay%2:33:00:: 01072949 1 9\n"
        "peculiar%5:00:00:specific:00 01 1 2\n",
        "index.sense",
    )
    assert read_first_senses(file) == {
        Lemma("play", "NOUN"): "play%1:10:01::",
        Lemma("play", "VERB"): "play%2:33:00::",
        Lemma("peculiar", "ADJ"): "peculiar%5:00:00:specific:00",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("play n 2 5", "line 1: expected a sense key, an offset .* found 'play n 2 5'"),
        ("play%9:04:00:: 1 1 1", "line 1: expected a sense key"),
        ("play%1:04:00:: 1", "line 1: expected a sense key"),
        ("play%1:04:00:: 00041468 2 5", "holds no sense with the number 1"),
    ],
)
def test_wrong_first_senses_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_first_senses(written(tmp_path, text))


def test_static_words() -> None:
    static = StaticVectors(["the", "The", "은행"], np.array([[1.0, 2], [3, 4], [5, 6]]))
    words = StaticWords(static, name="mine")
    assert (words.name, words.layers, words.dim) == ("mine", (None,), 2)
    plain, term = words.vectors([["the", "The", "THE", "은행", "cat"], ["the 은행", "The"]])
    assert plain.tolist() == [[[1, 2], [3, 4], [1, 2], [5, 6], [0, 0]]]
    assert term.tolist() == [[[3, 4], [3, 4]]], "a term is the mean of its words"
