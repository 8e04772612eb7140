"""What a stack lets copies on a mount have: the table of ``allowed_attributes``."""

from __future__ import annotations

import stat
from typing import Any

import pytest

from fanout.model.entry import OWNERS, ROOT_SET_IDS, SET_IDS, STACK_SET_IDS, Attributes
from fanout.model.errors import InvalidRequest
from fanout.request.parse import parse_request
from fanout.request.parts.allowed_attributes import Allowed, StackAllows, allowed_for, owners_of

S3, MOUNT = "s3://a-bucket/in/", "efs:///in"
SUID, SGID = 0o4755, 0o2755
OWN = 77
ANY = "0-4294967294:0-4294967294"


def allowed(source: str, owners: str = "", *, stack: bool = True, **request: Any) -> Allowed:
    wanted: dict[str, Any] = {"source": source, "destination": "efs:///out"}
    wanted |= {"attributes": request} if request else {}
    return allowed_for(parse_request(wanted, ("data",), 10), StackAllows(owners_of(owners), stack))


@pytest.mark.parametrize(
    ("source", "owners", "stack", "asked", "owner", "mode", "left"),
    [
        (S3, "", True, False, (1, 1), SUID, {SET_IDS: "4755"}),
        (S3, "", True, True, (1, 1), SUID, {}),
        (S3, "", True, True, (0, 1), SUID, {ROOT_SET_IDS: "4755"}),
        (S3, "", True, True, (0, 1), SGID, {}),
        (S3, "", True, True, (1, 0), SGID, {ROOT_SET_IDS: "2755"}),
        (S3, "", True, True, (1, 0), SUID, {}),
        (S3, ANY, True, True, (0, 0), SUID | SGID, {}),
        (S3, ANY, True, False, (0, 0), SUID, {SET_IDS: "4755"}),
        (S3, ANY, False, True, (0, 0), SUID, {STACK_SET_IDS: "4755"}),
        (S3, "", False, True, (1, 1), SUID, {STACK_SET_IDS: "4755"}),
        (S3, "", False, False, (1, 1), 0o755, {}),
        (S3, "1-9:1-9", True, True, (0, 0), SUID, {OWNERS: "0:0"}),
        (S3, "1-9:1-9", True, True, (9, 9), SUID, {}),
        (S3, "1-9:1-9", True, False, (10, 9), 0o600, {OWNERS: "10:9"}),
        (S3, "1:1,5:5", True, False, (1, 5), 0o600, {OWNERS: "1:5"}),
        (S3, "1:1,5:5", True, False, (5, 5), 0o600, {}),
        (S3, "1:1", True, False, (None, None), 0o600, {}),
        (S3, "1:1", True, False, (None, 0), 0o600, {OWNERS: "-:0"}),
        (S3, "1:1", True, False, (1, None), 0o600, {}),
        (MOUNT, "1:1", True, False, (0, 0), SUID, {}),
        (MOUNT, "1:1", False, False, (0, 0), SUID, {STACK_SET_IDS: "4755"}),
    ],
)
def test_what_is_not_allowed_is_left_out_and_told(
    source: str, owners: str, stack: bool, asked: bool, owner: Any, mode: int, left: dict[str, str]
) -> None:
    rule = allowed(source, owners, stack=stack, **({"set_ids": True} if asked else {}))
    uid, gid = owner
    known = Attributes(stat.S_IFREG | mode, uid, gid, 5, 6, {"content-type": "text/plain"}, 7, {"atime_ns": "x"})
    found = rule.of(known, is_directory=False, own=lambda: OWN)
    assert found.unreadable == {"atime_ns": "x", **left}
    assert (found.uid, found.gid) == ((OWN, None) if OWNERS in left else owner)
    assert stat.S_IMODE(found.mode or 0) == (mode & 0o777 if left else mode)
    assert (found.mtime_ns, found.headers, found.modified_ns) == (5, {"content-type": "text/plain"}, 7)
    assert known.uid == owner[0] and known.mode == stat.S_IFREG | mode  # a value, which others may hold
    assert rule.of(found, is_directory=False, own=lambda: OWN) == found


@pytest.mark.parametrize(
    ("source", "owners", "stack", "asked", "owner", "left"),
    [
        (S3, "", True, False, (1, 0), {}),  # without attributes.set_ids, and root's group
        (S3, "", True, True, (0, 0), {}),
        (S3, "1-9:1-9", True, False, (1, 9), {}),
        (S3, "1-9:1-9", True, True, (1, 0), {OWNERS: "1:0"}),
        (S3, ANY, False, True, (1, 1), {STACK_SET_IDS: "2770"}),
        (S3, "1-9:1-9", False, True, (1, 0), {OWNERS: "1:0", STACK_SET_IDS: "2770"}),
        (MOUNT, "", True, False, (0, 0), {}),
        (MOUNT, "", False, False, (1, 1), {STACK_SET_IDS: "2770"}),
    ],
)
def test_a_directory_keeps_its_set_group_id_bit_with_its_group_unless_the_stack_allows_none(
    source: str, owners: str, stack: bool, asked: bool, owner: Any, left: dict[str, str]
) -> None:
    known = Attributes(stat.S_IFDIR | 0o2770, *owner)
    rule = allowed(source, owners, stack=stack, **({"set_ids": True} if asked else {}))
    found = rule.of(known, is_directory=True, own=lambda: OWN)
    assert found.unreadable == left
    assert found.mode == stat.S_IFDIR | (0o770 if left else 0o2770)


def test_nothing_is_bounded_where_no_mount_is_written() -> None:
    request = parse_request({"source": "efs:///in", "destination": "s3://a-bucket/out/"}, ("data",), 10)
    assert allowed_for(request, StackAllows(owners_of("1:1"), set_ids=False)).are_all
    assert allowed("efs:///in", "1:1").are_all
    assert not allowed(S3).are_all


def test_a_refused_owner_is_the_mounts_user_and_nobody_asks_for_him_otherwise() -> None:
    rule, asked = allowed(S3, "1:1"), [7]
    assert rule.of(Attributes(uid=2, gid=1), is_directory=True, own=asked.pop).uid == 7
    assert rule.of(Attributes(uid=1, gid=1), is_directory=True, own=asked.pop).uid == 1
    assert rule.of(Attributes(uid=2), is_directory=True, own=lambda: None).uid is None  # nobody could find out


@pytest.mark.parametrize("text", ["1", "a:b", "1:1,", "1-:1", "-1:1", "1:1 2:2", "1:12345678901", "1::1", "*"])
def test_what_names_no_owners_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="AllowedOwners"):
        owners_of(text)
