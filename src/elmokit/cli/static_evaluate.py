"""`elmo static evaluate`: analogies answered, similarities ranked."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from elmokit.cli.options import Json, print_json
from elmokit.cli.static_neighbours import LimitOption, VectorsArgument

if TYPE_CHECKING:
    from elmokit.baselines.static_evaluation import AnalogyScore


def command(
    vectors: VectorsArgument,
    analogies: Annotated[
        Path | None,
        typer.Option("--analogies", help="File like questions-words.txt: four words a line."),
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option("--pairs", help="File with two words and a score of their likeness a line."),
    ] = None,
    limit: LimitOption = None,
    as_json: Json = False,
) -> None:
    """Give the accuracy on analogies and Spearman's correlation on pairs of words."""
    from elmokit.baselines.static_evaluation import (
        all_sections,
        evaluate_analogies,
        evaluate_pairs,
    )
    from elmokit.baselines.static_vectors import StaticVectors
    from elmokit.errors import InputError

    if analogies is None and pairs is None:
        raise InputError("give --analogies FILE, --pairs FILE or both")
    static = StaticVectors.load(vectors, limit=limit)
    facts: dict[str, Any] = {"vectors": vectors}
    lines: list[str] = []
    if analogies is not None:
        sections = evaluate_analogies(static, analogies)
        overall = all_sections(sections)
        facts["analogies"] = {
            **_analogy_facts(overall),
            "sections": [{"section": s.section, **_analogy_facts(s)} for s in sections],
        }
        lines.append(f"{'accuracy':>8} {'answered':>9} {'left out':>9}  analogies")
        lines += [_analogy_line(section) for section in (*sections, overall)]
    if pairs is not None:
        score = evaluate_pairs(static, pairs)
        facts["pairs"] = {
            "spearman": score.spearman,
            "pairs": score.pairs,
            "left_out": score.left_out,
        }
        lines.append(
            f"{score.spearman:8.4f}  Spearman's correlation on {score.pairs:,} pairs "
            f"({score.left_out:,} left out)"
        )
    if as_json:
        print_json(facts)
        return
    print("\n".join(lines))


def _analogy_facts(score: "AnalogyScore") -> dict[str, Any]:
    return {
        "accuracy": score.accuracy,
        "correct": score.correct,
        "answered": score.answered,
        "left_out": score.left_out,
    }


def _analogy_line(score: "AnalogyScore") -> str:
    accuracy = "-" if score.accuracy is None else f"{score.accuracy:.1%}"
    return f"{accuracy:>8} {score.answered:9,} {score.left_out:9,}  {score.section or '-'}"
