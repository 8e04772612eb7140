"""A ledger that lost or broke an object: the run that reads it says so, or ends with equal trees."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import pytest

from fanout.facts import tuning
from fanout.model.document import Json
from fanout.model.errors import InvalidRequest, LedgerBroken
from tests.runs.ledger_losses import DAMAGES, REQUEST, STOPS, Snapshot, filled, keys_of, verdict_on
from tests.support.flow import World


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "SEGMENT_ENTRIES", 12)
    monkeypatch.setattr(tuning, "FIRST_SEGMENT_ENTRIES", 12)
    monkeypatch.setattr("fanout.report.page.render_report", lambda _: "")  # takes most of the time of so small a run


def stopped(stop: str) -> Snapshot:
    world = filled()
    STOPS[stop](world)
    return Snapshot.of(world)


def resumes(snapshot: Snapshot, changed: dict[str, bytes | None]) -> str:
    earlier = snapshot.world.run_id

    def run(world: World) -> Json:
        return world.run({"resume_from": earlier})

    world = snapshot.restored("run-9", changed)
    try:
        return verdict_on(world, run)
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, OSError, zlib.error) as error:
        return f"{type(error).__name__} out of a function: {error}"


@pytest.mark.parametrize("stop", STOPS)
def test_a_resume_of_a_ledger_that_lost_one_object_is_never_green_and_wrong(stop: str) -> None:
    snapshot = stopped(stop)
    assert not resumes(snapshot, {})
    found = {key: resumes(snapshot, {key: None}) for key in keys_of(snapshot)}
    assert not {key: problem for key, problem in found.items() if problem}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("stop", ["planned", "half listed", "half copied", "failed"])
def test_a_resume_of_a_ledger_with_one_broken_object_is_never_green_and_wrong(stop: str, damage: str) -> None:
    snapshot = stopped(stop)
    found = {}
    for key in keys_of(snapshot):
        broken = DAMAGES[damage](snapshot.objects[key])
        if broken is not None:
            found[key] = resumes(snapshot, {key: broken})
    assert not {key: problem for key, problem in found.items() if problem}


def test_a_run_that_resumes_one_that_only_began_to_resume_takes_over_what_that_was_to() -> None:
    world = filled()
    STOPS["failed"](world)
    second = world.next_run("run-2")
    second.plan({"resume_from": "run-1"})
    snapshot = Snapshot.of(second)
    assert not resumes(snapshot, {})
    lost = {key: resumes(snapshot, {key: None}) for key in snapshot.objects}
    assert not {key: problem for key, problem in lost.items() if problem}


def test_a_run_that_did_not_begin_to_read_its_manifest_is_not_resumed_as_a_listing_of_everything() -> None:
    world = filled()
    world.objects.put("lists", "few.csv", b"d0/f0\n")
    world.plan({**REQUEST, "manifest": "s3://lists/few.csv"})
    snapshot = Snapshot.of(world)
    following = snapshot.restored("run-9", {"runs/run-1/segments/round-0001.json": None})
    with pytest.raises(InvalidRequest, match="did not begin to read its manifest; start the request again"):
        following.run({"resume_from": "run-1"})


@pytest.mark.parametrize("kept", [(), ("phases/list.json",)])
def test_a_ledger_that_does_not_list_what_a_task_has_just_written_is_broken(
    monkeypatch: pytest.MonkeyPatch, kept: tuple[str, ...]
) -> None:
    world = filled()
    STOPS["half copied"](world)
    plain = world.store.list

    def listed(prefix: str) -> Iterator[str]:
        names = tuple(f"runs/run-1/{name}" for name in kept)
        return (key for key in plain(prefix) if "/phases/" not in key or key in names)

    monkeypatch.setattr(world.store, "list", listed)
    with pytest.raises(LedgerBroken, match=r"does not list phases/summarise\.json"):
        world.end()
