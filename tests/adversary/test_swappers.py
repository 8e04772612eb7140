"""A local user swaps directories at many operations of a run: a private one stays private; the next run ends well."""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path

import pytest

from tests.adversary.leftovers import OWNER
from tests.adversary.runner import carry_out
from tests.adversary.script import S3_TO_MOUNT, TWO_MOUNTS, WITHIN_MOUNT, Act, Change, Fault, Script, Spec
from tests.adversary.swapped import judge_swapped
from tests.adversary.swappers import SWAP_PRIVATE, swap_private
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


@pytest.mark.parametrize("there", [False, True])
def test_all_that_came_into_a_private_directory_is_given_back(there: bool, tmp_path: Path) -> None:
    root, attic = tmp_path / "root", tmp_path / "attic"
    attic.mkdir()
    (root / "d/e" if there else root).mkdir(parents=True)
    if there:
        (root / "d/e/f").write_bytes(b"old")
        (root / "d/e/kept").write_bytes(b"kept")
        (root / "d").chmod(0o711)
    swap_private(attic, root / "d", 7)
    (root / "d/e").mkdir(mode=0o700)
    (root / "d/e/f").write_bytes(b"moved")
    assert list(judge_swapped(root)) == []
    assert (root / "d").stat().st_mode & 0o777 == (0o711 if there else 0o700)
    assert sorted(os.listdir(root / "d")) == ["e"]
    assert sorted(os.listdir(root / "d/e")) == (["f", "kept"] if there else ["f"])
    assert (root / "d/e/f").read_bytes() == b"moved"


@pytest.mark.parametrize(("owner", "mode"), [(0, 0o1700), (OWNER, 0o700)])
def test_what_is_closed_gets_a_mode_where_no_run_opens_it(owner: int, mode: int, tmp_path: Path) -> None:
    root, attic = tmp_path / "root", tmp_path / "attic"
    attic.mkdir()
    (root / "d").mkdir(parents=True)
    (root / "d").chmod(0o1700)
    os.chown(root, owner, owner)
    swap_private(attic, root / "d", 7)
    (root / "d/e").mkdir()
    (root / "d/e").chmod(0o1700)
    assert list(judge_swapped(root)) == []
    assert [path.stat().st_mode & 0o7777 for path in (root / "d", root / "d/e")] == [mode, mode]
