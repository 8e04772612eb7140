"""Text inside an XML document. ``xml.sax.saxutils``, which has the same, imports the whole of ``urllib.request``."""

from __future__ import annotations

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;", "\n": "&#10;", "\t": "&#9;"})


def escape(text: str) -> str:
    """The text between two tags, line breaks and tabs kept as they are."""
    return text.translate(_ESCAPES)
