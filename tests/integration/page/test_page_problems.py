"""What the server refuses is said in plain words, and nothing is lost."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route

from integration.page.running_server import serving
from integration.page.visit import Visit

Visits = Callable[..., Visit]
TEXT = "The bank raised its rates.\nShe sat on the bank."


def refuse(
    status: int, *, times: int = 10**6, seconds: int | None = None
) -> Callable[[Route], None]:
    """Answer so many times with an error, then let requests through."""
    left = times
    headers = {"Content-Type": "application/json"}
    if seconds is not None:
        headers["Retry-After"] = str(seconds)

    def answer(route: Route) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            route.fallback()
            return
        body = '{"error": {"message": "a reason", "type": "x", "param": null, "code": null}}'
        route.fulfill(status=status, body=body, headers=headers)

    return answer


def forgive(visit: Visit, what: str) -> None:
    """The browser itself notes failed requests in the console; nothing else may be there."""
    others = [one for one in visit.complaints if not re.search(what, one)]
    assert others == []
    assert visit.complaints
    visit.complaints.clear()


def test_a_busy_server_is_asked_again(visit: Visits) -> None:
    visited = visit()
    visited.open_text("A cat sat.")
    visited.page.route("**/v1/tokens", refuse(429, times=1, seconds=1))
    visited.page.locator("#text").fill(TEXT)
    problem = visited.page.locator("#problem")
    problem.get_by_text("Asking again in 1 s").wait_for()
    visited.settle()
    assert problem.is_hidden()
    assert visited.words()[0][:2] == ["The", "bank"]
    forgive(visited, "429")


def test_a_server_that_stays_busy(visit: Visits) -> None:
    visited = visit()
    visited.open_text("A cat sat.")
    before = visited.words()
    visited.page.route("**/v1/tokens", refuse(429, seconds=0))
    visited.page.locator("#text").fill(TEXT)
    problem = visited.page.locator("#problem")
    problem.get_by_text("The server is busy just now. Your text is still here.").wait_for()
    visited.settle()
    # The old answer stays, and so does the text.
    assert visited.words() == before
    assert visited.page.locator("#text").input_value() == TEXT
    assert problem.get_attribute("role") == "alert"
    visited.page.locator("#korean").click()
    assert "서버가 바쁩니다" in problem.inner_text()
    visited.page.unroute("**/v1/tokens")
    problem.get_by_role("button").click()
    visited.settle()
    assert problem.is_hidden()
    assert len(visited.words()) == 2
    forgive(visited, "429")


def test_refusals_in_plain_words(visit: Visits) -> None:
    visited = visit()
    visited.open_text("Hello")
    for status, said in {
        413: "too much text",
        422: "cannot read this text",
        404: "does not have this model",
        503: "starting or stopping",
        500: "went wrong on the server (500)",
        502: "went wrong on the server (502)",
    }.items():
        visited.page.route("**/v1/tokens", refuse(status))
        visited.write(f"{TEXT}\n{status}")
        assert said in visited.page.locator("#problem p").inner_text()
        assert visited.page.locator("#problem .detail").inner_text() == "a reason"
        assert visited.page.locator("#text").input_value() == f"{TEXT}\n{status}"
        visited.page.unroute("**/v1/tokens")
        forgive(visited, str(status))


def test_the_servers_own_limits(visit: Visits) -> None:
    visited = visit()
    visited.open_text("Hello")
    limits = visited.page.evaluate("fetch('/v1/capabilities').then(one => one.json())")["limits"]
    problem = visited.page.locator("#problem p")
    visited.write("word " * (limits["sentence_tokens"] + 1))
    assert f"takes {limits['sentence_tokens']} words at most" in problem.inner_text()
    # To type so many lines takes browsers half a minute.
    visited.page.locator("#text").evaluate(
        "(field, text) => { field.value = text; field.dispatchEvent(new Event('input')); }",
        "a\n" * (limits["inputs"] + 1),
    )
    visited.settle()
    assert f"takes {limits['inputs']} sentences at most" in problem.inner_text()
    visited.write("Hello there")
    assert problem.is_hidden()
    assert visited.words() == [["Hello", "there"]]
    forgive(visited, "422")


def test_a_server_that_is_gone(visit: Visits) -> None:
    visited = visit()
    visited.open_text("A cat sat.")
    visited.page.route("**/v1/**", lambda route: route.abort("connectionrefused"))
    visited.page.locator("#text").fill(TEXT)
    problem = visited.page.locator("#problem")
    problem.get_by_text("The server does not answer.").wait_for()
    visited.page.unroute("**/v1/**")
    problem.get_by_role("button", name="Try again").click()
    visited.settle()
    assert len(visited.words()) == 2
    forgive(visited, "ERR_CONNECTION_REFUSED")


def test_substitutes_that_fail_leave_the_colours(visit: Visits) -> None:
    visited = visit()
    visited.open("#text=The+bank.")
    visited.page.route("**/v1/substitutes", refuse(500, times=1))
    visited.choose(0, 1)
    assert visited.cosines()[0][1] == pytest.approx(1)
    assert visited.page.locator(".substitutes li").count() == 0
    visited.page.locator("#problem button").click()
    visited.page.locator(".substitutes li").first.wait_for()
    assert visited.page.locator("#problem").is_hidden()
    forgive(visited, "500")


def test_nothing_is_shown_of_what_is_not_loaded(visit: Visits) -> None:
    visited = visit()

    def bare(route: Route) -> None:
        facts = route.fetch().json()
        route.fulfill(json={**facts, "neighbours": False, "tasks": []})

    visited.page.route("**/v1/capabilities", bare)
    visited.open_text("A cat sat.", (0, 1))
    assert visited.page.locator("#neighbours").is_hidden()
    assert visited.page.locator("[data-task]").count() == 0
    assert visited.asked("v1/neighbours") == visited.asked("v1/tasks/ner") == []


def test_old_answers_never_overtake_new_ones(visit: Visits) -> None:
    """The first answer comes after the second; the page must show the second."""
    visited = visit()
    visited.open_text("Hello")
    held: list[Route] = []

    def hold(route: Route) -> None:
        if "cat" in (route.request.post_data or ""):
            held.append(route)
        else:
            route.fallback()

    visited.page.route("**/v1/tokens", hold)
    with visited.page.expect_request("**/v1/tokens"):
        visited.page.locator("#text").fill("A cat.")
    visited.page.locator("#text").fill("A dog.")
    visited.page.locator(".chip > span", has_text="dog").wait_for()
    visited.settle()
    assert len(held) == 1
    assert held[0].request.failure == "net::ERR_ABORTED"
    assert visited.words() == [["A", "dog", "."]]


def test_what_is_seen_first_is_asked_for_first(visit: Visits) -> None:
    """The server computes one thing at a time, so surprise would only hold the words up."""
    visited = visit()
    visited.open_text("Hello")
    before = len(visited.asked("v1/score"))
    held: list[Route] = []
    visited.page.route("**/v1/tokens", lambda route: held.append(route))  # noqa: PLW0108
    with visited.page.expect_request("**/v1/tokens"):
        visited.page.locator("#text").fill("A cat.")
    visited.page.wait_for_timeout(300)
    assert len(visited.asked("v1/score")) == before
    held[0].fallback()
    visited.page.locator(".chip > span", has_text="cat").wait_for()
    visited.settle()
    assert len(visited.asked("v1/score")) == before + 1
    assert len(visited.surprises("forward")[0]) == len(visited.words()[0])


def test_a_key_is_asked_for_and_kept_in_memory(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "keys.txt").write_text("open-sesame\n", encoding="utf-8")
    options = ("--model", "tiny-untrained", "--api-key-file", str(tmp_path / "keys.txt"))
    with serving(*options) as address:
        visited = Visit(browser, address)
        page = visited.page
        page.goto(address)
        dialog = page.locator("#key")
        dialog.wait_for()
        page.locator("#key-text").fill("wrong")
        page.keyboard.press("Enter")
        page.locator("#key-wrong").wait_for()
        page.locator("#key-text").fill("open-sesame")
        page.keyboard.press("Enter")
        page.locator(".chip").first.wait_for()
        visited.settle()
        assert dialog.is_hidden()
        assert page.evaluate("localStorage.length + sessionStorage.length") == 0
        assert page.evaluate("document.cookie") == ""
        assert "open-sesame" not in page.content() + page.url
        sent = {
            request.headers.get("authorization")
            for request in visited.requests
            if request.url.endswith("/v1/tokens")
        }
        assert sent == {"Bearer open-sesame"}
        # It is forgotten with the page; who gives none is told so.
        page.reload()
        dialog.wait_for()
        page.keyboard.press("Escape")
        page.get_by_text("The server wants a key before it answers.").wait_for()
        page.get_by_role("button", name="Try again").click()
        page.locator("#key-text").fill("open-sesame")
        page.get_by_role("button", name="Open").click()
        page.locator(".chip").first.wait_for()
        visited.settle()
        forgive(visited, "401")
        visited.close()
