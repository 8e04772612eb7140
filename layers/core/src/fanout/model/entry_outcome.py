"""The outcome of one entry."""

from __future__ import annotations

from collections.abc import Container
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from fanout.model.entry import Entry
from fanout.model.outcome import Reason, Result


class EntryFinding(StrEnum):
    """A fact about an entry that an attempt found, apart from its outcome; ``Record.findings`` has the entries."""

    # The source does not have all attributes that were to be compared.
    NOT_TOLD = "not_told"
    # It was left out because S3 keeps it in an archive.
    HELD = "held"


class Outcome(Struct, frozen=True):
    """The outcome of one entry: a row of the ledger. ``done`` and ``because`` make one.

    ``size`` counts bytes, ``crc64nvme`` is the checksum of what was read, as S3
    writes it (base64 of 8 big-endian bytes), ``seconds`` the time from the entry's turn in the function that copied it
    to its outcome; ``None`` where nothing measured it. ``unread`` is what was not read of an object's metadata, each
    with its text; no row of a shard holds it, but the record of the attempt. ``digests`` are those of the entry at the
    source and at the destination where its checksum alone does not give both; ``certified`` is the kind of what was
    hashed for a certificate, and its SHA-256.
    """

    path: str
    kind: str
    size: int
    result: Result
    reason: Reason | None = None
    message: str = ""
    crc64nvme: str | None = None
    seconds: float | None = None
    unread: tuple[tuple[str, str], ...] = ()
    digests: tuple[int, int] | None = None
    certified: tuple[str, str] | None = None

    @classmethod
    def done(
        cls,
        entry: Entry,
        result: Result,
        crc64nvme: str | None = None,
        message: str = "",
        *,
        seconds: float | None = None,
    ) -> Outcome:
        """The outcome of an entry that needs no reason: copied, deleted, or compared and found equal."""
        return cls(entry.path, entry.kind.value, entry.size, result, None, message, crc64nvme, seconds)

    @classmethod
    def because(
        cls,
        entry: Entry,
        reason: Reason,
        message: str = "",
        *,
        crc64nvme: str | None = None,
        left_out: Container[Reason] = (),
    ) -> Outcome:
        """The outcome of an entry that was not copied; the reason gives the result.

        ``left_out`` are the reasons for which the request leaves an entry out instead of failing it.
        """
        result = Result.SKIPPED if reason in left_out else reason.result
        return cls(entry.path, entry.kind.value, entry.size, result, reason, message, crc64nvme)

    def instead(self, reason: Reason, message: str) -> Outcome:
        """The outcome of the same entry for another reason."""
        return replace(self, result=reason.result, reason=reason, message=message)
