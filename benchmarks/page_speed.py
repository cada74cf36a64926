"""How fast is the page? The first view, and a click on a word.

    python benchmarks/page_speed.py [--visits 7] [--clicks 20] [--address http://127.0.0.1:8000]

Starts `elmo serve` with the bundled model (or asks a server that runs), opens the page in Debian's
chromium with an empty cache for each visit, and clicks on words. Times are the browser's own, in
milliseconds: of a visit, from the start of the navigation until all words stand there, are
coloured, have substitutes, have their surprise; of a click, until the colours are painted, and
until the substitutes are there too. Wanted are a first view below 1000 and a click below 200.
"""

import argparse
import os
import platform
import statistics
import sys
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from elmokit.version import __version__

CHROMIUM = "/usr/bin/chromium"
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

# Notes when each part of the first view is there.
WATCH = """
const parts = {
  words: ".chip",
  colours: ".chip[data-level]",
  substitutes: ".substitutes li",
  surprise: "i[data-surprise]",
};
window.seen = {};
new MutationObserver(() => {
  for (const [name, selector] of Object.entries(parts)) {
    if (!(name in seen) && document.querySelector(selector)) seen[name] = performance.now();
  }
}).observe(document, {subtree: true, childList: true, attributes: true});
"""

CLICK = """async (chip) => {
  const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const answered = new Promise((done) => {
    const look = () => document.querySelector("#word [aria-busy=true]") === null && done();
    new MutationObserver(look).observe(document.getElementById("word"), {
      subtree: true, childList: true,
    });
  });
  const start = performance.now();
  chip.click();
  await painted();
  const colours = performance.now() - start;
  if (document.querySelector("#word [aria-busy=true]") !== null) await answered;
  await painted();
  return [colours, performance.now() - start];
}"""


def first_view(browser: Browser, address: str) -> tuple[dict[str, float], int]:
    """Give the times of the parts of a first view, and the bytes of the page's files."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.add_init_script(WATCH)
    weights: list[int] = []
    page.on(
        "response",
        lambda response: (
            weights.append(int(response.headers["content-length"]))
            if "/v1/" not in response.url
            else None
        ),
    )
    page.goto(address)
    page.locator("i[data-surprise]").first.wait_for(state="attached")
    page.locator(".substitutes li").first.wait_for()
    times: dict[str, float] = page.evaluate("seen")
    times["paint"] = page.evaluate(
        "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    )
    context.close()
    return times, sum(weights)


def clicks(browser: Browser, address: str, count: int) -> list[list[float]]:
    """Give for each click the times of colours and of the whole answer."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(address)
    page.locator("i[data-surprise]").first.wait_for(state="attached")
    page.locator(".substitutes li").first.wait_for()
    # Each word once: what was asked about is kept by the page.
    words = page.locator(".chip[aria-pressed=false]").element_handles()[: count + 2]
    found = []
    for word in words:
        found.append(page.evaluate(CLICK, word))
        page.wait_for_timeout(200)
    context.close()
    return found[2:]  # the first ones warm up


def line(name: str, values: list[float], most: int | None = None) -> None:
    bound = "" if most is None else f"   wanted: below {most}"
    print(
        f"  {name:34} median {statistics.median(values):7.0f}   "
        f"fastest {min(values):7.0f}   slowest {max(values):7.0f}{bound}"
    )


def measure(address: str, arguments: argparse.Namespace) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        cold, weight = first_view(browser, address)
        visits = [first_view(browser, address)[0] for _ in range(arguments.visits)]
        clicked = clicks(browser, address, arguments.clicks)
        print(
            f"elmokit {__version__}, Python {platform.python_version()}, "
            f"chromium {browser.version}, {os.cpu_count()} cores, {platform.machine()}, "
            f"load {os.getloadavg()[0]:.1f}"
        )
        browser.close()
    print(f"{' '.join(['python', *sys.argv])}\n")
    print(f"weight of the page: {weight} bytes in one visit")
    print(f"\nfirst view, ms, {arguments.visits} visits with an empty cache")
    for name, part in (
        ("first paint", "paint"),
        ("words", "words"),
        ("words coloured, map drawn", "colours"),
        ("surprise below them", "surprise"),
        ("substitutes of the chosen word", "substitutes"),
    ):
        wanted = 1000 if part == "colours" else None
        line(name, [visit[part] for visit in visits], wanted)
    print(f"  (the very first visit of this server: coloured after {cold['colours']:.0f})")
    print(f"\na click on a word, ms, {len(clicked)} clicks")
    line("colours painted", [colours for colours, _ in clicked])
    line("substitutes there too", [answered for _, answered in clicked], 200)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--address", help="a server that runs; default: start one")
    parser.add_argument("--visits", type=int, default=7)
    parser.add_argument("--clicks", type=int, default=20)
    arguments = parser.parse_args()
    if not Path(CHROMIUM).exists():
        sys.exit(f"chromium is needed, and there is none at {CHROMIUM}")
    if arguments.address:
        measure(arguments.address, arguments)
    else:
        # The server is that of the tests.
        sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
        from integration.page.running_server import serving

        with serving(threads=None) as address:
            measure(address, arguments)


if __name__ == "__main__":
    main()
