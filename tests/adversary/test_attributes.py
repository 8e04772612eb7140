"""Objects of all forms of attributes: drawn at both ends, and read by the oracle as docs/understand says."""

from __future__ import annotations

from random import Random

import pytest

from tests.adversary.attributes import FORMS, POSIX, foreign, id_of, mode_of, mtime_of, told_by
from tests.adversary.script import INSIDE_S3, S3_TO_MOUNT, Spec

FILE = Spec("f", size=9, seed=3, mode=0o640, mtime_ns=-7, uid=1000, gid=5)


def read(spec: Spec) -> tuple[int | None, ...]:
    headers = FORMS[spec.attributes](spec)
    return mode_of(headers), mtime_of(headers), id_of(headers, "owner"), id_of(headers, "group")


@pytest.mark.parametrize("form", list(FORMS))
def test_only_what_the_product_can_read_is_told(form: str) -> None:
    told = read(Spec("f", mode=0o640, mtime_ns=-7, uid=1000, gid=5, attributes=form))
    whole = (0o100640, -7, 1000, 5)
    if form in ("", "decimal"):
        assert told == (whole if not form else (None, *whole[1:]))
    elif form == "broken":
        assert all(one in (None, wanted) for one, wanted in zip(told, whole, strict=True)) and told != whole
    else:
        assert told == (None,) * 4


@pytest.mark.parametrize(
    ("text", "mtime_ns"),
    [("7", 7_000_000), ("-7ns", -7), ("253402300799000000007ns", 253402300799000000007), ("9" * 40, None), ("", None)],
)
def test_a_time_is_in_milliseconds_without_a_unit(text: str, mtime_ns: int | None) -> None:
    assert mtime_of({f"{POSIX}mtime": text}) == mtime_ns


def test_each_form_is_drawn_and_the_farthest_times_where_no_file_system_keeps_them() -> None:
    drawn = {direction: foreign(Random(1), (FILE,) * 900, direction) for direction in (S3_TO_MOUNT, INSIDE_S3)}
    for specs in drawn.values():
        assert {spec.attributes for spec in specs} == set(FORMS)
    assert {spec.mtime_ns < 2**63 for spec in drawn[INSIDE_S3]} == {True, False}
    assert min(spec.mtime_ns for spec in drawn[INSIDE_S3]) < -(2**63)
    assert all(-8 < spec.mtime_ns < 2**64 for spec in drawn[S3_TO_MOUNT])


@pytest.mark.parametrize(
    ("tool", "told"),
    [
        ("rclone", {"mtime_ns": 7_000_000_005}),
        ("s3fs", {"mode": 0o640, "mtime_ns": 7_000_000_000, "uid": 1000, "gid": 5}),
        ("s3cmd", {"mode": 0o640, "mtime_ns": 7_000_000_000, "gid": 5}),
    ],
)
def test_what_a_tool_wrote_is_read_where_the_request_names_it(tool: str, told: dict[str, int]) -> None:
    spec = Spec("f", mode=0o640, mtime_ns=7_000_000_005, uid=1000, gid=5, attributes=tool)
    assert told_by(tool, FORMS[tool](spec)) == told
    assert told_by("s3fs" if tool == "s3cmd" else "s3cmd", FORMS[tool](spec)) == {}
