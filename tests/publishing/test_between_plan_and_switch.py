"""What other clients and late functions do between the plan of a run that publishes and its last step."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from fanout.ledger import run_places
from fanout.ledger.kind import D, ObjectKind
from fanout.ledger.ledger import Ledger
from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.model.errors import InvalidRequest, Transient
from fanout.ports.turns import Fence, Turn
from fanout.publishing.kept_versions import VERSIONS_OF, PublishedTree
from tests.support.flow import ManualClock
from tests.support.memory import MemoryTree
from tests.support.publishing import REQUEST, Fenced, PublishingWorld, held, rollback_to

KEEP_ONE = {**REQUEST, "publish": {"link": "current", "keep": 1, "keep_hours": 0}}


@pytest.fixture
def world(tmp_path: Path) -> PublishingWorld:
    world = PublishingWorld(run_id="v1", mount=tmp_path, clock=ManualClock())
    world.clock.time = 1_700_000_000.0
    for path, text in (("a.txt", "a"), ("d/b.txt", "b")):
        put(world, path, text)
    return world


def put(world: PublishingWorld, path: str, text: str) -> None:
    assert isinstance(world.source, MemoryTree)
    world.source.put(path, Kind.FILE, text.encode())


def up_to_the_switch(world: PublishingWorld, request: object = None) -> PublishingWorld:
    """The run, all but PublishVersion and what follows it."""
    world.list_all(world.plan(request or REQUEST))  # type: ignore[arg-type]
    world.copy_all()
    world.finish_all(deletes=True)
    return world


def fencing(world: PublishingWorld, *runs: str) -> PublishingWorld:
    fences = tuple(Fence("site/versions/", run) for run in runs)
    world.turns = Fenced(Turn(fences))  # type: ignore[assignment]
    return world


def message_of(summary: Json) -> str:
    message: str = summary["error"]["message"]
    return message


def failing(number: int) -> Callable[..., object]:
    def fail(*given: object, **named: object) -> object:
        raise OSError(number, os.strerror(number))

    return fail


class Asleep:
    """Has a function of ``os`` run something once before its call, where ``when`` says that it is the right one."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, name: str, when: Callable[..., bool], then: Callable[[], object]
    ) -> None:
        call = getattr(os, name)
        self.woke = False

        def late(*given: object, **named: object) -> object:
            if not self.woke and when(*given):
                self.woke = True
                then()
            return call(*given, **named)

        monkeypatch.setattr(os, name, late)


def test_versions_that_becomes_a_symlink_during_the_run_leads_nothing_out(
    world: PublishingWorld, tmp_path: Path
) -> None:
    world.publish()
    put(world, "a.txt", "two")
    second = up_to_the_switch(world.following("v2"), KEEP_ONE)
    (tmp_path / "elsewhere/v1").mkdir(parents=True)
    (tmp_path / "elsewhere/v1/kept").write_text("kept")
    os.rename(tmp_path / "site/versions", tmp_path / "site/moved")
    (tmp_path / "site/versions").symlink_to("../elsewhere")
    second.switch()
    assert "a directory of the path is a symlink: site/versions" in message_of(second.end())
    assert held(tmp_path / "elsewhere") == {"v1/kept": "kept"}


@pytest.mark.parametrize("kind", ["directory", "empty directory", "file", "another symlink"])
def test_a_link_that_somebody_replaces_before_the_switch_is_left_and_the_run_says_so(
    world: PublishingWorld, kind: str
) -> None:
    world.publish()
    put(world, "a.txt", "two")
    second = up_to_the_switch(world.following("v2"))
    link = world.mount / "site/current"
    link.unlink()
    if kind == "file":
        link.write_text("mine")
    elif kind == "another symlink":
        link.symlink_to("mine")
    else:
        link.mkdir()
        if kind == "directory":
            (link / "mine").write_text("mine")
    second.switch()
    summary = second.end()
    assert (summary["status"], summary["published"]) == ("FAILED", None)
    message = message_of(summary)
    assert message.startswith("efs://data/site/versions/v2 was not published: publish.link: /site/current ")
    assert os.readlink(link) == "mine" if kind == "another symlink" else not link.is_symlink()
    assert held(world.mount / "site/versions/v2") == {"a.txt": "two", "d/b.txt": "b"}


def test_a_directory_in_place_of_the_link_just_before_the_rename_is_left(
    world: PublishingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.publish()
    put(world, "a.txt", "two")
    second = up_to_the_switch(world.following("v2"))
    link = world.mount / "site/current"

    def replace_it() -> None:
        link.unlink()
        link.mkdir()

    Asleep(monkeypatch, "rename", lambda _, name: name == "current", replace_it)
    with pytest.raises(Transient):
        second.switch()
    second.switch()  # the state is retried
    assert "/site/current is there, and is no symlink" in message_of(second.end())
    assert not link.is_symlink()


@pytest.mark.parametrize("made", ["directory", "symlink", "no note"])
def test_a_note_that_somebody_replaced_stops_no_run(world: PublishingWorld, made: str) -> None:
    world.publish()
    note = world.mount / "site/versions/.published-v1"
    note.unlink()
    if made == "directory":
        note.mkdir()
    elif made == "symlink":
        note.symlink_to("/etc/hostname")
    else:
        note.write_text("no note")
    put(world, "a.txt", "two")
    second = world.following("v2")
    assert second.publish()["status"] == "SUCCEEDED"
    assert os.readlink(world.mount / "site/current") == "versions/v2"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("published_at", "1e300"),
        ("published_at", "-1"),
        ("published_at", "1e400"),
        ("number", "9" * 300),
        ("number", "9" * 20),
        ("held", '{"entries": 1, "bytes": 1' + "0" * 300 + "}"),
    ],
)
def test_a_note_with_numbers_that_nobody_publishes_stops_neither_a_run_nor_a_rollback(
    world: PublishingWorld, field: str, value: str
) -> None:
    world.publish()
    note = world.mount / "site/versions/.published-v1"
    note.write_text(json.dumps({**json.loads(note.read_text()), field: "VALUE"}).replace('"VALUE"', value))
    put(world, "a.txt", "two")
    second = world.following("v2")
    assert second.publish()["status"] == "SUCCEEDED"
    assert second.following("back").publish(rollback_to("v1"))["status"] == "SUCCEEDED"
    assert os.readlink(world.mount / "site/current") == "versions/v1"
    assert 0 < json.loads(note.read_text())["number"] < 10


def test_a_version_that_was_removed_by_hand_after_the_plan_has_its_files_copied(world: PublishingWorld) -> None:
    world.publish()
    second = world.following("v2")
    second.list_all(second.plan(REQUEST))
    shutil.rmtree(world.mount / "site/versions/v1")
    second.copy_all()
    second.finish_all(deletes=True)
    second.switch()
    assert second.end()["totals"]["copied"]["entries"] == 2
    assert held(world.current) == {"a.txt": "a", "d/b.txt": "b"}


def test_a_version_that_was_removed_by_hand_before_the_switch_is_not_switched_to(world: PublishingWorld) -> None:
    world.publish()
    put(world, "a.txt", "two")
    second = up_to_the_switch(world.following("v2"))
    shutil.rmtree(world.mount / "site/versions/v2")
    second.switch()
    assert "not published: destination: /site/versions/v2 was removed; start a new run" in message_of(second.end())
    assert os.readlink(world.mount / "site/current") == "versions/v1"


def test_a_file_system_that_does_not_answer_is_no_reason_to_call_a_run_superseded(
    world: PublishingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.publish()
    listdir = os.listdir
    monkeypatch.setattr(os, "listdir", failing(errno.EIO))
    with pytest.raises(Transient, match="reading the versions of /site/: Input/output error"):
        world.following("v2").plan(REQUEST)
    monkeypatch.setattr(os, "listdir", listdir)
    assert world.following("v3").publish()["status"] == "SUCCEEDED"


def test_a_note_that_a_nearly_full_disk_takes_in_pieces_is_whole(
    world: PublishingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:7]))
    world.publish()
    note = json.loads((world.mount / "site/versions/.published-v1").read_text())
    assert (note["version"], note["held"], note["number"]) == ("v1", {"entries": 2, "bytes": 2}, 1)


def test_a_function_that_wakes_up_late_does_not_leave_people_an_old_list_of_versions(
    world: PublishingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.publish()
    put(world, "a.txt", "two")
    write, third = Ledger.write, fencing(world.following("v3"), "v2")
    second = up_to_the_switch(world.following("v2"))
    woke: list[str] = []

    def late(ledger: Ledger, key: ObjectKind[D], document: D) -> None:
        if isinstance(document, PublishedTree) and not woke:
            woke.append(key)
            third.publish()
        write(ledger, key, document)

    monkeypatch.setattr(Ledger, "write", late)
    second.switch()
    shown = Ledger(world.store, run_places.VERSIONS).read(VERSIONS_OF.at(woke[0]))
    assert (shown.published, [note.version for note in shown.versions]) == ("v3", ["v3", "v2", "v1"])


@pytest.mark.parametrize("kind", ["file", "symlink"])
def test_somebodys_file_under_the_name_of_the_version_is_refused_and_left(world: PublishingWorld, kind: str) -> None:
    world.publish()
    place = world.mount / "site/versions/v2"
    place.write_text("mine") if kind == "file" else place.symlink_to("v1")
    with pytest.raises(InvalidRequest, match=r"^run_id: efs://data/site/versions/v2 is there already, and holds some"):
        world.following("v2").plan(REQUEST)
    assert place.read_text() == "mine" if kind == "file" else os.readlink(place) == "v1"
