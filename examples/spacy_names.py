"""A spaCy pipeline that finds people and places by ELMo's vectors: train, save, load, use.

pip install "elmokit[spacy]"
python examples/spacy_names.py
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import spacy
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import fix_random_seed

# Written as [text|label]; few enough that only a model that knows words can learn from them.
TRAINING = """
Yesterday [Mary|PERSON] flew to [Paris|PLACE] .
[John|PERSON] and [Peter|PERSON] live in [London|PLACE] .
The train from [Berlin|PLACE] was late .
My friend [Anna|PERSON] likes tea .
[David|PERSON] moved from [Rome|PLACE] to [Madrid|PLACE] .
They met [Susan|PERSON] in [Chicago|PLACE] last year .
Winters in [Moscow|PLACE] are cold .
[Robert|PERSON] wrote a letter to [Helen|PERSON] .
He was born in [Vienna|PLACE] and works for the bank .
[George|PERSON] said the river was deep .
"""
NEW = ["Last week Thomas went to Dublin .", "Sarah lives in Boston with Henry ."]


def parse(line: str) -> tuple[list[str], list[str]]:
    """Give the words of a line and their labels in the manner of BILUO."""
    words, labels = [], []
    for piece in line.split():
        word, _, label = piece.strip("[]").partition("|")
        words.append(word)
        labels.append(f"U-{label}" if label else "O")
    return words, labels


def main() -> None:
    """Train a named entity recogniser on frozen vectors."""
    fix_random_seed(0)
    nlp = spacy.blank("en")
    elmo = nlp.add_pipe("elmo", config={"layers": "average"})
    nlp.add_pipe(
        "ner",
        config={
            "model": {
                "@architectures": "spacy.TransitionBasedParser.v2",
                "state_type": "ner",
                "extra_state_tokens": False,
                "hidden_width": 64,
                "maxout_pieces": 2,
                "use_upper": True,
                "tok2vec": {"@architectures": "elmokit.ElmoTok2Vec.v1", "layers": "average"},
            }
        },
    )
    examples = []
    for line in TRAINING.strip().split("\n"):
        words, labels = parse(line)
        # The pipe runs once; in every epoch `ner` takes the vectors from Doc.tensor.
        doc = elmo(Doc(nlp.vocab, words=words))
        examples.append(Example.from_dict(doc, {"entities": labels}))
    optimiser = nlp.initialize(lambda: examples)
    optimiser.learn_rate = 0.005
    for epoch in range(25):
        losses: dict[str, float] = {}
        nlp.update(examples, sgd=optimiser, drop=0.2, losses=losses)
        if epoch % 5 == 4:
            print(f"epoch {epoch + 1:2}  loss {losses['ner']:.3f}")
    with TemporaryDirectory() as folder:
        nlp.to_disk(Path(folder) / "names")
        again = spacy.load(Path(folder) / "names")
    for doc in again.pipe(NEW):
        print("  ".join(f"{entity.text}/{entity.label_}" for entity in doc.ents))


if __name__ == "__main__":
    main()
