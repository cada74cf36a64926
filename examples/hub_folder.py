"""A model in the Hub's layout: saved, looked at, loaded again.

    python examples/hub_folder.py [FOLDER]

The same folder goes to the Hub by ``elmo.push_to_hub("org/name")``, which needs a token.
"""

import sys
import tempfile
from pathlib import Path

import elmokit


def main() -> None:
    """Save the model in the box and load what was saved."""
    elmo = elmokit.load()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else f"{temporary}/my-elmo")
        elmo.save_pretrained(folder, storage="int8")
        for file in sorted(folder.iterdir()):
            print(f"{file.name:20} {file.stat().st_size:>12,}")
        again = elmokit.Elmo.from_pretrained(folder)
        sentence = ["The bank is closed."]
        gap = abs(again.embed(sentence)[0] - elmo.embed(sentence)[0]).max()
        print(f"largest difference after the way there and back: {gap:.1e}")


if __name__ == "__main__":
    main()
