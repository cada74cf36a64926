"""Verb or noun? A Flair tagger on ELMo's vectors: train, save, load, tag.

pip install "elmokit[flair]"
python examples/flair_tagger.py
"""

from tempfile import TemporaryDirectory

import flair
from flair.data import Corpus, Sentence
from flair.datasets import FlairDatapointDataset
from flair.models import SequenceTagger
from flair.trainers import ModelTrainer

from elmokit.integrations.flair import ElmoEmbeddings

# The words that matter occur as either.
TRAINING = """
They/O play/VERB in/O the/O garden/O ./O
The/O play/NOUN was/O long/O ./O
We/O watch/VERB the/O boats/O ./O
My/O watch/NOUN is/O old/O ./O
Please/O open/O the/O book/NOUN ./O
You/O must/O book/VERB a/O table/O ./O
She/O will/O answer/VERB the/O letter/O ./O
His/O answer/NOUN was/O short/O ./O
"""
NEW = ["They watch a play .", "We book a room .", "The answer is in this book ."]


def parse(line: str) -> Sentence:
    """Make a sentence of words that are written as word/TAG."""
    pairs = [piece.partition("/") for piece in line.split()]
    sentence = Sentence([word for word, _, _ in pairs])
    for token, (_, _, tag) in zip(sentence, pairs, strict=True):
        token.add_label("kind", tag or "O")
    return sentence


def main() -> None:
    """Train a linear tagger on frozen vectors."""
    flair.set_seed(0)
    sentences = [parse(line) for line in TRAINING.strip().split("\n")]
    data = FlairDatapointDataset(sentences)
    corpus = Corpus(train=data, dev=data, sample_missing_splits=False)
    dictionary = corpus.make_label_dictionary(label_type="kind", add_unk=False)
    tagger = SequenceTagger(
        embeddings=ElmoEmbeddings(),
        tag_dictionary=dictionary,
        tag_type="kind",
        use_rnn=False,
        use_crf=False,
        reproject_embeddings=False,
    )
    with TemporaryDirectory() as folder:
        ModelTrainer(tagger, corpus).train(
            folder, learning_rate=1.0, mini_batch_size=4, max_epochs=20, save_final_model=False
        )
        tagger.save(f"{folder}/tagger.pt")
        tagger = SequenceTagger.load(f"{folder}/tagger.pt")
    for text in NEW:
        sentence = Sentence(text.split())
        tagger.predict(sentence)
        print(" ".join(f"{token.text}/{token.get_label('kind').value}" for token in sentence))


if __name__ == "__main__":
    main()
