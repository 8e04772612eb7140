"""Compares the tags of objects that a move would delete.

A GET or HEAD of an object shows how many tags it has, if the function may read them (``x-amz-tagging-count``,
AmazonS3/latest/API/API_HeadObject.html). Without that right the answer looks like that of an object without tags. So
each task shows once that it has the right, by reading the tags of one object, and only tagged objects cost more:

| from S3 to | an object with tags at the source                          |
|------------|------------------------------------------------------------|
| a mount    | is not holdable, by the number alone                       |
| S3         | costs a request at each end, and its copy has equal tags   |
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import Protocol

from msgspec import Struct

from fanout.ledger.kind import ObjectKind
from fanout.model.entry import Attributes, Entry
from fanout.model.errors import AccessDenied, NotFound
from fanout.model.outcome import Reason


class Tagged(Protocol):
    """A store that keeps tags."""

    def tags(self, path: str) -> Mapping[str, str]:
        """The tags of an object. Raises ``AccessDenied`` and ``NotFound``."""


class TagsSeen(Struct, frozen=True):
    """The look at the tags of a big object: a difference, or why they could not be read; neither if all is well."""

    reason: Reason | None = None
    message: str = ""


tags_key = ObjectKind("seen/{big_file_id}-tags.json", TagsSeen, by=("VerifyShard",))


class MovedTags:
    """The tags at both ends; ``destination`` is ``None`` where it cannot hold any. ``given`` are the request's own."""

    def __init__(self, source: Tagged, destination: Tagged | None, given: Mapping[str, str]) -> None:
        self._source, self._destination, self._given = source, destination, given
        self._lock = Lock()
        self._may_read: bool | AccessDenied = False

    def problem(self, entry: Entry, source: Attributes | None) -> tuple[Reason, str] | None:
        """The difference of an entry that is equal otherwise, with its reason; ``None`` for none."""
        denied = self._denied(entry)
        if denied is not None:
            return Reason.SOURCE_DENIED, f"nothing shows whether it has tags: {denied}"
        if self._destination is None or source is None or not source.tags:
            return None
        here = {**self._source.tags(entry.path), **self._given}
        try:
            there = self._destination.tags(entry.placed.path)
        except AccessDenied as error:
            return Reason.NOT_VERIFIED, str(error)
        lost = [f"{name!r} {value!r}" for name, value in sorted(here.items()) if there.get(name) != value]
        return (Reason.METADATA_DIFFERS, f"tags that only the source has: {', '.join(lost)}") if lost else None

    def _denied(self, entry: Entry) -> AccessDenied | None:
        """The refusal to read tags; asked about until one object answered."""
        with self._lock:
            if self._may_read is False:
                try:
                    self._source.tags(entry.path)
                    self._may_read = True
                except AccessDenied as error:
                    self._may_read = error
                except NotFound:
                    return None  # it is gone, and the next one is asked about
            return None if self._may_read is True else self._may_read or None
