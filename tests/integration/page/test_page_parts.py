"""The page's modules by themselves, its weight, and what it may load."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser

import elmokit.serve
from integration.page.test_page_answers import principal
from integration.page.visit import Visit

PAGE = Path(elmokit.serve.__file__).parent / "page"
MOST_BYTES = 300_000

Visits = Callable[..., Visit]


@pytest.fixture(scope="module")
def blank(browser: Browser, address: str) -> Iterator[Visit]:
    """A tab at the server, in which modules can be imported, without a view."""
    visited = Visit(browser, address)
    visited.page.route("**/favicon.ico", lambda route: route.fulfill(status=204))
    visited.page.goto(f"{address}/livez")
    yield visited
    visited.close()


def test_it_is_light_and_whole(visit: Visits) -> None:
    visited = visit()
    weights = {}
    visited.page.on(
        "response",
        lambda response: (
            weights.update({response.url: int(response.headers["content-length"])})
            if response.request.method == "GET"
            else None
        ),
    )
    visited.open()
    names = {url.removeprefix(visited.address).removeprefix("/page/") for url in weights}
    files = {file.name for file in PAGE.iterdir()}
    assert files - names == {"index.html"}  # which is called /
    assert sum(weights.values()) < MOST_BYTES
    assert sum(file.stat().st_size for file in PAGE.iterdir()) < MOST_BYTES


def test_no_script_or_style_stands_in_the_markup(visit: Visits) -> None:
    visited = visit()
    response = visited.page.goto(visited.address)
    assert response
    policy = response.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert re.search(r"default-src '(self|none)'", policy)
    text = (PAGE / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*src=)", text)
    for file in PAGE.iterdir():
        assert not re.search(r"innerHTML|insertAdjacentHTML|eval\(|https?://(?!www.w3.org/)",
                             file.read_text(encoding="utf-8")), file.name  # fmt: skip
    visited.settle()


def test_every_module_is_loaded_at_once() -> None:
    text = (PAGE / "index.html").read_text(encoding="utf-8")
    named = set(re.findall(r'(?:href|src)="page/([^"]+)"', text))
    assert named == {file.name for file in PAGE.iterdir()} - {"index.html"}


def test_both_languages_say_the_same_things(blank: Visit) -> None:
    english, korean = (
        blank.page.evaluate(f"import('/page/{name}.js').then(all => all.{name})")
        for name in ("english", "korean")
    )
    assert list(english) == list(korean)
    for name, text in english.items():
        assert set(re.findall(r"\{\w+\}", text)) == set(re.findall(r"\{\w+\}", korean[name])), name
    code = "".join(file.read_text(encoding="utf-8") for file in PAGE.glob("*.js"))
    code += (PAGE / "index.html").read_text(encoding="utf-8")
    unsaid = [
        name
        for name in english
        if f'"{name}"' not in re.sub(r'^  "[^"]+": .*$', "", code, flags=re.M)
        and not name.startswith("task ")
    ]
    assert unsaid == []
    front = (PAGE / "index.html").read_text(encoding="utf-8")
    for name, text in re.findall(r'data-say="([^"]+)"[^>]*>([^<]+)<', front):
        assert english[name] == text, name


@pytest.mark.parametrize(("count", "size"), [(2, 5), (3, 704), (40, 704), (150, 20), (9, 2)])
def test_components_are_those_of_numpy(blank: Visit, count: int, size: int) -> None:
    points = np.random.default_rng(count).normal(size=(count, size))
    found = blank.page.evaluate(
        "rows => import('/page/principal.js').then(all => all.principal(rows))", points.tolist()
    )
    wanted = principal(points)
    if count == 2:  # two points differ in one direction alone
        wanted[:, 1] = 0
    np.testing.assert_allclose(np.array(found), wanted, atol=1e-6)


def test_components_of_equal_points_are_zero(blank: Visit) -> None:
    for rows in ([], [[1.0, 2.0]], [[1.0, 2.0]] * 5):
        found = blank.page.evaluate(
            "rows => import('/page/principal.js').then(all => all.principal(rows))", rows
        )
        assert np.abs(np.array(found)).sum() == 0
        assert len(found) == len(rows)


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("decimals(-0.004)", "0.00"),
        ("decimals(-0.04)", "\N{MINUS SIGN}0.04"),
        ("decimals(0.996)", "1.00"),
        ("percent(0.0994)", "9.9%"),
        ("percent(0.5)", "50%"),
        ("percent(0)", "<0.1%"),
        ("tries(0)", "1.0"),
        ("tries(4.83)", "130"),
        ("tries(14)", "1,200,000"),
    ],
)
def test_numbers_are_written(blank: Visit, call: str, wanted: str) -> None:
    assert blank.page.evaluate(f"import('/page/numbers.js').then(all => all.{call})") == wanted


def test_tokens_are_joined_as_people_write(blank: Visit) -> None:
    tokens = ["Do", "n't", "(", "she", "'s", "gone", ")", ",", "5", "%", ":", "no", "!"]
    found = blank.page.evaluate(
        "tokens => import('/page/spacing.js').then(all => all.joined(tokens))", tokens
    )
    assert found == "Don't (she's gone), 5%: no!"


def test_sentences_are_lines(blank: Visit) -> None:
    found = blank.page.evaluate(
        "import('/page/reading.js').then(all => all.sentencesOf(' a b \\r\\n\\n c\\n  \\n'))"
    )
    assert found == ["a b", "c"]


@pytest.mark.parametrize(
    ("name", "sentences", "answers", "asked", "shown"),
    [
        ("sst", ["Fine."], [{"tokens": ["Fine", "."], "label": "good",
          "probabilities": {"good": 0.75, "bad": 0.25}}], ["Fine."], "Fine. good75%"),
        ("snli", ["A.", "B."], [{"premise": ["A", "."], "hypothesis": ["B", "."],
          "label": "neutral", "probabilities": {"neutral": 1}}],
         [{"premise": "A.", "hypothesis": "B."}], "B. neutral100%"),
        ("snli", ["A."], [], None, "Write a second sentence to compare it with the first."),
        ("squad", ["A cat sat.", "Who sat?"],
         [{"question": "Who sat?", "text": "A cat", "start": 0, "end": 5, "score": 0.5,
           "tokens": ["A", "cat"]}],
         [{"context": "A cat sat.", "question": "Who sat?"}], "Who sat? A cat50%"),
        ("srl", ["Ada sleeps."], [[{"tokens": ["Ada", "sleeps", "."], "pred": 1,
          "predicate": "sleeps", "spans": [{"label": "ARG0", "first": 0, "last": 0},
          {"label": "V", "first": 1, "last": 1}]}]], ["Ada sleeps."], "AdaARG0 sleepsV."),
        ("coref", ["Ada sat.", "She slept."], [{"sentences": [], "clusters": [[
          {"text": "Ada"}, {"text": "She"}]]}], [["Ada sat.", "She slept."]], "Ada = She"),
        ("coref", ["Ada."], [{"sentences": [], "clusters": []}], [["Ada."]],
         "Nothing is mentioned twice."),
        ("mine", ["Ada."], [{"x": 1}], ["Ada."], '{"x":1}'),
    ],
)  # fmt: skip
def test_other_tasks_are_asked_and_drawn(
    blank: Visit, name: str, sentences: list[str], answers: list[object], asked: object, shown: str
) -> None:
    """The bundled model for names is tested with the real server; no model of these is bundled."""
    body, text = blank.page.evaluate(
        """async ({name, sentences, answers}) => {
          const tasks = await import("/page/tasks.js");
          let body = null;
          window.fetch = async (path, {body: sent}) => {
            body = JSON.parse(sent).input;
            return new Response(JSON.stringify({data: answers}));
          };
          const found = await tasks.fetchTask(name, sentences);
          const card = tasks.taskCard(name, found);
          return [body, card.lastElementChild.textContent];
        }""",
        {"name": name, "sentences": sentences, "answers": answers},
    )
    assert body == asked
    assert text == shown
