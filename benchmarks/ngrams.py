"""How much better than counting does a biLM predict? Perplexity of both on the same held-out text.

    elmo prepare DATA/en_wiki.train.0*.txt.xz DATA/en_books.train.txt.xz DATA/en_law.train.txt.xz \\
        DATA/en_misc.train.txt.xz -o PREPARED --valid DATA/en_wiki.valid.txt.xz
    elmo ngram train PREPARED -o NGRAMS --order 5 --vocabulary-of english-base
    python benchmarks/ngrams.py NGRAMS DATA/en_wiki.valid.txt.xz DATA/en_books.valid.txt.xz \\
        --most-tokens 60000 --output ngrams.md

The n-gram model predicts the whole of each text; the biLM, which takes a minute for some ten
thousand words on a CPU, the first whole documents of it, ``--most-tokens`` or a little more, and
there both are compared. Every word and every end mark counts, unknown words as one mark.
"""

import argparse
import os
import platform
import sys
import time
from pathlib import Path

import numpy as np
import torch

import elmokit
from elmokit.baselines.ngram_compare import (
    PHRASES,
    TextComparison,
    compare_phrases,
    compare_text,
)
from elmokit.baselines.ngram_evaluate import evaluate_ngrams
from elmokit.baselines.ngram_folder import load_ngrams
from elmokit.lm.numbered_text import NumberedText
from elmokit.lm.text_file import read_text


def first_documents(
    text: NumberedText, most_tokens: int | None, elmo: elmokit.Elmo
) -> NumberedText:
    """Give the first documents up to a number of tokens; the last one is kept whole."""
    if most_tokens is None:
        return text
    part = NumberedText(elmo.config.marks)
    for document in text.documents:
        words = [text.words[number] for number in document.words]
        ends = np.cumsum(document.lengths)
        part.add(
            [words[end - length : end] for end, length in zip(ends, document.lengths, strict=True)]
        )
        if part.tokens >= most_tokens:
            break
    return part


def row(name: str, whole: float, compared: TextComparison) -> str:
    ngrams = compared.ngram
    return (
        f"| {name} | {whole:.2f} | {ngrams.tokens:,} | {ngrams.oov_rate:.1%} "
        f"| {ngrams.perplexity:.2f} | {compared.bilm_sentence_perplexity:.2f} "
        f"({1 - compared.sentence_ratio:.0%} lower) | {compared.bilm_perplexity:.2f} "
        f"({1 - compared.ratio:.0%} lower) |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="an n-gram model beside a biLM")
    parser.add_argument("ngrams", type=Path, help="folder of elmo ngram train")
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("--model", default=None, help="the biLM; default: the bundled model")
    parser.add_argument("--most-tokens", type=int, default=None, help="default: all")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--output", type=Path, default=None)
    arguments = parser.parse_args()
    model = load_ngrams(arguments.ngrams)
    elmo = elmokit.load(arguments.model, device=arguments.device)
    lines = [
        f"- command: `python {' '.join(sys.argv)}`",
        f"- machine: {platform.machine()}, {os.cpu_count()} cores, device {elmo.device}; "
        f"Python {platform.python_version()}, torch {torch.__version__}, "
        f"numpy {np.__version__}, elmokit {elmokit.__version__}",
        f"- n-grams of orders 1 to {model.order}: "
        + ", ".join(f"{count:,}" for count in model.ngram_counts),
        "- discounts: "
        + "; ".join(" ".join(f"{v:.3f}" for v in d.values) for d in model.discounts),
        "",
        f"| text | {model.order}-gram, whole text | tokens of the part | unknown words "
        f"| {model.order}-gram | biLM, each sentence alone | biLM, with the document so far |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for file in arguments.texts:
        started = time.perf_counter()
        text = read_text(file, tokenise=elmo.tokeniser.words, marks=elmo.config.marks)
        whole = evaluate_ngrams(model, text)
        part = first_documents(text, arguments.most_tokens, elmo)
        lines.append(
            row(file.name, whole.perplexity, compare_text(model, elmo.language_model, part))
        )
        print(lines[-1], f"{time.perf_counter() - started:.0f} s", file=sys.stderr)
    lines += ["", "| phrase | n-gram, log10 p | biLM, log10 p | longest known n-grams | unknown |"]
    lines.append("| --- | --- | --- | --- | --- |")
    for each in compare_phrases(model, elmo.language_model, PHRASES, tokenise=elmo.tokeniser.words):
        lines.append(
            f"| {each.phrase} | {each.ngram_log10:.2f} | {each.bilm_log10:.2f} "
            f"| {' '.join(map(str, each.orders))} | {' '.join(each.unknown)} |"
        )
    report = "\n".join(lines) + "\n"
    print(report)
    if arguments.output is not None:
        arguments.output.write_text(report, encoding="utf-8")


if __name__ == "__main__":
    main()
