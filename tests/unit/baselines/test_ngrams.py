"""N-gram models from text to disk, and beside a biLM."""

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from elmokit.baselines.arpa import write_arpa
from elmokit.baselines.corpus_text import opened_corpus
from elmokit.baselines.ngram_compare import compare_phrases, compare_text
from elmokit.baselines.ngram_evaluate import evaluate_ngrams
from elmokit.baselines.ngram_folder import load_ngrams, save_ngrams
from elmokit.baselines.ngram_train import numbered_items, train_ngrams
from elmokit.corpus.prepare import prepare
from elmokit.embed.elmo import Elmo
from elmokit.errors import FormatError, InputError
from elmokit.lm.evaluate import evaluate
from elmokit.lm.text_file import read_text
from elmokit.text.tokenise import WordTokeniser
from elmokit.text.vocabulary import Vocabulary
from unit.baselines.slow_kneser_ney import SlowKneserNey

HELD_OUT = "the blick ate grass\nthe tove sleeps\n\n밤마다 요괴 를 만났다\nthe grass ate never\n"


def words_of(file: Path) -> list[list[str]]:
    return [WordTokeniser().words(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_items_have_both_marks_and_the_vocabularys_own_ids(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("a b\nc\n\nb b\n")
    vocabulary = Vocabulary(["b", "</S>", "a", "<UNK>", "<S>"])
    with opened_corpus([tmp_path / "text.txt"]) as corpus:
        items = numbered_items(corpus, vocabulary)
    found = " ".join(vocabulary.words[item] for item in items)
    assert found == "<S> a b </S> <S> <UNK> </S> <S> b b </S>"


def test_a_model_of_a_text_is_that_of_the_formulas(text: Path) -> None:
    model = train_ngrams([text], order=3, vocabulary_size=16)
    assert len(model.vocabulary) == 16
    counts = Counter(word for sentence in words_of(text) for word in sentence)
    least = min(counts[word] for word in model.vocabulary.words[3:])
    assert all(count <= least for word, count in counts.items() if word not in model.vocabulary)
    slow = SlowKneserNey(words_of(text), set(model.vocabulary.words), 3)
    for sentence in words_of(text)[:20]:
        items = tuple(model.vocabulary.words[item] for item in model.items([sentence]))
        expected = [
            math.log(slow.probability(items[place], items[:place]))
            for place in range(1, len(items))
        ]
        found = model.score([sentence])[0].log_probabilities
        assert found == pytest.approx(expected, abs=1e-6)  # float32, as in test_kneser_ney


def test_a_prepared_corpus_gives_the_same_model(tmp_path: Path, text: Path) -> None:
    prepare(text, tmp_path / "prepared", held_out=0)
    one = train_ngrams([text], order=3)
    two = train_ngrams([tmp_path / "prepared"], order=3)
    assert one.vocabulary == two.vocabulary
    assert np.array_equal(one.levels[2].probabilities, two.levels[2].probabilities)
    with pytest.raises(InputError, match="was prepared with 'words', expected 'whitespace'"):
        train_ngrams([tmp_path / "prepared"], tokeniser="whitespace")


def test_a_corpus_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.txt: no such file or folder"):
        train_ngrams([tmp_path / "none.txt"])
    with pytest.raises(InputError, match="vocabulary_size: expected more than 3 marks, found 3"):
        train_ngrams([tmp_path / "none.txt"], vocabulary_size=3)


def test_saved_and_opened(tmp_path: Path, text: Path) -> None:
    model = train_ngrams([text], order=4, vocabulary_size=20)
    save_ngrams(model, tmp_path / "model")
    again = load_ngrams(tmp_path / "model")
    assert again.vocabulary == model.vocabulary
    assert again.discounts == model.discounts
    assert again.tokeniser == "words"
    for one, two in zip(model.levels, again.levels, strict=True):
        assert np.array_equal(one.keys, two.keys)
        assert np.array_equal(one.probabilities, two.probabilities)
        assert np.array_equal(one.backoffs, two.backoffs)
    assert isinstance(again.levels[3].probabilities, np.memmap)
    with pytest.raises(InputError, match="exists already"):
        save_ngrams(model, tmp_path / "model")
    save_ngrams(model, tmp_path / "model", overwrite=True)


def test_damaged_models(tmp_path: Path, text: Path) -> None:
    folder = tmp_path / "model"
    with pytest.raises(InputError, match=r"model: no n-gram model, .*elmo ngram train"):
        load_ngrams(folder)
    model = train_ngrams([text], order=3, vocabulary_size=20)
    save_ngrams(model, folder)
    np.save(folder / "keys-2.npy", np.arange(7))
    with pytest.raises(FormatError, match=r"keys-2\.npy: wrong content: .*found int64 \(7,\)"):
        load_ngrams(folder)
    save_ngrams(model, folder, overwrite=True)
    (folder / "words.txt").write_text("a\n" * 20)
    with pytest.raises(FormatError, match=r"words\.txt: damaged"):
        load_ngrams(folder)
    save_ngrams(model, folder, overwrite=True)
    (folder / "probabilities-1.npy").unlink()
    with pytest.raises(FormatError, match=r"probabilities-1\.npy: cannot be read"):
        load_ngrams(folder)
    save_ngrams(model, folder, overwrite=True)
    facts = json.loads((folder / "ngram.json").read_text())
    (folder / "ngram.json").write_text(json.dumps(facts | {"format_version": 9}))
    with pytest.raises(FormatError, match=r"unknown version of the format .*found 9"):
        load_ngrams(folder)


def read_arpa(file: Path) -> dict[str, tuple[float, float]]:
    """Read n-grams as kenlm does: log10 of probability and back-off, parted by tabs."""
    found = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        fields = line.split("\t")
        if len(fields) > 1:
            found[fields[1]] = (float(fields[0]), float(fields[2]) if len(fields) > 2 else 0.0)
    return found


def test_arpa_says_the_same(tmp_path: Path, text: Path) -> None:
    model = train_ngrams([text], order=3, vocabulary_size=20)
    write_arpa(model, tmp_path / "model.arpa")
    content = (tmp_path / "model.arpa").read_text(encoding="utf-8")
    sizes = "".join(f"ngram {n}={c}\n" for n, c in enumerate(model.ngram_counts, start=1))
    assert content.startswith(f"\\data\\\n{sizes}\n\\1-grams:\n")
    assert content.endswith("\n\\end\\\n")
    table = read_arpa(tmp_path / "model.arpa")
    assert len(table) == sum(model.ngram_counts)
    assert table["<s>"][0] == -99

    def backed_off(words: list[str]) -> float:
        if " ".join(words) in table:
            return table[" ".join(words)][0]
        return table.get(" ".join(words[:-1]), (0, 0.0))[1] + backed_off(words[1:])

    usual = {"<S>": "<s>", "</S>": "</s>", "<UNK>": "<unk>"}
    for sentence in [["the", "tove", "ate"], ["ate", "the"], ["밤마다", "요괴"], ["unheard"]]:
        items = [usual.get(model.vocabulary.words[i], model.vocabulary.words[i])
                 for i in model.items([sentence])]  # fmt: skip
        found = model.score([sentence])[0].log_probabilities / math.log(10)
        expected = [backed_off(items[max(end - 3, 0) : end]) for end in range(2, len(items) + 1)]
        assert found == pytest.approx(expected, abs=1e-5)  # seven digits are written


def test_figures_of_a_text_are_counted_as_for_a_bilm(
    tmp_path: Path, text: Path, bilm: Elmo
) -> None:
    (tmp_path / "held_out.txt").write_text(HELD_OUT, encoding="utf-8")
    vocabulary = bilm.language_model.vocabulary
    model = train_ngrams([text], order=3, vocabulary=vocabulary)
    read = read_text(
        tmp_path / "held_out.txt", tokenise=WordTokeniser().words, marks=vocabulary.marks
    )
    found, by_bilm = evaluate_ngrams(model, read), evaluate(bilm.language_model, read)
    for name in ("documents", "sentences", "words", "tokens", "unknown_words", "oov_rate", "bytes"):
        assert getattr(found, name) == getattr(by_bilm, name), name
    slow = SlowKneserNey(words_of(text), set(vocabulary.words), 3)
    losses = []
    for line in HELD_OUT.splitlines():
        words = [w if w in vocabulary else "<UNK>" for w in WordTokeniser().words(line)]
        items = ("<S>", *words, "</S>")
        losses += [
            -math.log(slow.probability(items[place], items[:place]))
            for place in range(1, len(items)) if words
        ]  # fmt: skip
    assert len(losses) == found.tokens
    assert found.perplexity == pytest.approx(math.exp(sum(losses) / len(losses)), rel=1e-5)
    assert found.bits_per_byte == pytest.approx(sum(losses) / math.log(2) / found.bytes, rel=1e-5)
    assert sum(found.found_orders) == pytest.approx(1)
    assert len(found.found_orders) == 3


def test_a_text_under_both_models(tmp_path: Path, text: Path, bilm: Elmo) -> None:
    (tmp_path / "held_out.txt").write_text(HELD_OUT, encoding="utf-8")
    model = train_ngrams([text], order=3, vocabulary=bilm.language_model.vocabulary)
    read = read_text(
        tmp_path / "held_out.txt", tokenise=WordTokeniser().words, marks=bilm.config.marks
    )
    done: list[int] = []
    found = compare_text(model, bilm.language_model, read, advance=done.append)
    assert sum(done) == 2 * read.tokens
    assert found.ngram == evaluate_ngrams(model, read)
    for state, perplexity in (
        ("document", found.bilm_perplexity),
        ("sentence", found.bilm_sentence_perplexity),
    ):
        expected = evaluate(bilm.language_model, read, state=state)  # type: ignore[arg-type]
        assert perplexity == pytest.approx(expected.forward_perplexity, rel=1e-9)
    assert found.ratio == found.bilm_perplexity / found.ngram.perplexity


def test_phrases_under_both_models(text: Path, bilm: Elmo) -> None:
    model = train_ngrams([text], order=3, vocabulary=bilm.language_model.vocabulary)
    phrases = ["the blick ate", "the 도깨비"]
    first, second = compare_phrases(
        model, bilm.language_model, phrases, tokenise=WordTokeniser().words
    )
    scored = bilm.score([["the", "blick", "ate"]], direction="forward")[0]
    assert scored.forward is not None
    assert first.bilm_log10 == pytest.approx(sum(scored.forward[:3]) / math.log(10), rel=1e-9)
    by_hand = model.score([["the", "blick", "ate"]])[0].log_probabilities[:3].sum()
    assert first.ngram_log10 == pytest.approx(by_hand / math.log(10), rel=1e-12)
    assert first.orders == (2, 3, 3) and first.unknown == ()
    assert second.unknown == ("도깨비",)
    with pytest.raises(InputError, match="phrases: expected at least one word, found ' '"):
        compare_phrases(model, bilm.language_model, [" "], tokenise=WordTokeniser().words)


def test_models_of_other_words_are_not_compared(text: Path, bilm: Elmo) -> None:
    model = train_ngrams([text], order=2)
    with pytest.raises(InputError, match=r"the biLM 11, \d+ of them the same; .*--vocabulary-of"):
        compare_phrases(model, bilm.language_model, ["the"], tokenise=str.split)
