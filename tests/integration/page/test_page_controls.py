"""Every control of the page does what it says."""

import re
from collections.abc import Callable

import pytest

from elmokit.embed.elmo import Elmo
from integration.page.visit import Visit

Visits = Callable[..., Visit]

# Each example: what is chosen, one word that must come near to it, and one that must stay away.
EXAMPLES = {
    "bank": ("bank", (1, 10), (2, 1)),
    "play": ("play", (3, 8), (1, 3)),
    "spring": ("spring", (1, 5), (4, 2)),
    "typos": ("government", (1, 1), (1, 3)),
}


def test_examples_show_something_at_one_click(visit: Visits) -> None:
    visited = visit()
    visited.open_text("Hello")
    for name, (word, near, far) in EXAMPLES.items():
        visited.page.locator(f"[data-example={name}]").click()
        visited.settle()
        assert visited.page.locator(".chip[aria-pressed=true] > span").text_content() == word
        cosines = visited.cosines()
        closer, farther = (cosines[sentence][token] for sentence, token in (near, far))
        assert closer is not None and farther is not None
        assert closer > farther + 0.2
        assert visited.page.locator("#text").input_value().count("\n") >= 2


def test_the_first_view_needs_no_click(visit: Visits) -> None:
    visited = visit()
    visited.open()
    assert visited.page.locator(".chip[aria-pressed=true] > span").text_content() == "bank"
    assert visited.page.locator("#map .point").count() > 30
    assert visited.page.locator(".substitutes li").count() == 8
    assert visited.page.title() == "One word, many meanings · elmokit"
    # And the word can be let go.
    visited.page.locator("#release").click()
    assert visited.page.locator(".chip[aria-pressed=true]").count() == 0
    assert {cosine for line in visited.cosines() for cosine in line} == {None}
    assert visited.page.locator("#word-name").text_content() == "Choose a word"
    assert visited.page.locator("#map .chosen").count() == 0
    # The map chooses words too.
    visited.page.locator("#map .point[data-sentence='2'][data-token='7'] path").click()
    visited.settle()
    assert visited.page.locator(".chip[aria-pressed=true] > span").text_content() == "loans"
    chosen = visited.page.locator("#map .chosen")
    assert chosen.locator("text").text_content() == "loans"


def test_words_of_sentences_differ_in_shape_and_colour(visit: Visits) -> None:
    visited = visit()
    visited.open_text("\n".join(["The bank."] * 6))
    points = visited.page.locator("#map .point[data-token='1']")
    shapes = points.locator("path").evaluate_all("all => all.map(one => one.getAttribute('d'))")
    colours = points.evaluate_all("all => all.map(one => getComputedStyle(one).color)")
    assert len(set(shapes)) == len(set(colours)) == 6
    # The same sign stands before the sentence.
    before = visited.page.locator(".sentence > .marker path")
    assert before.evaluate_all("all => all.map(one => one.getAttribute('d'))") == shapes


def test_labels_on_the_map_do_not_collide(visit: Visits) -> None:
    visited = visit()
    visited.open()
    for layer in range(3):
        visited.page.locator(".ticks button").nth(layer).click()
        boxes = visited.page.locator("#map .point:not(.unlabelled) text").evaluate_all(
            "all => all.map(one => one.getBoundingClientRect())"
            ".map(({left, right, top, bottom}) => [left, right, top, bottom])"
        )
        assert len(boxes) > 20
        for number, (left, right, top, bottom) in enumerate(boxes):
            # Boxes have air above and below their letters.
            for l2, r2, t2, b2 in boxes[number + 1 :]:
                air = 0.3 * (bottom - top)
                assert not (left < r2 and l2 < right and top + air < b2 and t2 + air < bottom)


def test_typing_reads_only_what_is_new(visit: Visits, elmo: Elmo) -> None:
    visited = visit()
    visited.open("#text=The+bank.%0AA+cat+sat.&word=0.1")
    field = visited.page.locator("#text")
    field.press("Control+End")
    field.press_sequentially("\nA dog ran.", delay=5)
    visited.settle()
    assert visited.words() == [
        ["The", "bank", "."],
        ["A", "cat", "sat", "."],
        ["A", "dog", "ran", "."],
    ]
    first, *others = [body["input"] for body in visited.asked("v1/tokens")]
    assert first == ["The bank.", "A cat sat."]
    # Fast typing asks seldom, and never for sentences that are known.
    assert len(others) <= 3
    assert others[-1] == ["A dog ran."]
    assert visited.page.locator(".chip[aria-pressed=true] > span").text_content() == "bank"
    # The chosen word is found again where it went.
    field.fill("On the bank.\nA cat sat.")
    visited.settle()
    chosen = visited.page.locator(".chip[aria-pressed=true]")
    assert chosen.get_attribute("data-token") == "2"
    field.fill("")
    visited.settle()
    assert visited.words() == []
    assert "Write a sentence" in visited.page.locator("#words").inner_text()


def test_markup_and_odd_characters_are_only_text(visit: Visits) -> None:
    visited = visit()
    text = (
        '<img src=x onerror=alert(1)> & "quotes"\n𝕏 marks the 🏦 spot .\n고양이가 앉았다 .\n* a * b'
    )
    visited.open_text(text)
    assert visited.page.locator("#words img").count() == 0
    words = visited.words()
    assert "".join(words[0]) == text.splitlines()[0].replace(" ", "")
    visited.choose(1, 4)
    visited.choose(2, 0)
    visited.choose(3, 1)
    assert visited.page.locator("#problem").is_hidden()


def test_a_link_brings_the_view_back(visit: Visits) -> None:
    visited = visit()
    visited.open("#text=Hello")
    visited.write("The bank & the river = 100% “near”.\n고양이 + cat #1")
    visited.choose(1, 2)
    visited.page.locator("#mixed").click()
    visited.page.locator("#share-1").fill("90")
    visited.page.locator("#korean").click()
    visited.page.locator("#copy-link").click()
    visited.page.get_by_text("복사했습니다", exact=True).wait_for()
    link = visited.page.evaluate("navigator.clipboard.readText()")
    assert link.startswith(visited.address + "/#")
    assert link == visited.page.url
    other = visit()
    other.page.goto(link)
    other.settle()
    seen = [
        (
            one.page.locator("#text").input_value(),
            one.cosines(),
            one.page.locator(".share output").all_text_contents(),
            one.page.locator("html").get_attribute("lang"),
            one.page.locator("#word-name").text_content(),
        )
        for one in (visited, other)
    ]
    assert seen[0] == seen[1]
    assert seen[0][3] == "ko"
    # A link that is put into the address of the open page works as well.
    other.page.evaluate("location.hash = '#text=A+cat.&word=0.1&layer=1'")
    other.page.locator(".chip > span", has_text="cat").wait_for()
    other.settle()
    assert other.page.locator("#word-name").text_content() == "cat"
    assert other.page.locator("#layer").input_value() == "1"


def test_without_a_clipboard_things_are_shown_to_be_copied(visit: Visits) -> None:
    """Browsers give none to a page that comes by plain HTTP from another machine."""
    visited = visit()
    page = visited.page
    page.add_init_script("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    visited.open_text("The bank.", (0, 1))
    page.locator("#copy-link").click()
    assert page.locator("#shown-text").input_value() == page.url
    page.locator("#shown-copy").click()
    page.get_by_text("Copy it with Ctrl+C").wait_for()
    assert page.evaluate("getSelection().toString()") == page.url
    page.get_by_role("button", name="Close", exact=True).click()
    assert page.locator("#shown").is_hidden()


def test_a_broken_link_still_shows_its_text(visit: Visits) -> None:
    visited = visit()
    for rest in (
        "word=7.9&layer=9",
        "word=x&layer=-1&mix=1,2&lang=xx&model=none",
        "mix=a,b,c",
        "mix=-1,2,1000",
        "word=0.9",
    ):
        visited.open(f"#text=The+bank.&{rest}")
        assert visited.words() == [["The", "bank", "."]], rest
        assert visited.page.locator("#layer").input_value() == "2", rest
        assert visited.page.locator(".chip[aria-pressed=true]").count() == 0, rest


def test_models_can_be_changed(visit: Visits) -> None:
    visited = visit()
    visited.open()
    visited.page.locator("#model").select_option("tiny-untrained")
    visited.settle()
    # This one cannot guess words, and says so.
    assert visited.page.locator(".substitutes").count() == 0
    assert "cannot guess" in visited.page.locator("#word").inner_text()
    assert visited.page.locator("#surprise-legend").is_hidden()
    assert visited.asked("v1/tokens")[-1]["model"] == "tiny-untrained"
    assert re.search(r"model=tiny-untrained", visited.page.evaluate("location.hash"))
    visited.page.locator("#model").select_option("english-base")
    visited.settle()
    assert visited.page.locator(".substitutes li").count() == 8


def test_the_languages(visit: Visits) -> None:
    visited = visit(language="ko-KR")
    visited.open("#text=The+bank.&word=0.1")
    page = visited.page
    assert page.locator("html").get_attribute("lang") == "ko"
    assert page.locator("h1").text_content() == "한 낱말, 여러 뜻"
    assert page.title() == "한 낱말, 여러 뜻 · elmokit"
    assert "유사도" in (visited.chip(0, 0).get_attribute("aria-label") or "")
    assert left_in_english(visited) == []
    page.locator("#english").click()
    assert page.locator("h1").text_content() == "One word, many meanings"
    assert page.locator("#english").get_attribute("aria-pressed") == "true"
    assert "similarity" in (visited.chip(0, 0).get_attribute("aria-label") or "")
    page.locator("#korean").click()
    assert left_in_english(visited) == []


def left_in_english(visit: Visit) -> list[str]:
    """Texts of the page that are no Korean; words of the model and names stay as they are."""
    texts: list[str] = visit.page.evaluate(
        """() => {
          const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
          const found = [];
          const kept = ".chip, .substitutes, .point, option, dialog, [lang], .lines, #word-name,"
            + "#elsewhere .row, b, noscript, footer";
          while (walker.nextNode()) {
            const holder = walker.currentNode.parentElement;
            if (!holder.closest(kept) || holder.closest("dialog")) {
              if (!holder.closest("noscript, textarea, [lang]:not(html)")) {
                found.push(walker.currentNode.data.trim());
              }
            }
          }
          return found;
        }"""
    )
    allowed = {"×", "−log p"}
    return [
        text
        for text in texts
        if re.search(r"[A-Za-z]{2}", re.sub(r"−log p = \S+|elmokit|Ctrl\+C", "", text))
        and text not in allowed
        and not re.search(r"[가-힣]", text)
    ]


def test_other_browsers_read_english(visit: Visits) -> None:
    visited = visit(language="fr-FR")
    visited.open("#text=Hello")
    assert visited.page.locator("html").get_attribute("lang") == "en"


@pytest.mark.parametrize("dark", [False, True])
def test_light_and_dark_follow_the_system_until_they_are_chosen(visit: Visits, dark: bool) -> None:
    visited = visit(dark=dark)
    visited.open("#text=Hello")

    def is_dark() -> bool:
        colour = visited.page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, re.findall(r"\d+", colour))) < 384

    assert is_dark() == dark
    button = visited.page.locator("#theme")
    assert button.text_content() == ("Light" if dark else "Dark")
    button.click()
    assert is_dark() != dark
    visited.page.reload()
    visited.settle()
    assert is_dark() != dark
    button.click()
    assert is_dark() == dark
