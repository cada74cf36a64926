"""simple_elmo: bilm-tf's graph under TensorFlow 2 with a wrapper of its own."""

import logging
from typing import Any

import numpy as np

from embed.protocol import Sentences, Settings, Vectors, chunks, serve_contender, versions_of


class SimpleElmoContender:
    """An `ElmoModel` with one session for all calls."""

    def __init__(self, settings: Settings) -> None:
        import tensorflow as tf  # type: ignore[import-untyped]
        from simple_elmo import ElmoModel, weight_layers  # type: ignore[import-not-found]

        if settings.device != "cpu":
            raise ValueError("its environment has TensorFlow for CPUs only")
        self._model = ElmoModel()
        logging.disable(logging.INFO)  # it says something for every batch
        self._model.load(settings.model, max_batch_size=settings.largest_batch)
        # Without a session from outside it builds the graph anew in every call.
        self._session = tf.compat.v1.Session(
            config=tf.compat.v1.ConfigProto(intra_op_parallelism_threads=settings.threads)
        )
        with self._session.as_default():
            self._model.elmo_sentence_input = weight_layers(
                "input", self._model.sentence_embeddings_op, use_layers="all"
            )
            self._session.run(tf.compat.v1.global_variables_initializer())

    def embed(self, sentences: Sentences, batch: int | None) -> None:
        """Run batch after batch: in one call it would hold all of the text in float64."""
        for chunk in chunks(sentences, batch or len(sentences)):
            self._layers(chunk)

    def vectors(self, sentences: Sentences) -> list[Vectors]:
        """Give all layers."""
        layers = self._layers(sentences)
        return [layers[row, :, : len(s)] for row, s in enumerate(sentences)]

    def facts(self) -> dict[str, Any]:
        """Name the versions."""
        return {"versions": versions_of("simple_elmo", "tensorflow-cpu")}

    def _layers(self, sentences: Sentences) -> Vectors:
        self._model.batch_size = len(sentences)
        return np.asarray(
            self._model.get_elmo_vectors(
                sentences, warmup=False, layers="all", session=self._session
            )
        )


def _imports() -> None:
    import simple_elmo  # noqa: F401


if __name__ == "__main__":
    serve_contender(_imports, SimpleElmoContender)
