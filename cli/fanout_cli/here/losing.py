"""The end of a process that must not write any more."""

from __future__ import annotations

import os
from typing import NoReturn

from fanout_cli.command_error import EXIT_FAILED


def lost_lease(run_id: str) -> NoReturn:
    """End this process at once: it could not renew its lease in the ledger's bucket, and another run may write."""
    text = f"{run_id} lost its lease: S3 did not answer for a minute; check the network, then fanout local retry\n"
    os.write(2, text.encode())
    os._exit(EXIT_FAILED)
