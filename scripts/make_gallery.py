"""Draw the pictures of docs/gallery.md by running the commands on it, and write the page.

    python scripts/make_gallery.py

A picture is drawn as SVG and PNG into docs/images. One whose results are not in the repository
yet is left out, and the script says so.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
SUFFIXES = (".svg", ".png")
IMAGES, PAGE = ROOT / "docs" / "images", ROOT / "docs" / "gallery.md"

HEAD = """\
# Gallery

<!-- made by scripts/make_gallery.py -->
Every picture here was drawn by the command or the lines below it. The suffix of the output chooses the format: `.svg` and `.png` for print, `.html` for a page of its own, in which points show their sentences under the mouse; it needs no network. Pictures need the extra `viz`: `pip install "elmokit[viz]"`.

Colours are those of Okabe and Ito, which colour-blind people tell apart; groups differ by their shapes, lines by their dashes, and bars have their names beside them, so that a black-and-white print loses nothing.

**Korean and other scripts** need a font that has their letters. In SVG and HTML text stays text and is drawn with the fonts of whoever looks at it. A PNG is drawn with the fonts of the machine that makes it; where they lack a letter there is a box in its place, and a warning says so (for Korean install `fonts-noto-cjk` or NanumGothic).
"""  # noqa: E501


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A picture and what is said of it."""

    name: str
    """Its file's, without a suffix; the code writes it as SVG."""
    title: str
    text: str
    language: str
    """``shell`` or ``python``."""
    code: str
    needs: tuple[str, ...] = ()
    """Patterns of files in benchmarks/results; the first that is there is ``RESULTS``."""
    draw: Callable[[Path, Path], None] | None = None
    """Draws from such a file where the code itself would take hours."""


def draw_samples(results: Path, output: Path) -> None:
    """Draw what `elmo task table --study samples` has measured."""
    import json

    from elmokit.tasks.plots import plot_samples
    from elmokit.tasks.table import sample_panels

    rows = json.loads(results.read_text(encoding="utf-8"))
    plot_samples(sample_panels(rows), [output])


PICTURES = [
    Picture(
        name="senses",
        title="Senses of a word",
        text="All occurrences of *bank* in the text that comes with the package (`demo`; any text "
        "will do). The vectors are clustered without being told how many meanings there are or "
        "which sentence has which.",
        language="shell",
        code="elmo senses bank demo -o senses.svg",
    ),
    Picture(
        name="similarity",
        title="The same word in six sentences",
        text="Cosines between the vectors of *bank*, three times by a river and three times with "
        "money; the senses come apart from the first to the second layer. The word at the end of a "
        "sentence (*flood*, *account*) is known from its left alone, and these two are alike. "
        "Functions of `elmokit.plots` take arrays, also your own.",
        language="python",
        code="""\
import numpy as np

import elmokit
from elmokit.plots import grid, heat_map, save

sentences = {
    "river": "She sat on the bank of the river .",
    "stream": "The boat lay on the north bank of the stream .",
    "flood": "After the flood there was mud on the bank .",
    "rates": "The bank raised its interest rates on loans .",
    "farmers": "She works at a bank that lends money to farmers .",
    "account": "He opened an account at the bank .",
}
elmo = elmokit.load()
tokens = [sentence.split() for sentence in sentences.values()]
found = zip(elmo.embed(tokens, layers="all"), tokens)
vectors = np.stack([layers[:, words.index("bank")] for layers, words in found])  # (N, L, D)
charts = []
for layer in range(1, elmo.layer_count):
    values = elmo.similarity(vectors[:, layer], vectors[:, layer]).numpy()  # (N, N)
    names = list(sentences)
    charts.append(
        heat_map(values, rows=names, columns=names, limits=(0, 1), title=f"layer {layer}")
    )
save(grid(charts, columns=1), "similarity.svg")""",
    ),
    Picture(
        name="probes",
        title="What the layers know",
        text="Parts of speech from a linear probe (UD English EWT), word senses from the nearest "
        "mean (five test sets together), for the bundled model; the figures are those of "
        "[its card](../src/elmokit/pretrained/english-base/README.md). `elmo probe pos` and "
        "`elmo probe wsd` measure them for your model.",
        language="python",
        code="""\
from elmokit.plots import bars, save

chart = bars(
    [[86.2, 89.7, 95.5, 94.3], [56.9, 39.4, 56.5, 57.5]],
    groups=["parts of speech, accuracy", "word senses, F1"],
    names=["most frequent", "layer 0", "layer 1", "layer 2"],
    value_title="%",
)
save(chart, "probes.svg")""",
    ),
    Picture(
        name="layers",
        title="How tasks weigh the layers",
        text="The mix weights that task models have learnt, after the softmax (the paper's "
        "figure 2). Any folders of `elmo task train` will do.",
        language="text",
        code="elmo layers RESULTS -o layers.svg",
        needs=("**/main/runs.jsonl", "**/runs.jsonl"),
    ),
    Picture(
        name="samples",
        title="Learning from less",
        text="Without and with ELMo on 1% to 100% of the training data (the paper's figure 1).",
        language="text",
        code="elmo task table --data DATA -o tables --study samples",
        needs=("**/samples.json",),
        draw=draw_samples,
    ),
]


def main() -> None:
    """Draw all pictures and write the page."""
    IMAGES.mkdir(exist_ok=True)
    for picture in PICTURES:
        results = results_of(picture)
        if results is None:
            print(f"{picture.name}: left out, no {picture.needs[0]} in benchmarks/results")
            continue
        for suffix in SUFFIXES:
            draw(picture, results, suffix)
        print(f"{picture.name}: drawn")
    PAGE.write_text(page(), encoding="utf-8")


def results_of(picture: Picture) -> list[Path] | None:
    """Find the file that a picture is drawn from; None: it is not there, []: none is needed."""
    found = [file for pattern in picture.needs for file in sorted(RESULTS.glob(pattern))]
    return found[:1] if found or not picture.needs else None


def page() -> str:
    """Write the page about all pictures that can be drawn."""
    sections = [HEAD]
    for picture in PICTURES:
        results = results_of(picture)
        if results is not None:
            sections.append(section(picture, results))
    return "\n".join(sections)


def shown_code(picture: Picture, results: list[Path]) -> str:
    """Give the code as the page shows it."""
    return picture.code.replace("RESULTS", str(results[0].relative_to(ROOT)) if results else "")


def section(picture: Picture, results: list[Path]) -> str:
    """Write what the page says of a picture."""
    return (
        f"## {picture.title}\n\n{picture.text}\n\n"
        f"![{picture.title}](images/{picture.name}.svg)\n\n"
        f"```{picture.language}\n{shown_code(picture, results)}\n```\n"
    )


def draw(picture: Picture, results: list[Path], suffix: str) -> None:
    """Run the code of a picture in a folder of its own and take the picture out of it."""
    target = (IMAGES / picture.name).with_suffix(suffix)
    if picture.draw is not None:
        picture.draw(results[0], target)
        return
    code = shown_code(picture, results).replace(f"{picture.name}.svg", target.name)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name in ("examples", "benchmarks"):
            Path(name).symlink_to(ROOT / name)
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        command = [sys.executable, "-c"] if picture.language == "python" else ["bash", "-ec"]
        subprocess.run([*command, code], env={**os.environ, "PATH": path}, check=True)
        shutil.copy(target.name, target)


if __name__ == "__main__":
    main()
