"""`elmo static evaluate`: analogies answered, similarities ranked."""

from pathlib import Path
from typing import Annotated, Any

import typer

from elmokit.cli.options import Json, print_json
from elmokit.cli.static_neighbours import LimitOption, VectorsArgument


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
    from elmokit.baselines.static_evaluation import evaluate_analogies, evaluate_pairs
    from elmokit.baselines.static_vectors import StaticVectors
    from elmokit.errors import InputError

    if analogies is None and pairs is None:
        raise InputError("give --analogies FILE, --pairs FILE or both")
    static = StaticVectors.load(vectors, limit=limit)
    facts: dict[str, Any] = {"vectors": vectors}
    lines: list[str] = []
    if analogies is not None:
        sections = evaluate_analogies(static, analogies)
        correct, answered = (
            sum(getattr(s, name) for s in sections) for name in ("correct", "answered")
        )
        left_out = sum(section.left_out for section in sections)
        facts["analogies"] = {
            "accuracy": correct / answered if answered else 0.0,
            "correct": correct,
            "answered": answered,
            "left_out": left_out,
            "sections": [
                {
                    "section": section.section,
                    "accuracy": section.accuracy,
                    "correct": section.correct,
                    "answered": section.answered,
                    "left_out": section.left_out,
                }
                for section in sections
            ],
        }
        lines.append(f"{'accuracy':>8} {'answered':>9} {'left out':>9}  analogies")
        lines += [
            f"{s.accuracy:8.1%} {s.answered:9,} {s.left_out:9,}  {s.section or '-'}"
            for s in sections
        ]
        share = correct / answered if answered else 0.0
        lines.append(f"{share:8.1%} {answered:9,} {left_out:9,}  all")
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
