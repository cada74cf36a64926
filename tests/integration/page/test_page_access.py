"""The page without a mouse, without eyes, on a phone, by day and by night."""

import re
from collections.abc import Callable

import pytest

from integration.page.visit import PHONE, Visit

Visits = Callable[..., Visit]


def focused(visit: Visit) -> str:
    """Name of what has the focus: its id, its word, or its text."""
    name: str = visit.page.evaluate(
        "(({id, dataset, textContent}) => id || dataset.example"
        " || ('token' in dataset ? `${dataset.sentence}.${dataset.token}` : textContent))"
        "(document.activeElement)"
    )
    return name


def test_all_of_it_works_with_the_keyboard(visit: Visits) -> None:
    visited = visit()
    visited.open("#text=She+sat+on+the+bank.%0AThe+bank+raised+its+rates.")
    keys = visited.page.keyboard
    order = []
    for _ in range(14):
        keys.press("Tab")
        order.append(focused(visited))
    # All words are one stop; arrows move between them.
    assert order == [
        "model", "english", "korean", "theme", "bank", "play", "spring", "typos", "text",
        "single", "mixed", "layer", "0.0", "copy-link",
    ]  # fmt: skip
    keys.press("Shift+Tab")
    for key, place in (
        ("ArrowRight", "0.1"),
        ("End", "0.5"),
        ("ArrowRight", "1.0"),
        ("ArrowLeft", "0.5"),
        ("Home", "0.0"),
        ("ArrowUp", "0.0"),
        ("ArrowDown", "1.0"),
        ("ArrowRight", "1.1"),
    ):
        keys.press(key)
        assert focused(visited) == place, key
    keys.press("Enter")
    visited.settle()
    assert visited.chip(1, 1).get_attribute("aria-pressed") == "true"
    assert focused(visited) == "1.1"
    keys.press("ArrowLeft")
    keys.press("Space")
    visited.settle()
    assert visited.chip(1, 0).get_attribute("aria-pressed") == "true"
    keys.press("Escape")
    assert visited.page.locator(".chip[aria-pressed=true]").count() == 0
    assert focused(visited) == "1.0"
    # The chosen word is where one comes back to.
    keys.press("Enter")
    visited.settle()
    keys.press("Tab")
    keys.press("Tab")
    assert focused(visited) == "copy-python"
    keys.press("Enter")
    assert visited.page.locator("#shown").is_visible()
    keys.press("Escape")
    assert visited.page.locator("#shown").is_hidden()
    assert visited.chip(1, 0).get_attribute("aria-pressed") == "true"
    assert focused(visited) == "copy-python"
    keys.press("Tab")
    assert focused(visited) == "release"
    keys.press("Tab")
    assert focused(visited) == "exact"
    keys.press("Enter")
    visited.settle()
    assert focused(visited) == "word-name"
    visited.page.locator("#layer").focus()
    keys.press("ArrowLeft")
    assert visited.page.locator("#layer").input_value() == "1"


def test_what_has_the_focus_is_seen(visit: Visits) -> None:
    visited = visit()
    visited.open("#text=She+sat.&word=0.1")
    keys = visited.page.keyboard
    for _ in range(16):
        keys.press("Tab")
        style = visited.page.evaluate(
            "(({outlineStyle, outlineWidth, boxShadow}) => [outlineStyle, outlineWidth, boxShadow])"
            "(getComputedStyle(document.activeElement))"
        )
        seen = style[0] != "none" and float(style[1].removesuffix("px")) >= 2
        assert seen, (focused(visited), style)


def test_what_a_screen_reader_says(visit: Visits) -> None:
    visited = visit()
    visited.open("#text=She+sat+on+the+bank.%0AThe+bank+raised+its+rates.")
    said = visited.page.locator("#announcer")
    assert said.text_content() == "12 words in 2 sentences."
    visited.choose(0, 4)
    told = said.text_content() or ""
    assert re.match(r"bank, sentence 1\. Closest: \w+ in sentence \d, 0\.\d\d; ", told)
    cosine = visited.cosines()[1][1]
    assert cosine is not None
    label = visited.chip(1, 1).get_attribute("aria-label") or ""
    assert label.startswith(f"bank, similarity {cosine:.2f}, surprise ")
    forward, backward = (visited.surprises(side)[1][1] for side in ("forward", "backward"))
    assert label.endswith(f"{forward:.1f} from the left, {backward:.1f} from the right")
    assert (visited.chip(0, 4).get_attribute("aria-label") or "").startswith("bank, chosen, ")
    tree = visited.page.locator("main").aria_snapshot()
    assert 'toolbar "Words' in tree
    assert 'group "Sentence 1"' in tree
    assert re.search(r'button "bank, similarity 0\.\d\d, surprise', tree)
    assert re.search(r'slider "Layer"', tree)
    assert re.search(r'img "Map of 10 words', tree)
    assert re.search(r'list "What else could stand here"', tree)
    valued = visited.page.locator("#layer").get_attribute("aria-valuetext") or ""
    assert valued.startswith("Layer 2. ")
    visited.page.keyboard.press("Escape")
    assert said.text_content() == "No word is chosen."


def test_everything_that_can_be_used_has_a_name(visit: Visits) -> None:
    visited = visit()
    visited.open_text("The bank.", (0, 1))
    for mixing in ("#single", "#mixed"):
        visited.page.locator(mixing).click()
        nameless = visited.page.evaluate(
            """() => [...document.querySelectorAll("button, input, select, textarea")]
              .filter(one => !(one.getAttribute("aria-label") || one.textContent.trim()
                || [...(one.labels ?? [])].some(label => label.textContent.trim())))
              .map(one => one.outerHTML).filter(html => !html.includes("shown-text"))"""
        )
        assert nameless == []
    ids = visited.page.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("language", ["en-GB", "ko-KR"])
def test_it_fits_a_phone(visit: Visits, language: str) -> None:
    visited = visit(size=PHONE, language=language)
    visited.open()
    long_word = "Donaudampfschifffahrtsgesellschaftskapitänsmützenknopfloch" * 2
    for text in (None, f"{long_word} und mehr.\nThe bank."):
        if text is not None:
            visited.write(text)
            visited.choose(0, 0)
        visited.page.locator("#mixed").click()
        wide = visited.page.evaluate(
            "[...document.body.querySelectorAll('*')].filter(one => one.checkVisibility()"
            " && !one.closest('.unseen, svg') && one.getBoundingClientRect().right"
            " > innerWidth + 1).map(one => one.outerHTML.slice(0, 80))"
        )
        assert wide == []
        assert visited.page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
        # Fingers need room.
        for chip in visited.page.locator(".chip").all()[:6]:
            box = chip.bounding_box()
            assert box and box["height"] >= 32 and box["width"] >= 32
    visited.page.locator("#copy-python").click()
    box = visited.page.locator("#shown").bounding_box()
    assert box and box["x"] >= 0 and box["x"] + box["width"] <= PHONE[0]


CONTRASTS = """() => {
  const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => channels(colour).slice(0, 3).map((value) => value / 255)
    .map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
    .reduce((sum, value, place) => sum + value * [0.2126, 0.7152, 0.0722][place], 0);
  const ratio = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if ((channels(colour)[3] ?? 1) === 1) return colour;
    }
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const text = walker.currentNode.data.trim();
    const holder = walker.currentNode.parentElement;
    if (!text || !holder.checkVisibility({visibilityProperty: true})) continue;
    if (holder.closest(".unseen, noscript, title, select")) continue;
    const style = getComputedStyle(holder);
    const colour = holder.closest("svg") ? style.fill : style.color;
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    found.push([ratio(colour, ground(holder)), large ? 3 : 4.5, text, holder.className]);
  }
  for (const one of document.querySelectorAll(".marker svg, .key, .surprise i")) {
    const style = getComputedStyle(one);
    const colour = one.matches("svg") ? style.color : style.backgroundColor;
    found.push([ratio(colour, ground(one.parentElement)), 3, one.className.baseVal ?? "bar", ""]);
  }
  return found;
}"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_contrast_is_enough_everywhere(visit: Visits, dark: bool) -> None:
    """WCAG 2.1 AA: 4.5 for text, 3 for large letters and for signs."""
    visited = visit(dark=dark)
    visited.open_text("\n".join(["She sat on the bank."] * 7), (0, 4))
    visited.page.evaluate(  # all eleven colours of similarity, which no text has at once
        "document.querySelectorAll('.chip').forEach((one, place) => one.dataset.level = place % 11)"
    )
    visited.page.evaluate("document.getElementById('shown').show()")
    visited.page.evaluate("document.getElementById('key-wrong').hidden = false")
    visited.page.evaluate("document.getElementById('key').show()")
    visited.page.evaluate(
        "import('/page/problems.js').then(all => all.failed(new Error('detail'), () => {}))"
    )
    visited.page.locator("#problem").wait_for()
    measured = visited.page.evaluate(CONTRASTS)
    assert len(measured) > 150
    weak = [(round(ratio, 2), *more) for ratio, least, *more in measured if ratio < least]
    assert weak == []
