"""Lists that are written anew, upgrades between runs, staging directories without a note: drawn, and found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fanout.ledger import documents
from fanout.planning import plan_facts
from fanout.request.fields.traits import Decides
from fanout.request.request import digest_without
from fanout.turns import other_runs, write_turn
from tests.adversary.manifests import ANEW
from tests.adversary.runner import carry_out
from tests.adversary.script import S3_TO_MOUNT, TWO_MOUNTS, WITHIN_MOUNT, Act, Change, Fault, Script, Spec
from tests.adversary.twins import TWIN
from tests.adversary.upgrades import UPGRADE
from tests.adversary.worlds import script_of

SOURCE = (Spec("d/f", size=900, seed=1), Spec("d/g", size=9000, seed=2), Spec("h", size=7, seed=3))
WAIT = Act("wait", seconds=10)
MOUNTED = (WITHIN_MOUNT, S3_TO_MOUNT, TWO_MOUNTS)


def with_list(*meanwhile: Act) -> Script:
    """A run from a list, in the middle of which this happens."""
    fault = Fault("copy/any", 3, "another run", acts=(*meanwhile, WAIT, Act("run", "x")))
    options = {"manifest": "s3://lists-bucket/list.jsonl"}
    return Script(1, WITHIN_MOUNT, SOURCE, (), (Act("run", "r1", faults=(fault,)), WAIT, Act("run", "last")), options)


def test_a_run_by_a_list_that_was_written_anew_is_not_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    anew = Act("change", change=Change(ANEW, "", 5, "list"))
    outcome = carry_out(with_list(anew), tmp_path / "anew")
    assert (outcome.findings, outcome.statuses[0]) == ([], ("x", "SUCCEEDED"))
    outcome = carry_out(with_list(), tmp_path / "same")
    assert (outcome.findings, outcome.statuses[0]) == ([], ("x", "SKIPPED"))
    monkeypatch.setattr(plan_facts, "versions_read", lambda pieces: "")
    assert carry_out(with_list(anew), tmp_path / "mutant").kinds == {"skipped"}


@pytest.mark.parametrize("what", ["kill", "stop", "freeze"])
@pytest.mark.parametrize("direction", MOUNTED)
def test_a_run_after_an_upgrade_reads_what_the_version_before_left(what: str, direction: str, tmp_path: Path) -> None:
    first = Act("run", "r1", faults=(Fault("copy/any", 5, what, acts=(Act("run", "z"),) if what == "freeze" else ()),))
    acts = (first, WAIT, Act("change", change=Change(UPGRADE, "", end="product")), Act("run", "last"))
    outcome = carry_out(Script(0, direction, SOURCE, (), acts), tmp_path / "lab")
    assert (outcome.findings, outcome.statuses[-1]) == ([], ("last", "SUCCEEDED"))


def test_a_product_that_reads_its_own_version_alone_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Never:
        """No document outlives a run."""

    monkeypatch.setattr(documents, "Lasting", Never)
    acts = (Act("run", "r1"), Act("change", change=Change(UPGRADE, "", end="product")), Act("run", "last"))
    assert "quiet run failed" in carry_out(Script(0, WITHIN_MOUNT, SOURCE, (), acts), tmp_path / "lab").kinds


def frozen(direction: str, what: str, *, short: bool) -> Script:
    """A function that freezes when it has made the staging directory, before that is noted."""
    anew = [Act("change", change=Change("rewrite-now", "d/f", seed)) for seed in (77, 78)]
    acts = (WAIT, anew[0], WAIT, Act("run", "z"), WAIT, anew[1]) if what == "freeze" else ()
    fault = Fault("os:mkdir", 1, what, True, 100, 2, acts=acts, path=".fanout-staging-r1")
    return Script(0, direction, SOURCE, (), (Act("run", "r1", faults=(fault,)), WAIT, Act("run", "last")), short=short)


@pytest.mark.parametrize("short", [True, False], ids=["short", "ordinary"])
@pytest.mark.parametrize("what", ["freeze", "oversleep"])
@pytest.mark.parametrize("direction", MOUNTED)
def test_a_staging_directory_that_is_not_noted_yet(direction: str, what: str, short: bool, tmp_path: Path) -> None:
    outcome = carry_out(frozen(direction, what, short=short), tmp_path / "lab")
    assert (outcome.findings, outcome.statuses[-1]) == ([], ("last", "SUCCEEDED"))
    assert outcome.told[what] == 1


def test_a_product_that_does_not_look_again_when_it_is_noted_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(other_runs, "_meet_no_other", lambda *_: None)
    assert carry_out(frozen(WITHIN_MOUNT, "freeze", short=True), tmp_path / "lab").kinds == {"zombie"}


def test_seeds_draw_each() -> None:
    scripts = [script_of(seed) for seed in range(300)]
    deeds = {act.change.what for script in scripts for act in script.acts if act.change}
    deeds |= {fault.change.what for script in scripts for fault in script.faults() if fault.change}
    assert {ANEW, UPGRADE} <= deeds
    made = {fault.what for script in scripts for fault in script.faults() if fault.path.startswith(".fanout-staging-")}
    assert made == {"freeze", "oversleep"}


@pytest.mark.parametrize(
    ("own", "status"),
    [
        ({}, "SKIPPED"),
        ({"limits": {"files_per_second": 1e6}}, "SKIPPED"),
        ({"allow_empty_source": False}, "FAILED"),
        ({"limits": {"max_dollars": 1e6}}, "FAILED"),
    ],
)
def test_a_run_is_skipped_for_one_that_asks_for_the_same_alone(
    tmp_path: Path, own: dict[str, Any], status: str
) -> None:
    fault = Fault("copy/any", 3, "another run", acts=(Act("run", TWIN, own),))
    acts = (Act("run", "r1", faults=(fault,)), WAIT, Act("run", "last"))
    outcome = carry_out(Script(1, WITHIN_MOUNT, SOURCE, (), acts, {}), tmp_path / "twins")
    assert (outcome.findings, outcome.statuses[0]) == ([], (TWIN, status))


def test_a_run_that_is_skipped_for_another_request_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_turn, "same_transfer_digest", lambda request: digest_without(request, Decides.WORK))
    fault = Fault("copy/any", 3, "another run", acts=(Act("run", TWIN, {"report_entries": "all"}),))
    acts = (Act("run", "r1", faults=(fault,)), WAIT, Act("run", "last"))
    assert carry_out(Script(1, WITHIN_MOUNT, SOURCE, (), acts, {}), tmp_path / "mutant").kinds == {"skipped"}
