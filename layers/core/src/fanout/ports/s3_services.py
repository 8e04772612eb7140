"""The port of the services that S3 carries out by itself for a run, which waits: a method each, for a phase each."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from fanout.model.entry import Entry
from fanout.ports.checksum_jobs import ChecksumJobs
from fanout.request.parts.restore import Restore
from fanout.request.plan import Plan


class ObjectLook(Struct, frozen=True):
    """Where an object lies: in an ``archive`` of ``facts.archives``, which is empty where its bytes can be read.

    ``asked``: S3 restores it. ``version`` names the object that was looked at, where the bucket has versions.
    """

    archive: str = ""
    asked: bool = False
    version: str = ""


class ObjectArchive(Protocol):
    """The archives that entries of a source lie in. Raises ``ItemError`` about an entry, and ``FanoutError``."""

    def look(self, entry: Entry) -> ObjectLook:
        """Where the entry lies, pinned to what was listed."""

    def ask(self, entry: Entry, look: ObjectLook, restore: Restore) -> None:
        """Ask for the entry that was looked at; one that is on its way, or out of the archive, counts as asked."""


class S3Services:
    """Each service; ``None`` where the run does not ask for it, or the stack may not have it done. Here there is none.

    ``archive`` restores objects of the source, and ``checksum_jobs`` has S3 compute checksums.
    """

    def archive(self, plan: Plan) -> ObjectArchive | None:
        return None

    def checksum_jobs(self, plan: Plan) -> ChecksumJobs | None:
        return None
