"""A visit to the page with a real browser, that notices what should not happen."""

import json
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Browser, ConsoleMessage, Locator, Request, expect

PATIENCE = 60_000  # milliseconds; only a hang takes so long
DESKTOP, PHONE = (1280, 900), (360, 780)


class Visit:
    """One tab. `close` fails if the page complained or asked anyone but its server."""

    def __init__(
        self,
        browser: Browser,
        address: str,
        *,
        size: tuple[int, int] = DESKTOP,
        language: str = "en-GB",
        dark: bool = False,
    ) -> None:
        self.address = address
        self._context = browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            locale=language,
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            permissions=["clipboard-read", "clipboard-write"],
        )
        self._context.set_default_timeout(PATIENCE)
        self.page = self._context.new_page()
        self.complaints: list[str] = []
        """Errors and warnings of the console; a test that provokes them empties it."""
        self.requests: list[Request] = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._sent)

    def _sent(self, request: Request) -> None:
        self.requests.append(request)

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.text} ({message.location})")

    def open(self, fragment: str = "") -> None:
        """Open the page, or a link to a view, anew."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}/{fragment}")
        self.settle()

    def open_text(self, text: str, word: tuple[int, int] | None = None) -> None:
        """Open the page with a text, and perhaps a chosen word."""
        parts = {"text": text}
        if word is not None:
            parts["word"] = f"{word[0]}.{word[1]}"
        self.open(f"#{urlencode(parts)}")

    def settle(self) -> None:
        """Wait until every answer has come and is drawn."""
        expect(self.page.locator("[aria-busy=true]")).to_have_count(0, timeout=PATIENCE)

    def close(self) -> None:
        """End the visit."""
        strangers = [
            request.url
            for request in self.requests
            if not request.url.startswith((self.address, "about:"))
        ]
        self._context.close()
        assert not self.complaints, self.complaints
        assert not strangers, strangers

    def write(self, text: str) -> None:
        """Put sentences into the field, as typing does."""
        self.page.locator("#text").fill(text)
        self.settle()

    def chip(self, sentence: int, token: int) -> Locator:
        """The chip of a word."""
        return self.page.locator(f".chip[data-sentence='{sentence}'][data-token='{token}']")

    def choose(self, sentence: int, token: int) -> None:
        """Click on a word."""
        self.chip(sentence, token).click()
        self.settle()

    def words(self) -> list[list[str]]:
        """The chips' words, sentence by sentence."""
        found: list[list[str]] = self.page.eval_on_selector_all(
            ".sentence",
            "lines => lines.map(line =>"
            " [...line.querySelectorAll('.chip > span')].map(one => one.textContent))",
        )
        return found

    def cosines(self) -> list[list[float | None]]:
        """What the chips' numbers were rounded from."""
        found: list[list[float | None]] = self.page.eval_on_selector_all(
            ".sentence",
            "lines => lines.map(line => [...line.querySelectorAll('.chip')]"
            ".map(one => 'cosine' in one.dataset ? Number(one.dataset.cosine) : null))",
        )
        return found

    def surprises(self, side: str) -> list[list[float]]:
        """What the bars of a side were drawn from."""
        found: list[list[float]] = self.page.eval_on_selector_all(
            ".sentence",
            "(lines, side) => lines.map(line => [...line.querySelectorAll(`i.${side}`)]"
            ".map(one => Number(one.dataset.surprise)))",
            side,
        )
        return found

    def substitutes(self) -> list[tuple[str, float]]:
        """The words that could stand in the chosen place, and their probabilities."""
        found = self.page.eval_on_selector_all(
            ".substitutes li",
            "lines => lines.map(({dataset}) => [dataset.word, Number(dataset.probability)])",
        )
        return [(word, probability) for word, probability in found]

    def asked(self, path: str) -> list[Any]:
        """The bodies of the requests to a route of the server."""
        return [
            json.loads(request.post_data or "null")
            for request in self.requests
            if request.url == f"{self.address}/{path}"
        ]
