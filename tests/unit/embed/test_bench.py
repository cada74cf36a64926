"""What `elmo bench` measures: figures that hold together, not speeds."""

import json
import math

import pytest
import torch

from elmokit.cli.main import run
from elmokit.embed.bench import bench, made_up_sentences, product_rate
from elmokit.pretrained import bundled_checkpoint
from elmokit.pretrained.untrained import untrained_checkpoint


def test_every_precision_of_the_device() -> None:
    found = bench(untrained_checkpoint(), device="cpu", seconds=0.2)
    assert [speed.dtype for speed in found.speeds] == ["float32", "bfloat16", "int8"]
    for speed in found.speeds:
        assert speed.tokens_per_second > 0
        assert speed.tokens_per_second_known_words > 0
        assert 0 < speed.sentence_milliseconds <= speed.sentence_milliseconds_95
    assert found.speeds[0].cosine == pytest.approx(1, abs=1e-6)
    assert 0.99 < found.speeds[2].cosine < 1
    config = untrained_checkpoint().config
    per_direction = config.layers * 9 * config.lstm_dim * config.projection_dim
    assert found.operations_per_token == 2 * 2 * per_direction
    assert found.product_share == pytest.approx(
        found.speeds[0].tokens_per_second_known_words
        * found.operations_per_token
        / found.product_rate
    )


def test_sentences_are_like_text() -> None:
    checkpoint = bundled_checkpoint("english-base", softmax=False)
    sentences = made_up_sentences(checkpoint, 500)
    lengths = [len(sentence) for sentence in sentences]
    assert 17 < sum(lengths) / 500 < 23
    assert min(lengths) >= 2
    assert max(lengths) <= 100
    words = [word for sentence in sentences for word in sentence]
    assert len(set(words)) < len(words) / 2, "frequent words come again"
    assert checkpoint.vocabulary is not None
    assert set(words) <= set(checkpoint.vocabulary.words)
    assert sentences == made_up_sentences(checkpoint, 500)


def test_words_are_made_up_where_there_is_no_vocabulary() -> None:
    sentences = made_up_sentences(untrained_checkpoint(), 20)
    assert all(word.isascii() and word.isalpha() for sentence in sentences for word in sentence)


def test_the_rate_of_a_product() -> None:
    assert math.isfinite(product_rate(16, 8, torch.device("cpu")))


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    shared = ["bench", "--model", "tiny-untrained", "--device", "cpu", "--seconds", "0.1"]
    assert run([*shared, "--json", "--dtype", "bfloat16"]) == 0
    assert [speed["dtype"] for speed in json.loads(capsys.readouterr().out)["speeds"]] == [
        "bfloat16"
    ]
    assert run(shared) == 0
    out = capsys.readouterr().out
    assert "int8" in out
    assert "GFLOP/s" in out


def test_mistakes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "--model", "tiny-untrained", "--seconds", "0"]) == 2
    assert "seconds: expected a number above 0, found 0" in capsys.readouterr().err
    assert run(["bench", "--model", "tiny-untrained", "--device", "cpu", "--dtype", "x"]) == 2
    assert "found 'x'" in capsys.readouterr().err
