"""A browser, a server with everything that the page can show, and the library to compare with."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

import elmokit
from elmokit.analysis.context_index import ContextIndex
from elmokit.analysis.context_index_build import build_index
from elmokit.embed.elmo import Elmo
from integration.page.running_server import serving
from integration.page.visit import Visit

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

CORPUS = """\
We sat on the bank of the river and ate our bread.
A heron stood on the far bank and waited for a fish.
The bank raised the interest on its loans again.
The manager of the bank refused to extend the credit.
The play was written for the theatre in our town.
Children play in the garden behind the house.
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's chromium, driven by Playwright."""
    if not CHROMIUM.exists():
        pytest.skip(f"the page is tested with chromium, and there is none at {CHROMIUM}")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield started
        started.close()


@pytest.fixture(scope="module")
def elmo() -> Elmo:
    """The library's own answers."""
    return elmokit.load()


@pytest.fixture(scope="module")
def index(elmo: Elmo, tmp_path_factory: pytest.TempPathFactory) -> ContextIndex:
    """A few sentences that words have neighbours in."""
    folder = tmp_path_factory.mktemp("index")
    (folder / "text.txt").write_text(CORPUS, encoding="utf-8")
    build_index([folder / "text.txt"], folder / "index", elmo=elmo)
    return ContextIndex.open(folder / "index", elmo=elmo)


@pytest.fixture(scope="module")
def address(browser: Browser, index: ContextIndex) -> Iterator[str]:
    """A server with two models, an index and a task."""
    options = ["--model", "english-base", "--model", "tiny-untrained"]
    with serving(*options, "--index", str(index.folder), "--task", "ner") as found:
        yield found


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[Callable[..., Visit]]:
    """Begins visits; they are closed, and checked, when the test ends."""
    begun: list[Visit] = []

    def begin(**options: Any) -> Visit:
        begun.append(Visit(browser, options.pop("address", address), **options))
        return begun[-1]

    yield begin
    for one in begun:
        one.close()
