"""An entry as an end shows it, and when its bytes have to be read.

| this end tells            | the other end tells            | the bytes of this end are |
|---------------------------|--------------------------------|---------------------------|
| a checksum                | nothing                        | not read                  |
| a checksum                | one of the same algorithm      | not read                  |
| a checksum                | only ones of other algorithms  | read                      |
| nothing                   | a checksum                     | read, and its algorithm computed |
| nothing                   | nothing                        | read                      |

The source is asked first. If the ends tell different algorithms, only the source is read.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field
from msgspec.structs import replace

from fanout.model.checksum import ALGORITHMS, CRC64NVME, Sums, in_common
from fanout.model.entry import Attributes


class Seen(Struct, frozen=True):
    """The result of one look at an entry: the checksums of its bytes (none for a directory), and its attributes.

    ``attributes`` are ``None`` where they were not asked for. ``sha256`` is the content's digest for a certificate.
    """

    sums: Sums = field(default_factory=dict)
    attributes: Attributes | None = None
    sha256: str = ""

    @property
    def crc64nvme(self) -> str:
        """The CRC64NVME as S3 writes it, empty where it is not known."""
        return self.sums.get(CRC64NVME, "")

    @property
    def content(self) -> str:
        """The text for the bytes in a digest of the tree: the CRC64NVME or, without it, another by its name."""
        name = next((one for one in ALGORITHMS if one in self.sums), "")
        return self.crc64nvme or (name and f"{name} {self.sums[name]}")


class UnreadEnd(Struct, frozen=True):
    """An end whose bytes are not read yet. ``seen`` is what it tells without that.

    ``read`` reads them, and computes what it can of the algorithms that it is given; ``None`` where nothing is left to
    read.
    """

    seen: Seen
    read: Callable[[Sums], Seen] | None = None

    def against(self, theirs: Sums) -> Seen:
        """This end, to be compared with one that has these checksums; the module's table is the contract."""
        own = self.seen.sums
        if self.read is None or (own and (not theirs or in_common(own, theirs))):
            return self.seen
        return self.read(theirs)


def content_difference(here: Seen, there: Seen) -> str:
    """The difference between the bytes of two ends, empty for none. Ends without a checksum in common differ."""
    names = in_common(here.sums, there.sums)
    if not names and (here.sums or there.sums):
        shown = [" and ".join(end.sums) or "no checksum" for end in (here, there)]
        return f"{shown[0]} at the source, {shown[1]} at the destination: nothing to compare"
    for name in names:
        if here.sums[name] != there.sums[name]:
            return f"{name} {here.sums[name]} at the source, {there.sums[name]} at the destination"
    if here.sha256 != there.sha256:
        return f"SHA-256 {here.sha256 or 'none'} at the source, {there.sha256 or 'none'} at the destination"
    return ""


def shared(here: Seen, there: Seen) -> tuple[Seen, Seen]:
    """The same two; where their bytes are equal, each tells all checksums that either does."""
    if content_difference(here, there):
        return here, there
    both = {**here.sums, **there.sums}
    return replace(here, sums=both), replace(there, sums=both)
