"""The outputs of TensorFlow Hub's ELMo module, by their names.

    python examples/tf_hub_names.py [MODEL]

Before it was

    elmo = hub.Module("https://tfhub.dev/google/elmo/3")
    outputs = elmo(["the cat is on the mat", "dogs are in the fog"], as_dict=True)
"""

import sys

import elmokit

TEXTS = ["the cat is on the mat", "dogs are in the fog"]


def main() -> None:
    """Print names and shapes, and compare two sentences."""
    elmo = elmokit.load(sys.argv[1] if len(sys.argv) > 1 else None)
    # The module split texts at spaces and nowhere else.
    outputs = elmo.embed([text.split(" ") for text in TEXTS], as_dict=True)
    for name, values in outputs.items():
        print(f"{name:13} {values.shape}")
    cosine = elmo.similarity(outputs["default"][0], outputs["default"][1]).item()
    print(f"cosine of the two sentences {cosine:.2f}")


if __name__ == "__main__":
    main()
