import random

import httpx
import numpy as np

from elmokit.serve.fields import tokenised
from elmokit.serve.length_order import SortedSentences
from elmokit.serve.served_model import ServedModel
from unit.serve.small_service import Gate, running, small_elmo, small_service


def test_vectors_come_in_the_order_of_the_request() -> None:
    model = ServedModel("small", small_elmo())
    lengths = [3, 0, 7, 1, 7]
    sentences = tokenised([["w"] * length for length in lengths], model, places=False)
    ordered = SortedSentences(sentences)
    # In the order of computing: 7, 7, 3, 1, 0; cut into two parts anywhere.
    tokens = np.repeat(np.array([2, 4, 0, 3], np.float32), [7, 7, 3, 1])[:, None]
    rows = ordered.rows([tokens[:14], tokens[14:]])
    assert [set(row.flatten().tolist()) for row in rows] == [{0.0}, set(), {2.0}, {3.0}, {4.0}]
    assert [len(row) for row in rows] == lengths
    pooled = ordered.pooled(
        [np.array([[2], [4], [0]], np.float32), np.array([[3], [1]], np.float32)]
    )
    assert pooled.flatten().tolist() == [0, 1, 2, 3, 4]


def test_batches_of_a_long_request_hold_sentences_of_like_length() -> None:
    service = small_service(batch_tokens=1100, queue_tokens=10_000)
    chance = random.Random(0)
    texts = ["w " * chance.randint(1, 60) for _ in range(200)]
    with running(service) as server:
        gate = Gate(service.default.elmo)
        answer = httpx.post(f"{server.url}/v1/embeddings", json={"input": texts}, timeout=60)
        assert answer.status_code == 200
    lengths = [len(sentence) for sentence in gate.sentences]
    assert lengths == sorted(lengths, reverse=True)
    assert len(gate.batches) > 4
