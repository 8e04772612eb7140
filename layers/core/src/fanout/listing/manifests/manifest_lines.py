"""The rows of a part of a manifest, read by range with bounded memory."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import islice

from msgspec.structs import replace

from fanout.facts import tuning, units
from fanout.model.deadline import NEVER, Deadline
from fanout.model.errors import InvalidRequest, NotFound, PreconditionFailed, Transient
from fanout.model.segment import ManifestPart
from fanout.ports.aws import ObjectReader
from fanout.request.manifest import ManifestLocation

# Bytes read at once after the end of a part: the rest of its last row.
_LAST_ROW_BYTES = 64 * units.KIB
_GZIP = 16 + zlib.MAX_WBITS
_BOM = b"\xef\xbb\xbf"


class ManifestLines:
    """The lines of a part, in order; holds ``tuning.MANIFEST_READ_BYTES`` and a row.

    A line of over ``tuning.MANIFEST_ROW_BYTES`` comes as ``None``: it is skipped and not held. Iterating raises
    ``InvalidRequest`` if the file is not the planned one, or is not in the format that its name says. Raises
    ``Transient`` if the deadline passes while a compressed file is unpacked up to the part's first row.
    """

    def __init__(
        self, objects: ObjectReader, location: ManifestLocation, part: ManifestPart, deadline: Deadline = NEVER
    ) -> None:
        self._objects, self._bucket, self._part, self._deadline = objects, location.bucket, part, deadline
        # The byte, or row of a compressed file, after the last line, and that line's number if it is known.
        self._next = part.done if part.is_compressed else part.first
        self._line = part.line - 1
        self._broken = part.broken

    @property
    def part(self) -> ManifestPart:
        return self._part

    @property
    def rest(self) -> ManifestPart:
        """The part after the last line that was given."""
        line = self._line + 1 if self._part.line else 0
        if self._part.is_compressed:
            return replace(self._part, done=self._next, line=line, broken=self._broken)
        return replace(self._part, first=self._next, line=line, broken=self._broken)

    def note_broken(self) -> None:
        """Note a row that cannot be read. Raises ``InvalidRequest`` at over ``tuning.MANIFEST_BROKEN_ROWS`` of them."""
        self._broken += 1
        if self._broken > tuning.MANIFEST_BROKEN_ROWS:
            problem = f"has over {tuning.MANIFEST_BROKEN_ROWS:,} rows that cannot be read, the last in {self.where}"
            raise self._refused(problem, "correct these rows, or leave them out")

    @property
    def where(self) -> str:
        """The position of the last line given, for messages."""
        known = f"line {self._line}" if self._part.line else f"the line that ends at byte {self._next}"
        return f"{known} of {self._name}"

    @property
    def _name(self) -> str:
        return f"s3://{self._bucket}/{self._part.key}"

    def __iter__(self) -> Iterator[bytes | None]:
        part = self._part
        if part.is_compressed:
            lines = _split(self._unpacked())
            for line, _ in islice(lines, max(part.done, 0), None):
                self._next += 1
                self._line += 1
                yield _plain(line, first=self._next == 1)
            return
        start = max(part.first - 1, 0)
        lines = _split(self._chunks(start, part.end), start, part.end)
        if part.first:  # the rest of the line before, or its end
            start += next(lines, (b"", 0))[1] + 1
        self._next = start
        for line, length in lines:
            if self._next >= part.end:
                return
            is_first = self._next == 0
            self._next += length + 1
            self._line += 1
            yield _plain(line, first=is_first)

    def _chunks(self, offset: int, end: int) -> Iterator[bytes]:
        while offset < self._part.size:
            length = min(tuning.MANIFEST_READ_BYTES, max(end - offset, _LAST_ROW_BYTES))
            try:
                data = self._objects.read(self._bucket, self._part.key, self._part.etag, offset, length)
            except (NotFound, PreconditionFailed) as error:
                raise self._refused("was written or removed after the run began", "start again") from error
            if not data:
                raise Transient(f"{self._name} gave no bytes from {offset} on")
            yield data
            offset += len(data)

    def _unpacked(self) -> Iterator[bytes]:
        """The unpacked bytes of a gzip file of one or more members, in pieces of bounded size."""
        unpacker, begun = zlib.decompressobj(_GZIP), False
        without_end = 0
        try:
            for chunk in self._chunks(0, self._part.size):
                rest, more = chunk, True
                while rest or more:
                    piece = unpacker.decompress(rest, tuning.MANIFEST_READ_BYTES)
                    without_end = len(piece) if b"\n" in piece else without_end + len(piece)
                    if without_end > tuning.MANIFEST_LINE_BYTES:
                        problem = f"has a line of over {tuning.MANIFEST_LINE_BYTES:,} bytes"
                        raise self._refused(problem, "write a row to a line")
                    yield piece
                    if 0 < self._part.done == self._next and self._deadline.passed:
                        raise self._out_of_time()
                    begun, rest = True, unpacker.unconsumed_tail
                    more = len(piece) == tuning.MANIFEST_READ_BYTES  # all packed bytes may be taken in already
                    if unpacker.eof:
                        rest, unpacker, begun = unpacker.unused_data, zlib.decompressobj(_GZIP), False
                        more = False
        except zlib.error as error:
            raise self._refused(f"is no gzip ({error})", "pack it again") from error
        if begun or not self._part.size:
            raise self._refused("is gzip that breaks off", "pack it again")

    def _out_of_time(self) -> Transient:
        problem = f"was not unpacked up to row {self._part.done + 1:,} in a function's time"
        return Transient(f"{self._name} {problem}; write the manifest unpacked, or leave rows out of it")

    def _refused(self, problem: str, remedy: str) -> InvalidRequest:
        return InvalidRequest("manifest", f"{self._name} {problem}", remedy)


def _split(chunks: Iterator[bytes], offset: int = 0, end: int | None = None) -> Iterator[tuple[bytes | None, int]]:
    """Yield each line with its length; a line that is too long comes without its bytes.

    It is not read beyond ``end``: a part that ends before does not need the end of that line.
    """
    held: list[bytes] = []
    length = 0
    for chunk in chunks:
        offset += len(chunk)
        *whole, rest = chunk.split(b"\n")
        for piece in whole:
            yield _line(held, piece, length)
            held, length = [], 0
        length += len(rest)
        held = [*held, rest] if length <= tuning.MANIFEST_ROW_BYTES else []
        if end is not None and offset >= end and length > tuning.MANIFEST_ROW_BYTES:
            break
    if length:
        yield _line(held, b"", length)


def _line(held: list[bytes], last: bytes, length: int) -> tuple[bytes | None, int]:
    """A line of ``length`` bytes from the ``held`` pieces, if it is not too long, and its last bytes."""
    length += len(last)
    return b"".join([*held, last]) if length <= tuning.MANIFEST_ROW_BYTES else None, length


def _plain(line: bytes | None, *, first: bool) -> bytes | None:
    """A line without its carriage return; the first line also without its byte order mark."""
    return None if line is None else line.removeprefix(_BOM if first else b"").removesuffix(b"\r")
