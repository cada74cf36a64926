"""Draw the pictures of docs/gallery.md by running the commands on it, and write the page.

    python scripts/make_gallery.py

A picture is drawn as SVG and PNG into docs/images. One whose results are not in the repository
yet is left out, and the script says so.
"""

import contextlib
import json
import math
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
    needs: str | None = None
    """A file in benchmarks/results that it is drawn from."""
    draw: Callable[[Path, Path], None] | None = None
    """Draws from such a file where the code itself would take hours."""


def draw_probes(results: Path, output: Path) -> None:
    """Draw what `elmo compare --json` has printed."""
    from elmokit.plots import bars, save

    groups = {
        "pos": "parts of speech, accuracy",
        "wsd": "word senses, F1",
        "wsd_neighbour": "word senses, no prior",
        "wic": "same meaning, accuracy",
    }
    rows = json.loads(results.read_text(encoding="utf-8"))["rows"]
    names = [
        f"{row['name']}, layer {row['layer']}" if "layer" in row else row["name"] for row in rows
    ]
    grey = [row["name"] for row in rows if "layer" not in row]
    values = [[row.get(key, math.nan) for row in rows] for key in groups]
    chart = bars(values, groups=list(groups.values()), names=names, grey=grey, value_title="%")
    save(chart, output)


def draw_samples(results: Path, output: Path) -> None:
    """Draw what `elmo task table --study samples` has measured."""
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
        "mean (five test sets together, with and without a prior for frequent senses) and the "
        "same meaning in two sentences (WiC): static vectors beside the layers of the bundled "
        "model, from [these figures](../benchmarks/results/probes.md).",
        language="text",
        code="""\
elmo compare --pos-train en_ewt.train.conllu --pos-test en_ewt.test.conllu \\
  --wsd-train semcor.jsonl --wsd-test senseval2.jsonl --wsd-test senseval3.jsonl ... \\
  --wic-train wic.train.jsonl --wic-dev wic.dev.jsonl \\
  --vectors skip-gram=skipgram.txt --vectors GloVe=glove.txt -o probes.svg""",
        needs="compare.json",
        draw=draw_probes,
    ),
    Picture(
        name="layers",
        title="How tasks weigh the layers",
        text="The mix weights that task models have learnt, after the softmax (the paper's "
        "figure 2), means over three seeds or five. Any folders of `elmo task train` will do.",
        language="shell",
        code="elmo layers benchmarks/results/task_runs.jsonl -o layers.svg",
        needs="task_runs.jsonl",
    ),
    Picture(
        name="samples",
        title="Learning from less",
        text="Without and with ELMo on 1% to 100% of the training data (the paper's figure 1).",
        language="text",
        code="elmo task table --data DATA -o tables --study samples",
        needs="samples.json",
        draw=draw_samples,
    ),
]


def main() -> None:
    """Draw all pictures and write the page."""
    IMAGES.mkdir(exist_ok=True)
    for picture in PICTURES:
        if can_be_drawn(picture):
            for suffix in SUFFIXES:
                draw(picture, suffix)
            print(f"{picture.name}: drawn")
        else:
            print(f"{picture.name}: left out, no {picture.needs} in benchmarks/results")
    PAGE.write_text(page(), encoding="utf-8")


def can_be_drawn(picture: Picture) -> bool:
    """Tell whether the results that a picture is drawn from are there."""
    return picture.needs is None or (RESULTS / picture.needs).exists()


def page() -> str:
    """Write the page about all pictures that can be drawn."""
    return "\n".join([HEAD, *map(section, filter(can_be_drawn, PICTURES))])


def section(picture: Picture) -> str:
    """Write what the page says of a picture."""
    return (
        f"## {picture.title}\n\n{picture.text}\n\n"
        f"![{picture.title}](images/{picture.name}.svg)\n\n"
        f"```{picture.language}\n{picture.code}\n```\n"
    )


def draw(picture: Picture, suffix: str) -> None:
    """Run the code of a picture in a folder of its own and take the picture out of it."""
    target = (IMAGES / picture.name).with_suffix(suffix)
    if picture.draw is not None:
        assert picture.needs is not None
        picture.draw(RESULTS / picture.needs, target)
        return
    code = picture.code.replace(f"{picture.name}.svg", target.name)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name in ("examples", "benchmarks"):
            Path(name).symlink_to(ROOT / name)
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        command = [sys.executable, "-c"] if picture.language == "python" else ["bash", "-ec"]
        subprocess.run([*command, code], env={**os.environ, "PATH": path}, check=True)
        shutil.copy(target.name, target)


if __name__ == "__main__":
    main()
