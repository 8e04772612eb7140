"""The versions of a tree that runs of this machine published."""

from __future__ import annotations

from collections.abc import Sequence

from fanout.ledger.run_places import VERSIONS
from fanout.publishing.kept_versions import PublishedTree
from fanout_cli.here.ends import destination_of, mounts_of
from fanout_cli.here.ledger import HereLedger
from fanout_cli.published import published_tree


def published_here(ledger: HereLedger, destination: str, mounts: Sequence[str]) -> PublishedTree:
    """The versions of a directory that runs of the ledger published. Raises ``CommandError`` where there is none."""
    asked = destination_of(destination, mounts_of(mounts))
    return published_tree(ledger.of_run(VERSIONS), asked, "has no published version", "fanout local copy")
