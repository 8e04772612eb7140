"""The lies that are told between an S3 and its client: each a line of ``LIES``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tests.adversary.s3_words import Answer, Request, Stored, error, object_answer

_HTML = Answer(200, {"Content-Type": "text/html"}, b"<html><body><h1>Please sign in</h1></body></html>")


@dataclass
class Said:
    """What goes over the wire: bytes, and how the connection ends after them, if it does."""

    data: bytes
    end: str = ""  # closed, reset


@dataclass
class Teller:
    """What a lie may use: the request, the truth, what was answered and stored before, and a number of the script's."""

    request: Request
    serve: Callable[[], Answer]
    before: list[tuple[Request, Answer]]
    older: list[Stored]
    etag: str
    seed: int
    pick: list[Answer] = field(default_factory=list)


Lie = Callable[[Teller], Said]


def _instead(answer: Answer, *, applied: bool = False) -> Lie:
    def lie(teller: Teller) -> Said:
        if applied:
            teller.serve()
        head = teller.request.method == "HEAD"
        return Said((replace(answer, body=b"", length=len(answer.body)) if head else answer).to_bytes())

    return lie


def _doubled(teller: Teller) -> Said:
    return Said(teller.serve().to_bytes() * 2)


def _stray(teller: Teller) -> Said:
    """The answer, and behind it that of another request of this kind, as of a proxy that mixes connections up."""
    others = _others(teller)
    return Said(teller.serve().to_bytes() + (others[teller.seed % len(others)].to_bytes() if others else b""))


def _swapped(teller: Teller) -> Said:
    """The answer to another request of its kind; a write has no effect."""
    others = _others(teller)
    if not others:
        return Said(teller.serve().to_bytes())
    return Said(others[teller.seed % len(others)].to_bytes())


def _swapped_applied(teller: Teller) -> Said:
    said = _swapped(teller)
    teller.serve()
    return said


def _others(teller: Teller) -> list[Answer]:
    """The answers to requests of the kind for other objects; those with the same bytes cannot be told apart."""
    mine = teller.request
    return [
        answer
        for request, answer in teller.before
        if request.operation == mine.operation
        and (request.path if mine.path[1] else request.target) != (mine.path if mine.path[1] else mine.target)
        and answer.status < 300
        and not (mine.method in ("GET", "HEAD") and answer.headers.get("ETag") == teller.etag)
        and not (mine.operation in ("PutObject", "UploadPart") and request.body == mine.body)
    ]


def _cut(teller: Teller) -> Said:
    data = teller.serve().to_bytes()
    return Said(data[: max(1, len(data) - 1 - teller.seed % 40)], "closed")


def _wrong_range(teller: Teller) -> Said:
    """Bytes of another range of the object, as its Content-Range says."""
    request = teller.request
    asked = re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers.get("range", ""))
    if asked is None:
        return Said(teller.serve().to_bytes())
    first, last = int(asked[1]), int(asked[2])
    shift = -(first // 2) if first else 7
    moved = replace(request, headers={**request.headers, "range": f"bytes={first + shift}-{last + shift}"})
    teller.request = moved
    return Said(teller.serve().to_bytes())


def _whole_for_range(teller: Teller) -> Said:
    request = teller.request
    teller.request = replace(request, headers={k: v for k, v in request.headers.items() if k != "range"})
    return Said(teller.serve().to_bytes())


def _repeated_page(teller: Teller) -> Said:
    """The page before the one that was asked for."""
    teller.request = replace(teller.request, target=re.sub(r"continuation-token=[^&]*&?", "", teller.request.target))
    return Said(teller.serve().to_bytes())


def _skipped_page(teller: Teller) -> Said:
    """The page after the one that was asked for."""
    answer = teller.serve()
    token = re.search(rb"<NextContinuationToken>([^<]*)<", answer.body)
    if teller.request.operation != "ListObjectsV2" or token is None:
        return Said(answer.to_bytes())
    from urllib.parse import quote

    plain = re.sub(r"continuation-token=[^&]*&?", "", teller.request.target)
    teller.request = replace(teller.request, target=f"{plain}&continuation-token={quote(token[1].decode(), safe='')}")
    return Said(teller.serve().to_bytes())


def _without(element: str) -> Lie:
    def lie(teller: Teller) -> Said:
        answer = teller.serve()
        body = re.sub(rf"<{element}>[^<]*</{element}>".encode(), b"", answer.body)
        headers = {name: value for name, value in answer.headers.items() if name != element}
        length = len(body) if answer.length is None else answer.length
        return Said(replace(answer, headers=headers, body=body, length=length).to_bytes())

    return lie


def _stale(teller: Teller) -> Said:
    """An earlier state of the object, as a cache without a thought for conditions gives it."""
    if not teller.older or teller.request.operation not in ("GetObject", "HeadObject"):
        return Said(teller.serve().to_bytes())
    headers = {name: value for name, value in teller.request.headers.items() if name != "if-match"}
    found = object_answer(replace(teller.request, headers=headers), teller.older[teller.seed % len(teller.older)])
    if teller.request.method == "HEAD":
        found = replace(found, body=b"", length=len(found.body))
    return Said(found.to_bytes())


def _end(end: str, *, applied: bool) -> Lie:
    def lie(teller: Teller) -> Said:
        if applied:
            teller.serve()
        return Said(b"", end)

    return lie


# Operations whose answer shows whose it is (docs/understand/s3-answers.md).
SHOWN = frozenset(
    {
        "ListObjectsV2",
        "GetObject",
        "HeadObject",
        "PutObject",
        "UploadPart",
        "CreateMultipartUpload",
        "CompleteMultipartUpload",
        "DeleteObjects",
    }
)
MIXED = frozenset(
    {
        "S3: another's answer",
        "S3: another's answer, applied",
        "S3: stray answer",
        "S3: doubled answer",
        "S3: stale read",
    }
)
LIES: dict[str, Lie] = {
    "S3: 500": _instead(error(500, "InternalError")),
    "S3: 500, applied": _instead(error(500, "InternalError"), applied=True),
    "S3: 503": _instead(error(503, "SlowDown")),
    "S3: 403": _instead(error(403, "AccessDenied")),
    "S3: error inside 200": _instead(error(200, "InternalError")),
    "S3: error inside 200, applied": _instead(error(200, "InternalError"), applied=True),
    "S3: HTML inside 200": _instead(_HTML),
    "S3: nothing inside 200": _instead(Answer(200)),
    "S3: doubled answer": _doubled,
    "S3: stray answer": _stray,
    "S3: another's answer": _swapped,
    "S3: another's answer, applied": _swapped_applied,
    "S3: cut answer": _cut,
    "S3: wrong range": _wrong_range,
    "S3: whole object for a range": _whole_for_range,
    "S3: repeated page": _repeated_page,
    "S3: skipped page": _skipped_page,
    "S3: no IsTruncated": _without("IsTruncated"),
    "S3: no ETag": _without("ETag"),
    "S3: stale read": _stale,
    "S3: reset before": _end("reset", applied=False),
    "S3: reset after": _end("reset", applied=True),
    "S3: closed before": _end("closed", applied=False),
    "S3: closed after": _end("closed", applied=True),
}
