"""`elmo static` and `elmo ngram` in the shell, and training through gensim."""

import json
import sys
from pathlib import Path

import pytest

from elmokit.baselines.corpus_text import Sentences, opened_corpus
from elmokit.baselines.static_train import train_static
from elmokit.baselines.static_vectors import StaticVectors
from elmokit.errors import InputError, MissingExtraError
from elmokit.formats import native
from elmokit.formats.checkpoint import Checkpoint
from unit.baselines.conftest import Shell


def test_sentences_come_as_often_as_they_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "text.jsonl").write_text(
        '{"text": "Do n\'t go.\\n가지 마라."}\n{"text": "end"}\n', encoding="utf-8"
    )
    with opened_corpus([tmp_path / "text.jsonl"], field="text") as corpus:
        sentences = Sentences(corpus)
        expected = [["Do", "n't", "go", "."], ["가지", "마라", "."], ["end"]]
        assert list(sentences) == expected
        assert list(sentences) == expected
        monkeypatch.setattr(
            "elmokit.baselines.corpus_text.stream_pieces.__kwdefaults__", {"piece": 2}
        )
        assert list(sentences) == expected


@pytest.mark.parametrize("method", ["skipgram", "cbow", "fasttext"])
def test_gensim_learns_that_synonyms_are_alike(text: Path, method: str) -> None:
    arguments = {"dim": 16, "window": 3, "epochs": 30, "min_count": 5, "seed": 1}
    vectors = train_static([text], method=method, **arguments)  # type: ignore[arg-type]
    assert vectors.dim == 16
    assert "rare" not in vectors and "요괴" in vectors
    assert vectors.similarity("blick", "tove") > vectors.similarity("blick", "copper")
    assert vectors.similarity("도깨비", "요괴") > vectors.similarity("도깨비", "copper")
    again = train_static([text], method=method, **arguments)  # type: ignore[arg-type]
    assert (vectors.vectors == again.vectors).all()


def test_what_cannot_be_trained(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="min_count: no word of the corpus occurs 9999 times"):
        train_static([text], min_count=9999)
    with pytest.raises(InputError, match="dim: expected a whole number above 0, found 0"):
        train_static([text], dim=0)
    with pytest.raises(InputError, match=r"method: expected one of skipgram, .*found 'lsa'"):
        train_static([text], method="lsa")  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(MissingExtraError, match=r'pip install "elmokit\[static\]"'):
        train_static([text])


def test_static_vectors_in_the_shell(shell: Shell, tmp_path: Path, text: Path) -> None:
    file = tmp_path / "vectors.txt.xz"
    train = ["static", "train", text, "-o", file, "--method", "glove", "--dim", "10"]
    code, out, err = shell(*train, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["dim"] == 10
    assert json.loads(out)["words"] == len(StaticVectors.load(file))
    code, _, err = shell(*train)
    assert code == 2 and "exists already" in err
    code, out, _ = shell("static", "neighbours", file, "blick", "도깨비", "-k", 2)
    assert code == 0
    assert out.splitlines()[0] == "blick" and out.splitlines()[1].endswith("  tove")
    code, out, _ = shell("static", "neighbours", file, "도깨비", "-k", 1, "--json")
    assert json.loads(out)["neighbours"]["도깨비"][0]["word"] == "요괴"
    code, _, err = shell("static", "neighbours", file, "unheard")
    assert code == 2 and "'unheard' is not among" in err
    code, out, _ = shell("static", "analogy", file, "blick", "copper", "iron", "--json")
    assert json.loads(out)["answers"][0]["word"] == "tove"
    code, out, _ = shell("static", "analogy", file, "blick", "copper", "iron", "-k", 1)
    assert out.splitlines()[0] == "blick - copper + iron"


def test_static_evaluation_in_the_shell(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("a 1 0\nb 0 1\nc 1 1\nd 0.1 1\n")
    (tmp_path / "questions.txt").write_text(": one\na c b d\n: two\na b c x\n")
    (tmp_path / "pairs.txt").write_text("b d 9\na c 5\na b 1\n")
    files = ["--analogies", tmp_path / "questions.txt", "--pairs", tmp_path / "pairs.txt"]
    code, out, _ = shell("static", "evaluate", tmp_path / "v.txt", *files, "--json")
    facts = json.loads(out)
    assert code == 0
    assert facts["analogies"]["answered"] == 1 and facts["analogies"]["left_out"] == 1
    assert facts["analogies"]["accuracy"] == 1.0
    assert facts["pairs"]["spearman"] == pytest.approx(1)
    code, out, _ = shell("static", "evaluate", tmp_path / "v.txt", *files)
    assert "100.0%         1         0  one" in out and "-         0         1  two" in out
    assert "100.0%         1         1  all" in out and "on 3 pairs (0 left out)" in out
    code, _, err = shell("static", "evaluate", tmp_path / "v.txt")
    assert code == 2 and "--analogies FILE" in err


def test_pairs_in_the_shell(shell: Shell) -> None:
    fox = "The quick brown fox jumps over the lazy dog"
    code, out, _ = shell("static", "pairs", fox, "--window", 1)
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "skip-gram: the centre predicts each word around it, 16 samples"
    assert lines[3].split("   ")[-1] == "(quick, The)  (quick, brown)"
    assert any(line.endswith("   quick fox -> brown") for line in lines)
    code, out, _ = shell("static", "pairs", "강가에 앉아 쉬었다", "--json", "--window", 1)
    facts = json.loads(out)
    assert facts["skipgram"][1] == {"centre": "앉아", "context": "강가에"}
    assert facts["cbow"][1] == {"context": ["강가에", "쉬었다"], "centre": "앉아"}


def test_wide_letters_take_two_columns(shell: Shell) -> None:
    from rich.cells import cell_len

    _, out, _ = shell("static", "pairs", "강가에 a 쉬었다 b", "--window", 1)
    lines = [line for line in out.splitlines() if line.startswith(" ") and "(" in line]
    assert len({cell_len(line.split("[")[0]) for line in lines}) == 1
    assert len({cell_len(line.split("(")[0]) for line in lines}) == 1


def test_ngrams_in_the_shell(
    shell: Shell, tmp_path: Path, text: Path, checkpoint: Checkpoint
) -> None:
    native.write(checkpoint, tmp_path / "bilm")
    model, arpa = tmp_path / "ngrams", tmp_path / "ngrams.arpa"
    train = ["ngram", "train", text, "-o", model, "--order", 3]
    code, out, err = shell(*train, "--vocabulary-of", tmp_path / "bilm", "--arpa", arpa, "--json")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert facts["vocabulary_size"] == facts["ngrams"][0] == 11
    assert f"ngram 3={facts['ngrams'][2]}" in arpa.read_text(encoding="utf-8")
    code, _, err = shell(*train)
    assert code == 2 and "exists already" in err
    code, out, _ = shell("ngram", "evaluate", model, text, "--json")
    evaluated = json.loads(out)
    assert code == 0 and evaluated["order"] == 3 and evaluated["perplexity"] > 1
    code, out, _ = shell("ngram", "evaluate", model, text)
    assert f"{evaluated['perplexity']:.4f}" in out
    compare = ["ngram", "compare", model, text, "--bilm", tmp_path / "bilm", "--phrase"]
    code, out, _ = shell(*compare, "the tove", "--json")
    compared = json.loads(out)
    assert code == 0
    assert compared["comparison"]["ngram"]["perplexity"] == evaluated["perplexity"]
    assert [each["phrase"] for each in compared["phrases"]] == ["the tove"]
    code, out, _ = shell(*compare, "요괴 도깨비")
    assert "3-gram model" in out and "요괴 도깨비  (not in the vocabulary: 도깨비)" in out


def test_ngrams_of_other_words_are_refused(
    shell: Shell, tmp_path: Path, text: Path, checkpoint: Checkpoint
) -> None:
    native.write(checkpoint, tmp_path / "bilm")
    code, out, _ = shell("ngram", "train", text, "-o", tmp_path / "ngrams", "--order", 2)
    assert code == 0 and "saved to" in out
    code, _, err = shell("ngram", "compare", tmp_path / "ngrams", "--bilm", tmp_path / "bilm")
    assert code == 2 and "--vocabulary-of" in err
    code, _, err = shell("ngram", "evaluate", tmp_path / "none", text)
    assert code == 2 and "no n-gram model" in err
