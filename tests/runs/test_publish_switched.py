"""A version that the link named a moment ago stays, whoever switched the link: other NFS clients follow it a minute."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fanout.adapters.posix.publishing.versions import PosixVersions
from fanout.facts.mounts import CACHED_SECONDS
from fanout.model.entry import Kind
from tests.support.flow import ManualClock
from tests.support.nfs_client import NfsClient
from tests.support.publishing import REQUEST, PublishingWorld, rollback_to

KEEP_TWO = {**REQUEST, "publish": {"link": "current", "keep": 2, "keep_hours": 0}}
KEEP_ONE = {**REQUEST, "publish": {"link": "current", "keep": 1, "keep_hours": 0}}


class Killed(BaseException):
    """The function was killed."""


@pytest.fixture
def world(tmp_path: Path) -> PublishingWorld:
    made = PublishingWorld(run_id="v1", mount=tmp_path, clock=ManualClock())
    write(made, "one")
    return made


def write(world: PublishingWorld, text: str) -> None:
    world.source.put("a", Kind.FILE, text.encode())  # type: ignore[attr-defined]


def after(world: PublishingWorld, run_id: str, seconds: float) -> PublishingWorld:
    """A run so long after the last one."""
    following = world.following(run_id)
    following.clock.time += seconds - CACHED_SECONDS - 1
    return following


def there(world: PublishingWorld) -> list[str]:
    return [name for name in world.versions() if name[0] != "."]


def killed_before_the_switch(world: PublishingWorld, run_id: str, monkeypatch: pytest.MonkeyPatch) -> PublishingWorld:
    def die(_versions: PosixVersions) -> None:
        raise Killed

    second = world.following(run_id)
    write(second, run_id)
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(PosixVersions, "switch", die)
        second.publish(KEEP_TWO)
    return second


def test_the_version_that_readers_read_stays_where_the_next_publisher_was_killed_before_its_switch(
    world: PublishingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.publish(KEEP_TWO)
    killed_before_the_switch(world, "v2", monkeypatch)
    third = world.following("v3")
    assert third.publish(KEEP_TWO)["status"] == "SUCCEEDED"
    assert "v1" in there(world)
    later = third.following("v4")
    later.publish({**REQUEST, "publish": {"link": "current", "keep": 3, "keep_hours": 0}})
    assert there(world) == ["v1", "v3", "v4"]  # v2, which nobody ever read, goes first


def test_a_publisher_that_goes_on_keeps_what_was_live_when_it_began(
    world: PublishingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.publish(KEEP_ONE)
    second = killed_before_the_switch(world, "v2", monkeypatch)
    second.switch()
    assert (os.readlink(world.mount / "site/current"), there(world)) == ("versions/v2", ["v1", "v2"])


@pytest.mark.parametrize("moment", ["before the run", "before the switch", "after the note"])
def test_the_version_that_somebody_switched_to_by_hand_stays(
    world: PublishingWorld, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.publish(KEEP_TWO)
    for number in (2, 3):
        world.following(f"v{number}").publish({**REQUEST, "publish": {"link": "current", "keep": 3}})
    fourth = world.following("v4")

    switch = PosixVersions.switch

    def by_hand() -> None:
        (world.mount / "site/current").unlink()
        (world.mount / "site/current").symlink_to("versions/v1")

    def late(versions: PosixVersions) -> str:
        by_hand()
        return switch(versions)

    if moment == "before the run":
        by_hand()
        fourth.publish(KEEP_TWO)
    else:
        fourth.list_all(fourth.plan(KEEP_TWO))
        fourth.copy_all()
        fourth.finish_all(deletes=True)
        with monkeypatch.context() as patch:
            if moment == "after the note":
                patch.setattr(PosixVersions, "switch", late)
            else:
                by_hand()
            fourth.switch()
    assert {"v1", "v4"} <= set(there(world))
    fifth = after(fourth, "v5", 1)
    fifth.publish(KEEP_ONE)
    assert {"v1", "v4", "v5"} <= set(there(world))
    fifth.following("v6").publish(KEEP_ONE)
    assert there(world) == ["v5", "v6"]


def test_a_version_that_stays_for_the_minute_alone_goes_at_the_next_publication(world: PublishingWorld) -> None:
    world.publish(KEEP_ONE)
    following = world
    for number in range(2, 6):
        following = after(following, f"v{number}", 25)
        following.publish(KEEP_ONE)
        assert len(there(world)) <= 2 + CACHED_SECONDS // 25
    assert there(world) == ["v2", "v3", "v4", "v5"]
    following.following("v6").publish(KEEP_ONE)
    assert there(world) == ["v5", "v6"]


def test_the_version_that_was_gone_back_from_stays_for_the_minute(world: PublishingWorld) -> None:
    world.publish(KEEP_TWO)
    world.following("v2").publish(KEEP_TWO)
    back = after(world, "back", 5)
    assert back.publish(rollback_to("v1"))["status"] == "SUCCEEDED"
    after(back, "v3", 5).publish(KEEP_ONE)
    assert there(world) == ["v1", "v2", "v3"]


def test_a_link_that_another_client_switched_a_moment_ago_is_seen(world: PublishingWorld) -> None:
    client = NfsClient(world.mount)
    with client.mounted():
        world.publish(KEEP_ONE)
        world.following("v2").publish(KEEP_ONE)
        third = world.following("v3")
        third.list_all(third.plan(KEEP_ONE))
        third.copy_all()
        third.finish_all(deletes=True)
        with client.elsewhere():
            (world.mount / "site/new").symlink_to("versions/v1")
            (world.mount / "site/new").rename(world.mount / "site/current")
        third.switch()
        with client.elsewhere():
            assert there(world) == ["v1", "v2", "v3"]
