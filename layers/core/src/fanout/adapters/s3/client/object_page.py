"""A page of ListObjectsV2 as values, its objects in columns.

Reading pages limits the speed of a listing. An XML parser makes eight elements of each object, some 8 µs. A regular
expression takes all objects of S3's own form from a page in a tenth of that; the rest is parsed.
"""

from __future__ import annotations

import re
from functools import lru_cache
from operator import ge
from urllib.parse import unquote_plus
from xml.etree import ElementTree

from msgspec import Struct, field

from fanout.adapters.s3.client.answers import WrongAnswer
from fanout.adapters.s3.client.responses import (
    echoed,
    echoed_bucket,
    is_truncated,
    parse_document,
    required,
    to_nanoseconds,
)
from fanout.facts import archives

_QUOTE = '(?:&quot;|&#34;|")'
# Key, time, ETag, size and storage class of an object, in the order in which S3 writes them.
_OBJECT = re.compile(
    "<Contents><Key>([^<&\r]*)</Key><LastModified>([^<&]*)</LastModified>"
    f'<ETag>{_QUOTE}([^<&"]*){_QUOTE}</ETag>'
    "(?:<ChecksumAlgorithm>[^<&]*</ChecksumAlgorithm>)*(?:<ChecksumType>[^<&]*</ChecksumType>)?"
    "<Size>([0-9]+)</Size>"
    "(?:<Owner>(?:<ID>[^<&]*</ID>)?(?:<DisplayName>[^<&]*</DisplayName>)?</Owner>)?"
    "(?:<StorageClass>([^<&]*)</StorageClass>)?</Contents>"
)
_COLUMNS = 5
# Chosen: times that are kept as numbers; many objects are written in the same second.
_TIMES = 4096
_nanoseconds = lru_cache(_TIMES)(to_nanoseconds)


_ROOT = "ListBucketResult"
# Storage classes whose objects may be held.
MAY_HOLD = archives.CLASSES


class PageAsked(Struct, frozen=True):
    """The request for a page. Its keys lie after ``after``, the last key of the page before or the start."""

    bucket: str
    prefix: str = ""
    start_after: str = ""
    continuation: str = ""
    delimiter: str = ""
    most_keys: int = 1000
    after: str = ""

    def hold(self, root: ElementTree.Element, page: ObjectPage) -> None:
        """Raise ``WrongAnswer`` unless the page is the one that was asked for.

        Every field that the server echoes must equal the request's. A page that omits keys, with a fitting KeyCount and
        token, cannot be detected.
        """
        echoed_bucket(root, "Name", self.bucket)
        echoed(root, "Prefix", self.prefix)
        echoed(root, "Delimiter", self.delimiter)
        echoed(root, "ContinuationToken", self.continuation)
        if not self.continuation:
            echoed(root, "StartAfter", self.start_after)
        found = len(page.keys) + len(page.common_prefixes)
        said = root.findtext("KeyCount")
        if said is not None and said.strip() != str(found):
            raise WrongAnswer(f"KeyCount is {said}, the page holds {found}")
        if found > self.most_keys:
            raise WrongAnswer(f"{found} keys where {self.most_keys} were asked for")
        if page.truncated and page.continuation in ("", self.continuation):
            raise WrongAnswer("a page without a token for the next one")
        self._hold_keys(page)

    def _hold_keys(self, page: ObjectPage) -> None:
        if self.delimiter:  # for a survey, of which no order is asked
            strange = next((one for one in page.keys + page.common_prefixes if not one.startswith(self.prefix)), None)
        elif not page.is_in_order(self.after):
            # A merge of keys in another order would take present keys for missing ones.
            raise WrongAnswer("does not list its keys in the order of their bytes; a general purpose bucket does")
        else:  # in their order all keys lie between the first and the last
            strange = next((one for one in page.keys[:1] + page.keys[-1:] if not one.startswith(self.prefix)), None)
        if strange is not None:
            raise WrongAnswer(f"the key {strange!r} where those under {self.prefix!r} were asked for")


class ObjectPage(Struct, frozen=True):
    """A page of a listing: keys, bytes, times in nanoseconds since 1970 and ETags, a column each.

    ``continuation`` is empty on the last page. ``classes`` holds, by key, the storage classes that
    may hold an object.
    """

    keys: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    modified_ns: list[int] = field(default_factory=list)
    etags: list[str] = field(default_factory=list)
    common_prefixes: list[str] = field(default_factory=list)
    continuation: str = ""
    truncated: bool = False
    classes: dict[str, str] = field(default_factory=dict)

    def is_in_order(self, last: str) -> bool:
        """Whether all keys come after ``last`` and each after the one before, by their bytes as by their characters."""
        keys = [last, *self.keys] if last else self.keys
        return not any(map(ge, keys, keys[1:]))


def parse_object_page(body: bytes, asked: PageAsked | None = None) -> ObjectPage:
    """The page of a ListObjectsV2 answer. Raises ``WrongAnswer`` for what is none, or not the one asked for."""
    parts = _OBJECT.split(body.decode("ascii")) if body.isascii() else []
    others = "".join(parts[:: _COLUMNS + 1])
    if not others or "<Contents" in others:  # of another form: each object for itself
        root, page = _page(body, [])
    else:
        root, page = _page(others.encode(), parts)
    if asked is not None:
        asked.hold(root, page)
    return page


def _page(body: bytes, parts: list[str]) -> tuple[ElementTree.Element, ObjectPage]:
    root = parse_document(body, _ROOT)
    step = _COLUMNS + 1
    keys, times, sizes, classes = parts[1::step], parts[2::step], parts[4::step], parts[5::step]
    etags = [f'"{etag}"' for etag in parts[3::step]]
    for contents in root.findall("Contents"):
        fields = {child.tag: child.text or "" for child in contents}
        if not (fields.get("Key") and fields.get("Size", "").isdecimal()):
            raise WrongAnswer("an object without a key or a size")
        keys.append(fields["Key"])
        times.append(fields.get("LastModified", ""))
        sizes.append(fields["Size"])
        etags.append(fields.get("ETag", ""))
        classes.append(fields.get("StorageClass", ""))
    prefixes = [required(prefix, "Prefix") for prefix in root.findall("CommonPrefixes")]
    if root.findtext("EncodingType") == "url":
        keys, prefixes = _decoded(keys), _decoded(prefixes)
    page = ObjectPage(
        keys,
        list(map(int, sizes)),
        list(map(_nanoseconds, times)),
        etags,
        prefixes,
        root.findtext("NextContinuationToken", ""),
        is_truncated(root),
        _that_may_hold(keys, classes),
    )
    return root, page


def _that_may_hold(keys: list[str], classes: list[str]) -> dict[str, str]:
    if MAY_HOLD.isdisjoint(classes):
        return {}
    return {key: one for key, one in zip(keys, classes, strict=True) if one in MAY_HOLD}


def _decoded(texts: list[str]) -> list[str]:
    together = "\0".join(texts)
    if "%" not in together and "+" not in together:
        return texts
    decoded = unquote_plus(together).split("\0")
    # A key that holds the separator itself falls apart, and is decoded by itself.
    return decoded if len(decoded) == len(texts) else list(map(unquote_plus, texts))
