"""Documents that do not change once they are written: the plan, the summary and the certificate of a run.

S3 refuses a second write (If-None-Match). A task may run twice, also at the same time; then the first one's stays, and
the second one goes on with it.
"""

from __future__ import annotations

from collections.abc import Callable

from fanout.ledger.documents import D
from fanout.ledger.ledger import Ledger

ANOTHERS = "was written by somebody else, and is not replaced"


def write_once(key: str, document: D, ledger: Ledger, is_mine: Callable[[D], bool]) -> D:
    """The document that counts: this one, or that of an earlier attempt of the same task.

    Raises ``LedgerBroken`` where another is there.
    """
    if ledger.write_new(key, document):
        return document
    known = ledger.read(key, type(document))
    if not is_mine(known):
        raise ledger.broken(key, ANOTHERS)
    return known
