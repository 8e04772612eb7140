"""Versions that cannot be removed, and a place for them that others could rename in."""

from __future__ import annotations

import os

import pytest

from fanout.adapters.posix.publishing import versions as versions_below_a_mount
from fanout.model.errors import InvalidRequest
from fanout.publishing.publish_version import publish_version
from tests.runs.test_publish import world
from tests.runs.test_publish_attacks import known, until_the_switch
from tests.support.nobody import NOBODY
from tests.support.publishing import REQUEST, PublishingWorld

__all__ = ["world"]


def test_old_versions_that_cannot_be_removed_are_a_note_and_the_next_run_removes_them(
    world: PublishingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = {**REQUEST, "publish": {"link": "current", "keep": 1}}
    world.publish(request)
    world.following("v2").publish(request)
    third = world.following("v3")
    until_the_switch(third, request)
    with monkeypatch.context() as patch:
        patch.setattr(versions_below_a_mount, "remove_retired", denied)
        publish_version(third.context())
    assert any("old versions could not be removed" in note for note in third.end()["notes"])
    assert os.readlink(world.mount / "site/current") == "versions/v3"
    assert known(third) == ["v3", "v2"]
    world.following("v4").publish(request)
    assert [name for name in world.versions() if name[0] != "."] == ["v3", "v4"]


def denied(*_: object, **__: object) -> None:
    raise PermissionError(13, "Permission denied")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs two users")
@pytest.mark.parametrize(("owner", "mode"), [(NOBODY, 0o755), (0, 0o777), (0, 0o775)])
def test_versions_that_others_could_rename_are_refused_before_anything_is_copied(
    world: PublishingWorld, owner: int, mode: int
) -> None:
    """Whoever may could have what is copied into a version go into a directory of his, and his be published."""
    above = world.mount / "site/versions"
    above.mkdir(parents=True)
    os.chown(above, owner, owner)
    above.chmod(mode)
    with pytest.raises(InvalidRequest, match="have it owned by the function's user, with no write permission") as error:
        world.publish()
    assert "destination: /site/versions " in str(error.value)
    assert os.listdir(above) == []
    os.chown(above, 0, 0)
    above.chmod(0o755)
    assert world.following("v2").publish()["status"] == "SUCCEEDED"
