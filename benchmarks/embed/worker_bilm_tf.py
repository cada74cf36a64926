"""bilm-tf, the original code, under TensorFlow 2's first-version face.

It is imported from the environment, or from the checkout that the variable BILM_TF names.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from embed.protocol import Sentences, Settings, Vectors, chunks, serve_contender, versions_of


class BilmTfContender:
    """A `BidirectionalLanguageModel` in a session."""

    def __init__(self, settings: Settings) -> None:
        import tensorflow as tf  # type: ignore[import-untyped]
        from bilm import (  # type: ignore[import-not-found]
            Batcher,
            BidirectionalLanguageModel,
        )

        if settings.device != "cpu":
            raise ValueError("its environment has TensorFlow for CPUs only")
        folder = Path(str(settings.model))
        options = json.loads((folder / "options.json").read_text(encoding="utf-8"))
        most_characters = options["char_cnn"]["max_characters_per_token"]
        # It wants a vocabulary file, and uses it to keep the character ids of its words.
        vocabulary = Path("bilm_tf_vocabulary.txt")
        vocabulary.write_text("<S>\n</S>\n<UNK>\n", encoding="utf-8")
        self._batcher = Batcher(str(vocabulary), most_characters)
        self._ids = tf.placeholder("int32", shape=(None, None, most_characters))
        model = BidirectionalLanguageModel(
            str(folder / "options.json"),
            str(folder / "weights.hdf5"),
            max_batch_size=settings.largest_batch,
        )
        self._layers_op = model(self._ids)["lm_embeddings"]
        self._session = tf.Session(
            config=tf.ConfigProto(intra_op_parallelism_threads=settings.threads)
        )
        self._session.run(tf.global_variables_initializer())

    def embed(self, sentences: Sentences, batch: int | None) -> None:
        """Run batch after batch."""
        for chunk in chunks(sentences, batch or len(sentences)):
            self._layers(chunk)

    def vectors(self, sentences: Sentences) -> list[Vectors]:
        """Give all layers."""
        layers = self._layers(sentences)
        return [layers[row, :, : len(s)] for row, s in enumerate(sentences)]

    def facts(self) -> dict[str, Any]:
        """Name the version."""
        return {"versions": versions_of("bilm", "tensorflow-cpu")}

    def _layers(self, sentences: Sentences) -> Vectors:
        ids = self._batcher.batch_sentences(sentences)
        return np.asarray(self._session.run(self._layers_op, feed_dict={self._ids: ids}))


def _imports() -> None:
    if "BILM_TF" in os.environ:
        sys.path.insert(0, os.environ["BILM_TF"])
    import tensorflow.compat.v1 as first_version  # type: ignore[import-untyped]

    first_version.disable_eager_execution()
    sys.modules["tensorflow"] = first_version
    import bilm  # noqa: F401


if __name__ == "__main__":
    serve_contender(_imports, BilmTfContender)
