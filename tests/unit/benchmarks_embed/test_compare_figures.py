import lzma
from pathlib import Path
from typing import Any

import pytest

from embed.contenders import PEERS, groups, ours
from embed.figures import Figures
from embed.report import markdown
from embed.sentences import TextChoice, read_sentences, spread

LENGTHS = [10, 20, 30, 40]
ALL = [0, 1, 2, 3]
CONTENDERS = [*ours(["float32", "int8"]), *PEERS]


def record(calls: dict[str, list[list[float]]], **facts: Any) -> dict[str, Any]:
    samples = {name: ALL if name != "batch-2" else [2, 3] for name in calls}
    facts = {"imports_seconds": 1.0, "load_seconds": 2.0, "versions": {}} | facts
    return {
        "facts": facts,
        "first_call_seconds": 0.5,
        "agreement": None,
        "samples": samples,
        "calls": calls,
        "memory": {"peak_bytes": 2**30, "device_bytes": None},
    }


@pytest.fixture
def measured() -> dict[str, Any]:
    sizes = {"model": "Elmo()", "cell": 4096, "projection": 512, "layers": 2}
    return {
        "absent": {"bilm-tf": "no module"},
        "groups": [
            {
                "elmokit-float32": record({"own": [[1.0], [2.0], [4.0]]}, **sizes),
                "elmokit-int8": record({"own": [[0.5]], "own-new": [[1.0]]}, **sizes),
                "allennlp": record({"batch-2": [[7.0]], "single": [[1.0, 2.0, 3.0, 4.0]]}),
                "allennlp-cache": record({"batch-2": [[0.7]]}, cache_seconds=3.0, cache_words=9),
            },
            # The machine is half as fast now.
            {
                "elmokit-float32": record({"own": [[4.0]]}, **sizes),
                "simple-elmo": record({"batch-2": [[1.4]]}),
            },
        ],
        "products": {"float32 32": [1e9, 3e9, 2e9], "float32 64": [4e9]},
    }


@pytest.fixture
def figures(measured: dict[str, Any]) -> Figures:
    return Figures(measured, CONTENDERS, LENGTHS)


def test_rates_are_medians_over_the_tokens_of_the_sample(figures: Figures) -> None:
    assert figures.rate("elmokit-float32", "own") == pytest.approx(100 / 2.0)
    assert figures.rate("allennlp", "batch-2") == pytest.approx(70 / 7.0)
    assert figures.rate("allennlp", "own") is None


def test_a_cache_pays_for_new_words_once_for_the_whole_text(figures: Figures) -> None:
    assert figures.rate("allennlp-cache", "batch-2-new") == pytest.approx(100 / (3.0 + 1.0))


def test_ratios_between_groups_go_by_way_of_the_reference(figures: Figures) -> None:
    assert figures.ratio("elmokit-int8", "own", "allennlp", "batch-2") == pytest.approx(20.0)
    # 200 against 50 tokens/s, of which the slower machine explains half.
    ratio = figures.ratio("elmokit-int8", "own", "simple-elmo", "batch-2")
    assert ratio == pytest.approx(200 / 50 * 25 / 50)


def test_operations_are_those_of_the_original_model(figures: Figures) -> None:
    assert figures.operations_per_token() == 150_994_944
    assert figures.operations_per_token(first_input=False) == 150_994_944 - 4 * 4 * 4096 * 512


def test_latency_takes_all_calls(figures: Figures) -> None:
    assert figures.latency("allennlp") == pytest.approx({"p50": 2500.0, "p95": 3850.0})


def test_report_names_who_is_absent_and_the_fastest(
    measured: dict[str, Any], figures: Figures
) -> None:
    report = {"facts": {"device": "cpu"}, "batches": [2], "sizes": {"original": measured}}
    text = markdown(report, {"original": figures})
    assert "- bilm-tf: no module" in text
    assert "| elmokit int8, known words | 20.00 | 2.00 | 2.00 | **2.00** |" in text
    assert "| float32 | 2 | 4 |" in text


def test_groups_fit_and_share_the_reference() -> None:
    packed = groups(CONTENDERS, size="small", gigabytes=9.0)
    assert all(group[0].name == "elmokit-float32" for group in packed)
    assert all(sum(one.gigabytes["small"] for one in group) <= 9.0 for group in packed)
    names = sorted(one.name for group in packed for one in group[1:])
    assert names == sorted(one.name for one in CONTENDERS[1:] if "small" in one.gigabytes)


@pytest.mark.parametrize(
    ("total", "count", "block"), [(100, 40, 1), (2000, 100, 32), (50, 10, 128)]
)
def test_spread_takes_whole_blocks_from_everywhere(total: int, count: int, block: int) -> None:
    chosen = spread(total, count=count, block=block)
    assert chosen == sorted(set(chosen))
    assert {index // block for index in chosen} == {
        start // block for start in chosen if start % block == 0
    }
    assert abs(len(chosen) - count) < block or len(chosen) == total


def test_text_is_cut_and_filtered(tmp_path: Path) -> None:
    file = tmp_path / "text.xz"
    with lzma.open(file, "wt", encoding="utf-8") as lines:
        lines.write("It's one.\n\nA b c d e f g h\nThe end .\n")
    assert read_sentences(TextChoice(file=file, longest=5)) == [
        ["It", "'s", "one", "."],
        ["The", "end", "."],
    ]
    equal = read_sentences(TextChoice(file=file, length=7, count=2))
    assert [len(sentence) for sentence in equal] == [7, 7]
    with pytest.raises(ValueError, match=r"found none in .*text\.xz"):
        read_sentences(TextChoice(file=file, longest=1))
