"""The mark that FinishTree has finished a tree: what comes after it, and the status SUCCEEDED, rest on it.

Whoever may invoke functions can have any of them begin early, or hand it an error that never was: it then gives up the
run's right to write, and says nothing of what is done. So that is said by one object, which FinishTree alone writes.
The mark is of the plan that it names by digest, hence of one execution and one request, and of as many files of
directories as there were. FinishTree, which the machine lets follow all copies, looks for files that came after an
early mark. A task that is delivered twice may write its file after that: the copy is whole by then, and ends no run.
"""

from __future__ import annotations

from msgspec import Struct

from fanout.ledger import keys
from fanout.ledger.documents import document_row
from fanout.ledger.kind import AFTER_RECORDS, ObjectKind
from fanout.ledger.ledger import Ledger
from fanout.ledger.sealing import digest_of
from fanout.request.plan import Plan


class TreeFinished(Struct, frozen=True):
    """fencing/finished.json: the digest of the plan, and the files of directories that have their attributes."""

    plan: str
    directories: int


FINISHED = ObjectKind("fencing/finished.json", TreeFinished, by=("FinishTree",), wave=AFTER_RECORDS)


def mark_finished(plan: Plan, directories: int, ledger: Ledger) -> None:
    """Write the mark, for FinishTree."""
    ledger.write(FINISHED, TreeFinished(_digest(plan), directories))


def was_finished(plan: Plan, ledger: Ledger) -> bool:
    """Whether FinishTree has finished the tree of this plan, as the copies had left it."""
    found = ledger.find(FINISHED)
    return found is not None and found.plan == _digest(plan)


def is_whole(plan: Plan, ledger: Ledger) -> bool:
    """The same, and no copy has made directories since."""
    return ledger.find(FINISHED) == TreeFinished(_digest(plan), directory_files(ledger))


def directory_files(ledger: Ledger) -> int:
    """How many files of directories the copies of a run wrote so far."""
    return sum(key.endswith(".jsonl.gz") for key in ledger.keys(keys.DIRECTORIES))


def _digest(plan: Plan) -> str:
    return digest_of(document_row(plan))
