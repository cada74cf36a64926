"""The pictures of the documents are taken here.

    ELMOKIT_PICTURES=1 pytest -m slow tests/integration/page -k pictures

renews them. Without that they are taken all the same, and thrown away: what cannot be taken is
broken.
"""

import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Route

from integration.page.visit import DESKTOP, PHONE, Visit

IMAGES = Path(__file__).resolve().parents[3] / "docs" / "images"

PICTURES: dict[str, dict[str, Any]] = {
    "page-en": {},
    "page-ko": {"language": "ko-KR"},
    "page-dark": {"dark": True},
    "page-phone": {"size": PHONE},
}


@pytest.mark.parametrize("name", PICTURES)
def test_pictures(visit: Callable[..., Visit], tmp_path: Path, name: str) -> None:
    visited = visit(**PICTURES[name])
    show_what_a_plain_server_has(visited)
    visited.open()
    if name == "page-dark":
        visited.page.locator("[data-example=play]").click()
        visited.settle()
        visited.page.mouse.move(0, 0)
    is_phone = name == "page-phone"
    if is_phone:
        visited.page.evaluate("document.querySelector('.layers').scrollIntoView()")
    folder = IMAGES if os.environ.get("ELMOKIT_PICTURES") else tmp_path
    file = folder / f"{name}.png"
    visited.page.screenshot(path=file, full_page=not is_phone)
    width, height = struct.unpack(">II", file.read_bytes()[16:24])
    assert width == (PHONE if is_phone else DESKTOP)[0]
    assert height >= (PHONE if is_phone else DESKTOP)[1]
    assert file.stat().st_size > 20_000


def show_what_a_plain_server_has(visit: Visit) -> None:
    """Leave out what the tests' server has beside the bundled model."""

    def one_model(route: Route) -> None:
        route.fulfill(json={"object": "list", "data": route.fetch().json()["data"][:1]})

    def no_more(route: Route) -> None:
        route.fulfill(json={**route.fetch().json(), "neighbours": False, "tasks": []})

    visit.page.route("**/v1/models", one_model)
    visit.page.route("**/v1/capabilities", no_more)
