"""Whom copies at a mount belong to: noted by CheckMount, which tries it, and read by every function that compares."""

from __future__ import annotations

from collections.abc import Sequence

from fanout.ledger import run_places
from fanout.ledger.kind import ALONE, ObjectKind
from fanout.ledger.ledger import Ledger
from fanout.ledger.run_places import run_prefix
from fanout.model.document import Lasting
from fanout.model.location import MountLocation
from fanout.ports.file_system import FileSystem
from fanout.request.plan import Plan


class OwnersLimitation(Lasting, frozen=True):
    """Why owners cannot be kept at the destination; empty where they can.

    ``own`` is the user whom the mount makes files for; ``None`` where nobody could find out.
    """

    limitation: str
    own: int | None = None


OWNERS = ObjectKind("owners.json", OwnersLimitation, by=("CheckMount",), wave=ALONE)
# The same of a mount, as the last run that wrote there found it.
_OF_MOUNT = ObjectKind(
    "{mount}.json", OwnersLimitation, by=("CheckMount",), wave=ALONE, place=run_prefix(run_places.MOUNTS)
)


def note_owners(limitations: Sequence[str], files: FileSystem, plan: Plan, ledger: Ledger) -> None:
    """Write down what trying owners at the destination found: for this run, and for one that only compares."""
    staged = files.staged()
    found = OwnersLimitation(" ".join(limitations), None if staged is None or staged.owner < 0 else staged.owner)
    ledger.write(OWNERS, found)
    ledger.of_run(run_places.MOUNTS).write(_mount_key(plan), found)


def recall_owners(plan: Plan, ledger: Ledger) -> None:
    """Take over what the last run that wrote to the mount found, because one that only compares tries nothing."""
    found = ledger.of_run(run_places.MOUNTS).find(_mount_key(plan))
    if found is not None:
        ledger.write(OWNERS, found)


def owner_limitation(ledger: Ledger) -> str:
    """Why owners cannot be kept at the run's destination; empty where they can."""
    found = ledger.whole_run().find(OWNERS)
    return found.limitation if found else ""


def own_user(ledger: Ledger) -> int | None:
    """The user whom the run's destination makes files for; ``None`` where no run found out."""
    found = ledger.whole_run().find(OWNERS)
    return found.own if found else None


def _mount_key(plan: Plan) -> ObjectKind[OwnersLimitation]:
    assert isinstance(plan.request.destination, MountLocation)
    return _OF_MOUNT.at(run_places.name_of(plan.request.destination.mount))
