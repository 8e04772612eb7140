"""A local user swaps directories at many operations of a run: a private one stays private; the next run ends well."""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path

import pytest

from tests.adversary.runner import carry_out
from tests.adversary.script import S3_TO_MOUNT, TWO_MOUNTS, WITHIN_MOUNT, Act, Change, Fault, Script, Spec
from tests.adversary.swappers import SWAP_PRIVATE
from tests.support.long import drawn

SOURCE = (Spec("d", "directory", mode=0o755), Spec("d/f", size=900, seed=1), Spec("d/e/g", size=60_000, seed=2))
CASES = list(product((False, True), ("d", "d/e"), (S3_TO_MOUNT, WITHIN_MOUNT, TWO_MOUNTS), ("copy/any", "finish/any")))
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the files of a plain user are his own")


@pytest.mark.parametrize(("there", "path", "direction", "kind"), drawn(CASES, 3))
def test_a_private_directory_stays_private(direction: str, kind: str, path: str, there: bool, tmp_path: Path) -> None:
    ended = set()
    kind = kind.replace("copy", "unpack") if direction == TWO_MOUNTS else kind
    source = SOURCE if direction != S3_TO_MOUNT else SOURCE[1:]
    destination = (Spec("d", "directory", mode=0o750), Spec("d/e/old", size=5)) if there else ()
    for at in (1, 2, 5, 8, 12, 17, 23, 28, 35, 41, 60, 90):
        change = Change(SWAP_PRIVATE, path, at, "destination")
        acts = (Act("run", "r1", faults=(Fault(kind, at, "change", change=change),)), Act("run", "last"))
        outcome = carry_out(Script(0, direction, source, destination, acts, short=at % 2 == 0), tmp_path / str(at))
        assert outcome.findings == []
        assert outcome.statuses[-1] == ("last", "SUCCEEDED")
        ended.add(outcome.statuses[0][1])
        if not outcome.told:
            break
    assert "FAILED_WITH_ITEMS" in ended, "no deed came in the middle of a run"
