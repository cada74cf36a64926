"""Do neighbours in context have the same sense? Precision at 10 on SemCor, layer by layer.

    python benchmarks/neighbours.py --data /path/to/data --vectors glove.100d.txt.xz

Every occurrence of a lemma (of one part of speech) asks for the nearest other occurrences of it.
`--cache` keeps the vectors (L, N, D) of SemCor's tagged occurrences, which take minutes.

L layers, N occurrences, D size of a vector
"""

import argparse
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import elmokit
from elmokit.analysis.probes.vector_source import ElmoLayers
from elmokit.analysis.sense_precision import Labelled, Precision, polysemous, same_sense_precision
from elmokit.formats.word_vectors import read_word_vectors
from elmokit.text.records import read_records
from elmokit.version import __version__

SHOWN = ("play", "bank", "spring", "right", "cell")

Array = npt.NDArray[np.floating]
Example = dict[str, Any]


def main() -> None:
    arguments = parsed()
    elmo = elmokit.load(arguments.model, dtype=arguments.dtype)
    file = arguments.data / "wsd" / "semcor.train.jsonl.xz"
    lines = [line for _, line in read_records(file) if line["instances"]]
    layers = semcor_vectors(elmo, lines, arguments.cache)
    forms = [line["tokens"][i["i"]].lower() for line in lines for i in line["instances"]]
    contenders: dict[str, Array] = {
        "static (GloVe)": static_vectors(arguments.vectors, forms),
        **{f"layer {layer}": layers[layer] for layer in range(len(layers))},
        "average": layers.astype(np.float32).mean(axis=0),
    }
    print(f"elmokit {__version__}, {elmo}, {len(forms)} tagged occurrences\n")
    for title, groups in (
        (
            "occurrences of other sentences",
            [line["id"] for line in lines for _ in line["instances"]],
        ),
        (
            "occurrences of other documents",
            [line["id"].rsplit("-", 1)[0] for line in lines for _ in line["instances"]],
        ),
    ):
        labelled = Labelled(
            lemmas=[(i["lemma"], i["pos"]) for line in lines for i in line["instances"]],
            senses=[frozenset(i["keys"]) for line in lines for i in line["instances"]],
            groups=groups,
        )
        print_table(title, contenders, labelled)


def print_table(title: str, contenders: dict[str, Array], labelled: Labelled) -> None:
    known = polysemous(labelled)
    rows: dict[str, list[Hashable]] = {"all polysemous lemmas": list(known)}
    for pos in ("NOUN", "VERB", "ADJ", "ADV"):
        rows[f"all {pos.lower()}s"] = [lemma for lemma in known if lemma[1] == pos]  # type: ignore[index]
    for word in SHOWN:
        for lemma in sorted(lemma for lemma in known if lemma[0] == word):  # type: ignore[index, type-var]
            rows[f"{lemma[0]} ({lemma[1].lower()})"] = [lemma]  # type: ignore[index]
    print(f"Precision at 10 among {title}, percent\n")
    print(f"| lemmas | occurrences | chance | {' | '.join(contenders)} | at most |")
    print("|" + " --- |" * (4 + len(contenders)))
    for name, lemmas in rows.items():
        found: list[Precision] = [
            same_sense_precision(vectors, labelled, lemmas=lemmas)
            for vectors in contenders.values()
        ]
        values = " | ".join(f"{100 * one.found:.1f}" for one in found)
        first = found[0]
        count = f"{name} ({first.lemmas})" if first.lemmas > 1 else name
        print(
            f"| {count} | {first.occurrences:,} | {100 * first.chance:.1f} | {values} | "
            f"{100 * first.most:.1f} |"
        )
    missing = [word for word in SHOWN if not any(lemma[0] == word for lemma in known)]  # type: ignore[index]
    print(f"\nToo rare in SemCor, or of one sense: {', '.join(missing) or 'none'}\n")


def semcor_vectors(elmo: elmokit.Elmo, lines: list[Example], cache: Path | None) -> Array:
    """Give the vectors (L, N, D) of all tagged occurrences."""
    if cache is not None and cache.exists():
        found: Array = np.load(cache, mmap_mode="r")
        return found
    count = sum(len(line["instances"]) for line in lines)
    layers = np.empty((elmo.layer_count, count, elmo.dim), dtype=np.float16)
    end = 0
    vectors = ElmoLayers(elmo).vectors(line["tokens"] for line in lines)
    for line, of_tokens in zip(lines, vectors, strict=True):
        places = [instance["i"] for instance in line["instances"]]
        start, end = end, end + len(places)
        layers[:, start:end] = of_tokens[:, places]
    if cache is not None:
        np.save(cache, layers)
    return layers


def static_vectors(file: Path, forms: list[str]) -> Array:
    """Give the vector (N, D) of each form; of several words the mean, of unknown ones zeros."""
    words = {word for form in forms for word in form.split()}
    known = read_word_vectors(file, limit=0, wanted=words)
    table = dict(zip(known.words, known.vectors, strict=True))
    nothing = np.zeros(known.vectors.shape[1], np.float32)
    means = {
        form: np.mean([table.get(word, nothing) for word in form.split()], axis=0)
        for form in set(forms)
    }
    return np.stack([means[form] for form in forms])


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--vectors", type=Path, required=True, help="static vectors as text")
    parser.add_argument("--model", default=None)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--cache", type=Path, default=None)
    return parser.parse_args()


if __name__ == "__main__":
    main()
