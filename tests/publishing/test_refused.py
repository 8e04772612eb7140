"""Links and versions that belong to somebody else are refused before anything is copied."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fanout.model.entry import Kind
from fanout.model.errors import InvalidRequest
from tests.support.memory import MemoryTree
from tests.support.publishing import REQUEST, PublishingWorld, rollback_to


@pytest.fixture
def world(tmp_path: Path) -> PublishingWorld:
    source = MemoryTree()
    source.put("a.txt", Kind.FILE, b"a")
    return PublishingWorld(run_id="v1", mount=tmp_path, source=source)


def _file(world: PublishingWorld) -> None:
    (world.mount / "site").mkdir()
    (world.mount / "site/current").write_text("a file")


def _directory(world: PublishingWorld) -> None:
    (world.mount / "site/current").mkdir(parents=True)


def _outside(world: PublishingWorld) -> None:
    (world.mount / "site").mkdir()
    (world.mount / "site/current").symlink_to("../elsewhere")


def _another_link(world: PublishingWorld) -> None:
    world.publish({**REQUEST, "publish": {"link": "live"}})


def _another_source(world: PublishingWorld) -> None:
    world.publish({**REQUEST, "source": "s3://other-bucket/tree/"})


def _something_there(world: PublishingWorld) -> None:
    (world.mount / "site/versions/v2/d").mkdir(parents=True)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (_file, "publish.link: /site/current is there, and is no symlink; name another link, or move it away"),
        (_directory, "publish.link: /site/current is there, and is no symlink"),
        (_outside, "publish.link: /site/current leads to '../elsewhere', which is no version of /site/; name another"),
        (_another_link, "publish.link: the versions of efs://data/site are published as 'live'; name that link"),
        (_another_source, "source: the versions of efs://data/site are published from s3://other-bucket/tree/; name"),
        (_something_there, "run_id: efs://data/site/versions/v2 is there already, and holds something; start it under"),
    ],
)
def test_a_link_or_versions_of_others_are_refused_before_anything_is_copied(
    world: PublishingWorld, make: object, message: str
) -> None:
    assert callable(make)
    make(world)
    second = world.following("v2")
    with pytest.raises(InvalidRequest) as refused:
        second.publish()
    assert str(refused.value).startswith(message)


def test_a_version_that_was_never_published_cannot_be_gone_back_to(world: PublishingWorld) -> None:
    world.publish()
    with pytest.raises(InvalidRequest, match="source: efs://data/site/versions/v9 is no version that was"):
        world.following("back").publish(rollback_to("v9"))
    shutil.rmtree(world.mount / "site/versions/v1")
    with pytest.raises(InvalidRequest, match="source: efs://data/site/versions/v1 is no version"):
        world.following("back-2").publish(rollback_to("v1"))
