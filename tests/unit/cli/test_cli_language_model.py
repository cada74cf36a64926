"""`elmo evaluate`, `elmo score` and `elmo substitutes` from the shell."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import elmokit
from elmokit.config import CharacterConfig, ModelConfig
from elmokit.formats import bilm_hdf5, native
from elmokit.formats.checkpoint import Checkpoint
from elmokit.pretrained.untrained import untrained_checkpoint
from elmokit.text.vocabulary import Vocabulary
from unit.corpus.packed_text import COMPRESSIONS, each_compression

Shell = Callable[..., tuple[int, str, str]]

WORDS = ("<S>", "</S>", "<UNK>", "the", ".", "cat", "dog", "sat", "on", "mat")


@pytest.fixture(scope="session")
def predicting() -> Checkpoint:
    config = ModelConfig(
        characters=CharacterConfig(filters=((1, 4), (2, 8)), embedding_dim=4, highway_layers=1),
        lstm_dim=16,
        projection_dim=8,
        softmax_size=len(WORDS),
    )
    made = untrained_checkpoint(config, scale=2.0, vocabulary=Vocabulary(WORDS))
    return replace(made, metadata={"name": "predicting"})


@pytest.fixture
def lm_model(predicting: Checkpoint, tmp_path: Path) -> Path:
    """A native folder of a model with a softmax."""
    native.write(predicting, tmp_path / "lm")
    return tmp_path / "lm"


@pytest.fixture
def lm_text(tmp_path: Path) -> Path:
    """Three sentences in two documents, one unknown word among ten."""
    path = tmp_path / "lm.txt"
    path.write_text("The cat sat.\nthe dog\n\non the mat.\n", encoding="utf-8")
    return path


def lines(out: str) -> list[list[str]]:
    return [line.split() for line in out.splitlines()]


# evaluate


def test_evaluate_gives_its_figures_as_json(shell: Shell, lm_model: Path, lm_text: Path) -> None:
    code, out, err = shell("evaluate", lm_model, lm_text, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["model"] == str(lm_model)
    assert found["text"] == str(lm_text)
    assert (found["state"], found["start"]) == ("document", "warm")
    assert (found["documents"], found["sentences"]) == (2, 3)
    assert (found["words"], found["tokens"]) == (10, 13)
    assert found["oov_rate"] == pytest.approx(0.1)
    assert found["bytes"] == len("The cat sat.\nthe dog\non the mat.\n")
    both = math.sqrt(found["forward_perplexity"] * found["backward_perplexity"])
    assert found["perplexity"] == pytest.approx(both)
    assert found["bits_per_byte"] == pytest.approx(13 * math.log2(both) / found["bytes"])
    assert found["bits_per_word"] == pytest.approx(math.log2(both))


def test_evaluate_prints_what_the_json_says(shell: Shell, lm_model: Path, lm_text: Path) -> None:
    found = json.loads(shell("evaluate", lm_model, lm_text, "--json")[1])
    code, out, err = shell("evaluate", lm_model, lm_text)
    assert (code, err) == (0, "")
    rows = lines(out)
    assert rows[0] == ["forward", "backward", "both"]
    assert rows[1] == [
        "perplexity",
        *(
            f"{found[name]:.4f}"
            for name in ("forward_perplexity", "backward_perplexity", "perplexity")
        ),
    ]
    assert "13 predicted: 10 words and the marks of 3 sentences in 2 documents" in out
    assert "1 words unknown (10.00%)" in out
    assert "state carried: document, start: warm" in out


def test_evaluate_carries_and_starts_as_asked(shell: Shell, lm_model: Path, lm_text: Path) -> None:
    found = {
        (state, start): json.loads(
            shell("evaluate", lm_model, lm_text, "--state", state, "--start", start, "--json")[1]
        )["perplexity"]
        for state in ("document", "carry", "sentence")
        for start in ("warm", "zeros")
    }
    assert len({round(value, 9) for value in found.values()}) == 6


def test_evaluate_takes_tokenised_text(shell: Shell, lm_model: Path, tmp_path: Path) -> None:
    path = tmp_path / "tokens.txt"
    path.write_text("(the cat)\n", encoding="utf-8")
    raw, tokenised = (
        json.loads(shell("evaluate", lm_model, path, *more, "--json")[1])["words"]
        for more in ([], ["--tokenised"])
    )
    assert tokenised == 2
    assert raw != tokenised


@each_compression
def test_packed_text(shell: Shell, lm_model: Path, lm_text: Path, name: str) -> None:
    suffix, compress = COMPRESSIONS[name]
    packed = lm_text.with_suffix(suffix)
    packed.write_bytes(compress(lm_text.read_bytes()))
    perplexities, scores = (
        [json.loads(shell(*command, file, "--json")[1]) for file in (lm_text, packed)]
        for command in (["evaluate", lm_model], ["score", "-m", lm_model, "--file"])
    )
    assert perplexities[0]["perplexity"] == perplexities[1]["perplexity"]
    assert len(scores[0]["sentences"]) == 3
    assert scores[0] == scores[1]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--state", "page"], "state: expected one of document, carry, sentence, found 'page'"),
        (["--start", "carry"], "start: expected 'warm' or 'zeros', found 'carry'"),
        (["--batch-tokens", "0"], "batch_tokens: expected a whole number above 0, found 0"),
    ],
)
def test_evaluate_refuses_wrong_options(
    shell: Shell, lm_model: Path, lm_text: Path, more: list[str], message: str
) -> None:
    code, out, err = shell("evaluate", lm_model, lm_text, *more)
    assert (code, out) == (2, "")
    assert message in err


def test_evaluate_names_what_it_cannot_use(
    shell: Shell, lm_model: Path, model: Path, lm_text: Path, tmp_path: Path
) -> None:
    empty = tmp_path / "empty.txt"
    empty.touch()
    for arguments, message in (
        ([lm_model, tmp_path / "none.txt"], "none.txt: no such file"),
        ([lm_model, empty], "empty.txt: holds no sentence"),
        ([model, lm_text], "has no softmax"),
        ([tmp_path / "nowhere", lm_text], "nowhere: no such file or folder"),
    ):
        code, out, err = shell("evaluate", *arguments)
        assert (code, out) == (2, "")
        assert message in err


def test_evaluate_finds_the_words_of_a_softmax_where_they_are_said_to_be(
    shell: Shell, predicting: Checkpoint, lm_text: Path, tmp_path: Path
) -> None:
    bilm_hdf5.write(predicting, tmp_path / "bilm")
    (tmp_path / "bilm" / "vocab.txt").rename(tmp_path / "words.txt")
    code, _, err = shell("evaluate", tmp_path / "bilm", lm_text)
    assert code == 2
    assert "--vocabulary" in err
    code, out, _ = shell(
        "evaluate", tmp_path / "bilm", lm_text, "--vocabulary", tmp_path / "words.txt", "--json"
    )
    assert code == 0
    assert json.loads(out)["tokens"] == 13


# score


def test_score_puts_the_likeliest_first(shell: Shell, lm_model: Path) -> None:
    sentences = ["the cat sat.", "the unlisted", "on the mat"]
    code, out, err = shell("score", *sentences, "-m", lm_model, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)["sentences"]
    scores = elmokit.load(lm_model, device="cpu").score(sentences)
    order = sorted(range(3), key=lambda index: -scores[index].comparable_log_probability)
    assert [facts["index"] for facts in found] == order
    for facts in found:
        scored = scores[facts["index"]]
        assert facts["sentence"] == sentences[facts["index"]]
        assert facts["tokens"] == list(scored.tokens)
        assert facts["forward"] == list(scored.forward or ())
        assert facts["backward"] == list(scored.backward or ())
        assert facts["log_probability"] == scored.log_probability
        assert facts["perplexity"] == scored.perplexity
    _, out, _ = shell("score", *sentences, "-m", lm_model, "--json", "--in-order")
    assert [facts["index"] for facts in json.loads(out)["sentences"]] == [0, 1, 2]


def test_score_prints_a_line_a_sentence_and_a_line_a_token(shell: Shell, lm_model: Path) -> None:
    (scored,) = elmokit.load(lm_model, device="cpu").score(["the unlisted"])
    code, out, _ = shell("score", "the unlisted", "-m", lm_model, "--tokens")
    assert code == 0
    header, sentence, *tokens = lines(out)
    assert header == ["both", "forward", "backward", "perplexity", "log-probability", "of"]
    numbers = (
        scored.log_probability,
        scored.forward_log_probability,
        scored.backward_log_probability,
    )
    assert sentence[:3] == [f"{number:.3f}" for number in numbers]
    assert " ".join(sentence[4:]) == (
        "the unlisted (not in the vocabulary: unlisted; "
        f"ranked as {scored.comparable_log_probability:.3f})"
    )
    assert [" ".join(row[4:]) for row in tokens] == [
        "the",
        "unlisted (not in the vocabulary)",
        "</S> <S>",
    ]
    assert [row[0] for row in tokens] == [f"{number:.3f}" for number in scored.forward or ()]
    assert [row[1] for row in tokens] == [f"{number:.3f}" for number in scored.backward or ()]


def test_score_in_one_direction(shell: Shell, lm_model: Path) -> None:
    _, out, _ = shell("score", "the cat", "-m", lm_model, "--direction", "forward", "--tokens")
    sentence, *tokens = lines(out)[1:]
    assert (sentence[0], sentence[2]) == ("-", "-")
    assert [row[1] for row in tokens] == ["-", "-", "-"]
    assert tokens[-1][-1] == "</S>"


def test_score_reads_a_file(shell: Shell, lm_model: Path, lm_text: Path) -> None:
    _, out, _ = shell("score", "-f", lm_text, "-m", lm_model, "--json", "--in-order")
    found = json.loads(out)["sentences"]
    assert [facts["sentence"] for facts in found] == ["The cat sat.", "the dog", "on the mat."]


def test_score_fills_a_gap_from_candidates(shell: Shell, lm_model: Path) -> None:
    arguments = ["score", "the ___ sat.", "-m", lm_model, "--candidates", "cat, dog,mat on the"]
    code, out, err = shell(*arguments, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)["candidates"]
    assert {facts["word"] for facts in found} == {"cat", "dog", "mat on the"}
    assert sum(facts["probability"] for facts in found) == pytest.approx(1)
    probabilities = [facts["probability"] for facts in found]
    assert probabilities == sorted(probabilities, reverse=True)
    _, out, _ = shell(*arguments)
    rows = lines(out)
    assert rows[0] == ["probability", "forward", "backward", "sentence", "word"]
    assert [" ".join(row[4:]) for row in rows[1:]] == [facts["word"] for facts in found]
    assert [row[0] for row in rows[1:]] == [f"{p:.4f}" for p in probabilities]
    _, tokenised, _ = shell(*arguments[:1], "the ___ sat .", *arguments[2:], "--tokenised")
    assert tokenised == out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "sentences: expected at least one, found none"),
        (["a ___", "b ___", "--candidates", "c"], "expected one sentence with a gap, found 2"),
        (["a", "--candidates", "c"], "expected one gap"),
        (["a ___", "--candidates", "c,,d"], "candidates: expected words, found an empty one"),
        (["a", "--direction", "up"], "direction: expected one of both, forward, backward"),
        (["a", "--file", "none.txt"], "none.txt: cannot be read"),
    ],
)
def test_score_refuses_what_it_cannot_use(
    shell: Shell, lm_model: Path, arguments: list[str], message: str
) -> None:
    code, out, err = shell("score", *arguments, "-m", lm_model)
    assert (code, out) == (2, "")
    assert message in err


# substitutes


def test_substitutes_gives_words_with_probabilities(shell: Shell, lm_model: Path) -> None:
    expected = elmokit.load(lm_model, device="cpu").substitutes("the ___ sat.", count=3)
    code, out, err = shell("substitutes", "the ___ sat.", "-m", lm_model, "-n", 3, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)["substitutes"]
    assert [(facts["word"], facts["probability"]) for facts in found] == [
        (substitute.word, substitute.probability) for substitute in expected
    ]
    _, out, _ = shell("substitutes", "the ___ sat.", "-m", lm_model, "-n", 3)
    assert [row[-1] for row in lines(out)[1:]] == [substitute.word for substitute in expected]


def test_substitutes_for_a_word(shell: Shell, lm_model: Path) -> None:
    of_word, of_gap, tokenised = (
        [
            facts["word"]
            for facts in json.loads(
                shell("substitutes", *arguments, "-m", lm_model, "-n", 3, "--json")[1]
            )["substitutes"]
            if facts["word"] != "cat"
        ]
        for arguments in (
            ["the cat sat.", "--word", "cat"],
            ["the ___ sat."],
            ["the ___ sat .", "--tokenised"],
        )
    )
    assert len(of_word) == 3
    assert of_gap == tokenised == of_word[: len(of_gap)]


def test_substitutes_passes_its_options_on(shell: Shell, lm_model: Path) -> None:
    elmo = elmokit.load(lm_model, device="cpu")
    for options, expected in (
        (["--no-rescore", "--prior", "0"], elmo.substitutes("the ___", rescore=False, prior=0)),
        (["--candidates", "cat,dog"], elmo.substitutes("the ___", candidates=["cat", "dog"])),
        (["--start", "zeros"], elmo.substitutes("the ___", start="zeros")),
    ):
        _, out, _ = shell("substitutes", "the ___", "-m", lm_model, *options, "--json")
        found = json.loads(out)["substitutes"]
        assert [facts["probability"] for facts in found] == [
            substitute.probability for substitute in expected
        ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["The bank"], "expected one gap"),
        (["The bank", "--word", "river"], "found 'river', which it has 0 times"),
        (["The ___", "--count", "0"], "count: expected a whole number above 0, found 0"),
        (["The ___", "--start", "carry"], "start: expected 'warm' or 'zeros'"),
    ],
)
def test_substitutes_refuses_what_it_cannot_use(
    shell: Shell, lm_model: Path, arguments: list[str], message: str
) -> None:
    code, out, err = shell("substitutes", *arguments, "-m", lm_model)
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize("command", ["evaluate", "score", "substitutes"])
def test_help_and_json(shell: Shell, command: str) -> None:
    code, out, err = shell(command, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"Usage: elmo {command}")
    assert "--json" in out
