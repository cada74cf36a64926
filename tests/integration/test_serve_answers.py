"""What a server answers is what the library gives, whoever asks, beside whom, and after what.

Vectors may differ in the last digit where a batch sums in another order: 1e-6.
"""

import base64
import io
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import jsonschema_rs
import numpy as np
import openai
import pytest

from elmokit.analysis.context_index import ContextIndex
from elmokit.analysis.context_index_build import build_index
from elmokit.embed.elmo import Elmo
from elmokit.serve.limits import Limits
from elmokit.serve.page_files import FOLDER
from elmokit.serve.served_model import ServedModel
from elmokit.serve.service import Service
from elmokit.tasks.predictor import Predictor
from task_runs import small_network, tiny_elmo
from unit.serve.small_service import Running, running, small_elmo

TOLERANCE = 1e-6
TEXTS = ["The cat sat on the mat.", "", "größe 字 don't", "the dog " * 30]
TOKENISED = [["the", "cat", "."], [], ["größe"]]
CORPUS = "The cat sat on the mat .\nA dog sat on a cat .\nThe mat is of straw .\nDogs bark .\n"
LAYERS: list[Any] = [None, "average", "top", "all", 0, -1, [0.5, 0.25, -3]]


@pytest.fixture(scope="module")
def elmo() -> Elmo:
    return small_elmo()


@pytest.fixture(scope="module")
def index(elmo: Elmo, tmp_path_factory: pytest.TempPathFactory) -> ContextIndex:
    folder = tmp_path_factory.mktemp("index")
    (folder / "text").write_text(CORPUS, encoding="utf-8")
    elmo.metadata = {**elmo.metadata, "name": "small"}
    build_index([folder / "text"], folder / "index", elmo=elmo, layers="top")
    return ContextIndex.open(folder / "index", elmo=elmo)


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    network = small_network("ner", tmp_path_factory.mktemp("ner"), elmo=tiny_elmo())
    return Predictor(network.trained())


@pytest.fixture(scope="module")
def server(elmo: Elmo, index: ContextIndex, predictor: Predictor) -> Iterator[Running]:
    models = [ServedModel("small", elmo), ServedModel("other", small_elmo(seed=1))]
    service = Service(
        models,
        index=index,
        tasks={"ner": predictor},
        limits=Limits(queue_tokens=100_000, batch_tokens=1100),
    )
    with running(service) as server:
        yield server


@pytest.fixture(scope="module")
def client(server: Running) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=60) as client:
        yield client


@pytest.fixture(scope="module")
def description(client: httpx.Client) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/openapi.json").json()
    return found


@pytest.fixture
def ask(client: httpx.Client, description: dict[str, Any]) -> Any:
    """Ask a route; answers must be as they are described."""

    def asked(path: str, **values: Any) -> dict[str, Any]:
        answer = client.post(path, json=values)
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == "application/json"
        template = "/v1/tasks/{name}" if path.startswith("/v1/tasks") else path
        operation = description["paths"][template]["post"]
        jsonschema_rs.validate(
            operation["requestBody"]["content"]["application/json"]["schema"], values
        )
        schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
        found: dict[str, Any] = answer.json()
        jsonschema_rs.validate(schema, found)
        return found

    return asked


def near(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE)


def decoded(text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.frombuffer(base64.b64decode(text), "<f4")


@pytest.mark.parametrize("model", [None, "small", "other"])
def test_embeddings_are_those_of_encode(ask: Any, server: Running, model: str | None) -> None:
    expected = server.service.models[model or "small"].elmo.encode(TEXTS)
    found = ask("/v1/embeddings", input=TEXTS, model=model)
    assert found["model"] == (model or "small")
    near([one["embedding"] for one in found["data"]], expected)
    assert [one["index"] for one in found["data"]] == list(range(len(TEXTS)))
    assert found["usage"]["prompt_tokens"] == found["usage"]["total_tokens"] == 7 + 0 + 4 + 60
    packed = ask("/v1/embeddings", input=TEXTS, model=model, encoding_format="base64")
    near([decoded(one["embedding"]) for one in packed["data"]], expected)


def test_one_string_is_a_list_of_one(ask: Any, elmo: Elmo) -> None:
    found = ask("/v1/embeddings", input=TEXTS[0], dimensions=elmo.dim, user="somebody")
    near([one["embedding"] for one in found["data"]], elmo.encode(TEXTS[:1]))


@pytest.mark.parametrize("inputs", [TEXTS, TOKENISED], ids=["raw", "tokenised"])
@pytest.mark.parametrize("layers", LAYERS)
def test_tokens_are_those_of_embed(
    ask: Any, client: httpx.Client, elmo: Elmo, inputs: Any, layers: Any
) -> None:
    chosen = {} if layers is None else {"layers": layers}
    expected = elmo.embed(inputs, **chosen)
    found = ask("/v1/tokens", input=inputs, **chosen)
    packed = ask("/v1/tokens", input=inputs, **chosen, encoding_format="base64")
    for one, other, vectors in zip(found["data"], packed["data"], expected, strict=True):
        assert one["shape"] == other["shape"] == list(vectors.shape)
        near(np.array(one["vectors"]).reshape(vectors.shape), vectors)
        near(decoded(other["vectors"]).reshape(vectors.shape), vectors)
        assert one["tokens"] == other["tokens"]
    answer = client.post(
        "/v1/tokens",
        json={"input": inputs, **chosen},
        headers={"Accept": "text/html, application/octet-stream;q=0.9"},
    )
    assert answer.headers["content-type"] == "application/octet-stream"
    whole = np.load(io.BytesIO(answer.content), allow_pickle=False)
    near(whole, np.concatenate(expected, axis=-2))
    counts = [int(count) for count in answer.headers["x-token-counts"].split(",")]
    assert counts == [vectors.shape[-2] for vectors in expected]


def test_tokens_know_their_places(ask: Any, elmo: Elmo) -> None:
    found = ask("/v1/tokens", input=TEXTS)
    for one, text in zip(found["data"], TEXTS, strict=True):
        assert one["tokens"] == [token._asdict() for token in elmo.tokenise(text)]
    found = ask("/v1/tokens", input=[["the", "cat"]])
    assert found["data"][0]["tokens"][1] == {"text": "cat", "start": None, "end": None}


def test_a_request_of_many_batches_comes_back_whole(ask: Any, elmo: Elmo) -> None:
    chance = random.Random(0)
    words = CORPUS.split()
    texts = [" ".join(chance.choices(words, k=chance.randint(0, 40))) for _ in range(120)]
    found = ask("/v1/tokens", input=texts, encoding_format="base64")
    for one, vectors in zip(found["data"], elmo.embed(texts), strict=True):
        near(decoded(one["vectors"]).reshape(vectors.shape), vectors)
    pooled = ask("/v1/embeddings", input=texts)
    near([one["embedding"] for one in pooled["data"]], elmo.encode(texts))


@pytest.mark.parametrize("direction", [None, "both", "forward", "backward"])
def test_scores_are_those_of_score(ask: Any, elmo: Elmo, direction: Any) -> None:
    found = ask("/v1/score", input=TEXTS, direction=direction)
    expected = elmo.score(TEXTS, direction=direction or "both")
    for one, scored in zip(found["data"], expected, strict=True):
        for name in ("forward", "backward"):
            values = getattr(scored, name)
            if values is None:
                assert one[name] is None
                assert one["end"][name] is None
                assert all(token[name] is None for token in one["tokens"])
                continue
            given = [token[name] for token in one["tokens"]] + [one["end"][name]]
            near(given, values)
            assert one[name] == pytest.approx(sum(values), abs=1e-5)
        assert [token["known"] for token in one["tokens"]] == [not u for u in scored.unknown]
        assert one["log_probability"] == pytest.approx(scored.log_probability, abs=1e-5)
        assert one["perplexity"] == pytest.approx(scored.perplexity, rel=1e-5)


def test_substitutes_are_those_of_substitutes(ask: Any, elmo: Elmo) -> None:
    text = "The ___ sat on the mat."
    expected = elmo.substitutes(text, count=4)
    found = ask("/v1/substitutes", input=text, count=4)
    assert found["word"] is None
    assert [one["word"] for one in found["data"]] == [one.word for one in expected]
    for name in ("probability", "log_probability", "forward_log_probability"):
        near([one[name] for one in found["data"]], [getattr(one, name) for one in expected])
    by_place = ask("/v1/substitutes", input="The cat sat on the mat.", position=1, count=3)
    assert by_place["word"] == "cat"
    tokens = [token.text for token in elmo.tokenise("The cat sat on the mat.")]
    assert [one["word"] for one in by_place["data"]] == [
        one.word for one in elmo.substitutes((tokens, 1), count=3)
    ]
    quick = ask("/v1/substitutes", input=tokens, position=1, count=3, rescore=False)
    assert [one["word"] for one in quick["data"]] == [
        one.word for one in elmo.substitutes((tokens, 1), count=3, rescore=False)
    ]
    assert quick["data"][0]["log_probability"] is None


def test_candidates_are_all_compared(ask: Any, elmo: Elmo) -> None:
    words = ["cat", "dog", "the mat", "unheard"] + [f"word{number}" for number in range(20)]
    found = ask("/v1/substitutes", input="A ___ .", candidates=words)
    expected = elmo.substitutes("A ___ .", candidates=words)
    assert [one["word"] for one in found["data"]] == [one.word for one in expected]
    near([one["probability"] for one in found["data"]], [one.probability for one in expected])
    assert [one["unknown"] for one in found["data"]] == [one.unknown for one in expected]


def test_neighbours_are_those_of_the_index(ask: Any, index: ContextIndex) -> None:
    expected = index.most_similar("A *cat* sat .", 3)
    found = ask("/v1/neighbours", input="A *cat* sat .", count=3)
    assert (found["word"], found["model"]) == ("cat", "small")
    assert [one["row"] for one in found["data"]] == [one.row for one in expected]
    near([one["similarity"] for one in found["data"]], [one.similarity for one in expected])
    for one in found["data"]:
        assert one["sentence"][one["position"]] == one["word"]
        assert one["text"][one["start"] : one["end"]] == one["word"]
    by_place = ask("/v1/neighbours", input=["A", "cat", "sat", "."], position=1, count=3)
    assert by_place == found
    assert ask("/v1/neighbours", input="A cat sat .", position=1, count=3) == found


def test_tasks_answer_as_their_predictor_does(ask: Any, predictor: Predictor) -> None:
    inputs: list[Any] = ["Ada went to Rome.", ["Bob", "went", "home"]]
    assert ask("/v1/tasks/ner", input=inputs) == {
        "object": "list",
        "task": "ner",
        "data": predictor.predict(inputs),
    }
    assert ask("/v1/tasks/ner", input=inputs[0])["data"] == predictor.predict(inputs[:1])


def test_a_wrong_input_of_a_task_fails_alone(client: httpx.Client) -> None:
    inputs: list[Any] = ["Ada went to Rome.", "", "Bob slept.", {"no": "text"}] * 4
    with ThreadPoolExecutor(len(inputs)) as pool:
        answers = list(
            pool.map(lambda one: client.post("/v1/tasks/ner", json={"input": one}), inputs)
        )
    assert [answer.status_code for answer in answers] == [200, 422, 200, 422] * 4


def test_the_official_client_works(server: Running, elmo: Elmo) -> None:
    expected = elmo.encode(TEXTS)
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client:
        found = client.embeddings.create(model="small", input=TEXTS)  # base64 on the wire
        near([one.embedding for one in found.data], expected)
        assert found.usage.prompt_tokens == 71
        plain = client.embeddings.create(model="small", input=TEXTS[0], encoding_format="float")
        near(plain.data[0].embedding, expected[0])
        assert [model.id for model in client.models.list()] == ["small", "other"]
        assert client.models.retrieve("other").id == "other"
        with pytest.raises(openai.NotFoundError, match="loaded are small, other"):
            client.embeddings.create(model="text-embedding-3-small", input="a")
        with pytest.raises(openai.UnprocessableEntityError, match="token ids"):
            client.embeddings.create(model="small", input=[1, 2, 3])
        with pytest.raises(openai.UnprocessableEntityError, match="16, the size"):
            client.embeddings.create(model="small", input="a", dimensions=8)


def test_answers_depend_on_the_request_alone(server: Running, elmo: Elmo) -> None:
    """Many clients ask at once, each with sentences of its own, after different others."""
    chance = random.Random(1)
    words = [*CORPUS.split(), "größe", "字", *(f"new{number}" for number in range(200))]
    texts = [" ".join(chance.choices(words, k=chance.randint(1, 30))) for _ in range(96)]
    same = "The bank of the river."
    pooled = elmo.encode([same, *texts])
    kinds = ("average", "top", "all")
    vectors = {layers: elmo.embed([same, *texts], layers=layers) for layers in kinds}

    def ask_some(number: int) -> None:
        with httpx.Client(base_url=server.url, timeout=60) as client:
            for place in range(number, len(texts), 8):
                asked: dict[str, Any] = {"input": [same, texts[place]]}
                found = client.post("/v1/embeddings", json=asked).json()["data"]
                near([one["embedding"] for one in found], pooled[[0, place + 1]])
                layers = kinds[place % 3]
                found = client.post("/v1/tokens", json={**asked, "layers": layers}).json()["data"]
                near(found[0]["vectors"], vectors[layers][0])
                near(found[1]["vectors"], vectors[layers][place + 1])

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(ask_some, number) for number in range(8)]:
            done.result()


def test_what_is_loaded_can_be_seen(client: httpx.Client, description: dict[str, Any]) -> None:
    models = client.get("/v1/models").json()
    assert [(one["id"], one["dim"], one["layers"]) for one in models["data"]] == [
        ("small", 16, 3),
        ("other", 16, 3),
    ]
    assert client.get("/v1/models/other").json() == models["data"][1]
    assert client.get("/v1/models/nothing").status_code == 404
    found = client.get("/v1/capabilities").json()
    assert found["model"] == "small"
    assert found["neighbours"] is True
    assert found["tasks"] == ["ner"]
    assert found["limits"]["batch_tokens"] == 1100
    for path in ("/livez", "/readyz"):
        assert client.get(path).json() == {"status": "ok"}
    for path in ("/v1/models", "/v1/capabilities", "/livez", "/readyz"):
        schema = description["paths"][path]["get"]["responses"]["200"]["content"]
        jsonschema_rs.validate(schema["application/json"]["schema"], client.get(path).json())


def test_figures_are_shown(client: httpx.Client) -> None:
    client.post("/v1/embeddings", json={"input": "the cat"})
    client.get("/nothing")
    text = client.get("/metrics").text
    for line in (
        'elmokit_request_seconds_count{route="/v1/embeddings",status="200"}',
        'elmokit_request_seconds_count{route="other",status="404"}',
        'elmokit_batch_tokens_bucket{computation="embed",le="16.0"}',
        'elmokit_items_computed_total{computation="embed"}',
        'elmokit_queue_requests{device="cpu"} 0.0',
        'elmokit_queue_tokens{device="cpu"} 0.0',
        'elmokit_word_cache_total{model="small",outcome="hit"}',
        'elmokit_word_cache_total{model="other",outcome="miss"}',
        "elmokit_requests_in_flight 1.0",
    ):
        assert line in text, line


def test_the_page_and_its_files_are_served(client: httpx.Client) -> None:
    front = client.get("/")
    assert front.headers["content-type"] == "text/html; charset=utf-8"
    policy = front.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    known = {"If-None-Match": front.headers["etag"]}
    assert client.get("/", headers=known).status_code == 304
    for name in (
        "../app.py",
        "..%2fapp.py",
        "nothing.js",
        "%2e",
        "%2e%2e",
        "%00",
        "index.html%00.js",
    ):
        assert client.get(f"/page/{name}").status_code in (404, 405), name
    script = client.get("/page/server.js")
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    docs = client.get("/docs")
    assert "POST /v1/embeddings" in docs.text
    assert "http" not in docs.text.replace("https://127", "")


def test_a_file_of_the_page_is_the_one_in_the_package(client: httpx.Client) -> None:
    for file in sorted(FOLDER.iterdir()):
        assert client.get(f"/page/{file.name}").content == file.read_bytes()
