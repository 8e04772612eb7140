"""``make screenshots``: the pictures of the documentation are those of the six kinds of end."""

from __future__ import annotations

import struct
from pathlib import Path

from playwright.sync_api import Browser

from tests.browser.screenshots import ENDS, PICTURES, SIZE, take
from tests.docs.pages import ROOT
from tests.support import runs

LARGEST_BYTES = 150_000


def size_of(picture: Path) -> tuple[int, int]:
    """Width and height of a PNG."""
    data = picture.read_bytes()
    assert data.startswith(b"\x89PNG\r\n")
    width, height = struct.unpack(">II", data[16:24])
    return width, height


def test_a_report_becomes_a_picture(browser: Browser, tmp_path: Path) -> None:
    take(browser, runs.stopped(), tmp_path / "stopped.png")
    assert size_of(tmp_path / "stopped.png") == (SIZE["width"], SIZE["height"])


def test_the_six_pictures_are_there_small_and_shown() -> None:
    assert {picture.stem for picture in PICTURES.iterdir()} == set(ENDS)
    page = (ROOT / "docs/reference/report.md").read_text(encoding="utf-8")
    for name in ENDS:
        picture = PICTURES / f"{name}.png"
        assert size_of(picture) == (SIZE["width"], SIZE["height"])
        assert picture.stat().st_size < LARGEST_BYTES
        assert f"](../screenshots/{name}.png)" in page
    assert "](docs/screenshots/success.png)" in (ROOT / "README.md").read_text(encoding="utf-8")
