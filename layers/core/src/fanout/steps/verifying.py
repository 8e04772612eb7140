"""Comparing one entry at both ends, by checksum."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from fanout.domain import limits
from fanout.domain.checksums import NO_BYTES, Crc64Nvme, to_base64
from fanout.domain.digests import entry_digest
from fanout.domain.entries import Entry, Kind
from fanout.domain.errors import ItemError, NotFound, OutOfTime, Throttled, Transient
from fanout.domain.outcomes import Outcome, Reason, Result
from fanout.ports import Found, Tree
from fanout.steps.limiter import NO_LIMITS, Limiter


class Verified(Struct, frozen=True):
    """The outcome of comparing an entry, and its digests at the source and at the destination."""

    outcome: Outcome
    source_digest: int
    destination_digest: int


class Verifier:
    """Compares entries. A store's own checksum of the whole is taken at its word; else the bytes are read."""

    def __init__(
        self,
        destination: Tree,
        crc64nvme: Crc64Nvme,
        out_of_time: Callable[[], bool],
        limiter: Limiter = NO_LIMITS,
    ) -> None:
        self._destination, self._limiter = destination, limiter
        self._crc64nvme = crc64nvme
        self.out_of_time = out_of_time

    def compare(self, entry: Entry, expected: Callable[[], str], result: Result) -> Verified:
        """Compare the destination's entry with the source's, whose checksum ``expected`` gives; ``result`` if equal."""
        checksum, found_checksum, found = "", "", None
        try:
            checksum = expected()
            found = self._destination.find_stored(entry.placed.path)
            found_checksum = self._checksum_found(entry, found)
            problem = _difference(checksum, found_checksum)
        except ItemError as error:
            problem = (error.reason, error.message)
        except (Throttled, Transient, NotFound) as error:
            problem = (Reason.TRANSIENT, f"{type(error).__name__}: {error}")
        source_digest = entry_digest(entry, checksum)
        there = entry_digest(replace(entry, size=found.entry.size), found_checksum) if found is not None else 0
        if problem is None:
            outcome = Outcome(entry.path, entry.kind.value, entry.size, result, crc64nvme=checksum or None)
        else:
            outcome = Outcome(entry.path, entry.kind.value, entry.size, Result.FAILED, *problem)
        return Verified(outcome, source_digest, there)

    def _checksum_found(self, entry: Entry, found: Found | None) -> str:
        if found is None:
            raise ItemError(Reason.MISSING, "the destination does not hold it")
        if (entry.kind is Kind.DIRECTORY) is not (found.entry.kind is Kind.DIRECTORY):
            raise ItemError(Reason.DIFFERS, f"a {entry.kind.value} at the source, a {found.entry.kind.value} here")
        if entry.kind is Kind.DIRECTORY:
            return ""
        if found.entry.size != entry.size:
            raise ItemError(Reason.DIFFERS, f"{entry.size} bytes at the source, {found.entry.size} here")
        if found.crc64nvme is not None:
            return to_base64(found.crc64nvme)
        return to_base64(self.read_checksum(self._destination, found.entry))

    def read_checksum(self, tree: Tree, entry: Entry) -> int:
        """The checksum of all bytes of an entry, read block by block. Raises ``ItemError`` and ``OutOfTime``."""
        source = tree.open(entry)
        try:
            checksum = NO_BYTES
            for offset in range(0, entry.size, limits.BLOCK_BYTES):
                if offset and self.out_of_time():
                    raise OutOfTime
                self._limiter.read(min(limits.BLOCK_BYTES, entry.size - offset), self.out_of_time)
                checksum = self._crc64nvme(source.read(offset, limits.BLOCK_BYTES), checksum)
            source.confirm(checksum)
            return checksum
        finally:
            source.close()


def _difference(expected: str, found: str) -> tuple[Reason, str] | None:
    if expected == found:
        return None
    return Reason.CHECKSUM, f"CRC64NVME {expected or 'none'} at the source, {found or 'none'} at the destination"
