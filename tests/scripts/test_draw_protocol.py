"""The drawing of the protocol is what its script draws."""

from __future__ import annotations

from scripts.draw_protocol import DRAWING, drawing


def test_the_drawing_is_what_make_docs_writes() -> None:
    assert DRAWING.read_text(encoding="utf-8") == drawing()
