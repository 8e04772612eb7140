"""Requests of this machine: of a file, and of what a verification found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fanout.ledger.keys import SUMMARY
from fanout.request.fields.checked import checked
from fanout.request.parse import Fields, parse_request
from fanout_cli.command_error import CommandError
from fanout_cli.here.ends import MOUNT, destination_of, mounts_of, source_of
from fanout_cli.here.ledger import HereLedger
from fanout_cli.here.not_here import NOT_HERE, WITHOUT_EFFECT, instead_of
from fanout_cli.runs.from_verification import EndedVerification, copy_of_found


def check_here(document: Any) -> None:
    """Raise ``InvalidRequest`` for a request that no run of this machine can carry out."""
    if isinstance(document, dict) and document.get("resume_from"):
        checked({"source": "", "destination": "", **document}, Fields)
        return
    parse_request(document, (MOUNT,), 1)


def of_file(document: Any, mounts: Sequence[str]) -> tuple[Any, list[str]]:
    """The request of a file with its ends as they are here, and notes about fields that change nothing here.

    Raises ``CommandError`` for a field that asks for something that only a stack has.
    """
    if not isinstance(document, dict):
        return document, []
    found, notes = dict(document), []
    mode = str(document.get("mode") or "copy")
    for path in NOT_HERE:
        outer, dot, inner = path.partition(".")
        part = found.get(outer)
        given = part.get(inner) if dot and isinstance(part, dict) else None if dot else part
        if given in (None, "", {}):
            continue
        if path not in WITHOUT_EFFECT:
            raise CommandError(f"{path}: fanout local does not have it: {instead_of(path, mode)}")
        notes.append(f"{path} has no effect on this machine")
        if dot and isinstance(part, dict):
            found[outer] = {name: value for name, value in part.items() if name != inner}
        else:
            del found[outer]
    here = mounts_of(mounts)
    for field, located in (("source", source_of), ("destination", destination_of), ("backup_to", destination_of)):
        if isinstance(found.get(field), str):
            found[field] = located(found[field], here)
    return found, notes


def request_from_here(ledger: HereLedger, run: str) -> dict[str, Any]:
    """The request that copies what a verification of this machine found. Raises ``CommandError``."""
    run_id = ledger.found(run)
    ledger.refuse_at_work(run_id)
    return copy_of_found(
        EndedVerification(
            run_id,
            ledger.read(run_id, SUMMARY),
            ledger.asked(run_id),
            ledger.place.bucket,
            f"fanout local retry {run_id}{ledger.words}",
            ledger.words.strip(),
            "fanout local",
        )
    )
