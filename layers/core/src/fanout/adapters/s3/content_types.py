"""The Content-Type that a file's name stands for."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mimetypes import MimeTypes

# A compressed file is what its last ending says: a browser must not be told that it is a tar.
_COMPRESSED = {
    "br": "application/x-brotli",
    "bzip2": "application/x-bzip2",
    "compress": "application/x-compress",
    "gzip": "application/gzip",
    "xz": "application/x-xz",
}


@cache
def _types() -> MimeTypes:
    from mimetypes import MimeTypes  # only uploads need it

    # Python's own table and none of the machine's, so that a name means the same everywhere.
    return MimeTypes(filenames=())


def content_type_header(path: str) -> dict[str, str]:
    """The header for a path; none for a name that says nothing, to which S3 gives its default."""
    name = path.rpartition("/")[2]
    content_type, encoding = _types().guess_type(f"x/{name}", strict=True)
    found = _COMPRESSED.get(encoding) if encoding else content_type
    return {"content-type": found} if found else {}
