"""Which entries to copy lie in an archive: one look at each whose storage class may have to be restored.

A listing cannot tell that an object of INTELLIGENT_TIERING is in an archive tier, nor without a further header what is
restored already or on its way; a HEAD tells all three. It costs under 1% of a restore request, and only where the run
restores.
"""

from __future__ import annotations

from msgspec.structs import replace

from fanout.model.entry import Entry
from fanout.model.errors import ItemError
from fanout.ports.aws import ObjectArchive


def looked_at(entry: Entry, archive: ObjectArchive) -> Entry:
    """The entry with the archive that it lies in; without one where its copy has to say what is wrong with it."""
    try:
        return replace(entry, archive=archive.look(entry).archive)
    except ItemError:
        return replace(entry, archive="")
