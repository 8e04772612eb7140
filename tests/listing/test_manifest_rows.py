"""Whatever a row of a manifest holds, it is one outcome, and the rows beside it are carried out."""

from __future__ import annotations

import gzip
import json
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fanout.adapters.posix.tree import PosixTree
from fanout.facts import tuning
from fanout.model.document import Json
from fanout.model.errors import InvalidRequest
from tests.support.flow import REQUEST, World
from tests.support.manifests import FROM_MOUNT, PLACE, contents, failures, put, world_of

LONG = tuning.MANIFEST_ROW_BYTES + 1


@pytest.fixture(autouse=True)
def no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fanout.report.page.render_report", lambda _: "")  # takes most of the time of so small a run


def from_mount(directory: str) -> World:
    """A mount that holds the file ``good``."""
    root = Path(directory)
    (root / "in").mkdir()
    (root / "in/good").write_bytes(b"good")
    return World(source=PosixTree(root, "in", "run-1", "source", "source"))


def run(world: World, request: Json, data: bytes, form: str) -> Json:
    return world.run({**request, "manifest": put(world, data, form)["manifest"]})


BAD_PATHS = [
    "\ud800x",
    "x\udfff",
    "\udcffx",
    "\udcc3\udca9",
    "\0",
    "a\0b",
    "n" * 300,
    "/".join(["d"] * 2000),
    "d/" * 60_000,
    "x" * 1025,
    "../x",
    "/etc/passwd",
    "a//b",
    "a/.",
    "./..",
    "\n",
    "\x1b[31m",
    "\u202e",
]


@pytest.mark.parametrize("request_", [REQUEST, FROM_MOUNT], ids=["to mount", "from mount"])
@pytest.mark.parametrize("field", ["", "path", "key"])
def test_a_row_that_names_no_path_is_one_outcome(request_: Json, field: str, tmp_path: Path) -> None:
    world = world_of({"good": b"good"}) if request_ is REQUEST else from_mount(str(tmp_path))
    rows: list[Any] = [{field: path} if field else path for path in BAD_PATHS]
    data = "".join(f"{json.dumps(row)}\n" for row in [*rows, "good"]).encode()
    summary = run(world, request_, data, "jsonl")
    assert summary["totals"]["listed"]["entries"] == len(BAD_PATHS) + 1
    assert (summary["balanced"], summary["status"]) == (True, "FAILED_WITH_ITEMS")
    assert summary["totals"]["copied"]["entries"] == 1
    assert contents(world.destination)["good"] == b"good"


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_a_list_as_find_writes_it_names_entries_of_a_mount(form: str, tmp_path: Path) -> None:
    world = from_mount(str(tmp_path))
    (tmp_path / "in/d").mkdir()
    (tmp_path / "in/d/f").write_bytes(b"f")
    rows = [".", "./", "./good", ".//d/", "././d/f"]
    data = "".join(f"{json.dumps(row) if form == 'jsonl' else row}\n" for row in rows).encode()
    summary = run(world, FROM_MOUNT, data, form)
    assert (summary["status"], summary["totals"]["listed"]["entries"]) == ("SUCCEEDED", 3)
    assert contents(world.destination) == {"good": b"good", "d/": b"", "d/f": b"f"}


def test_a_key_that_begins_with_a_dot_is_a_key_of_its_own() -> None:
    world = world_of({"good": b"good"})
    run(world, REQUEST, b'"./good"\n', "jsonl")
    assert failures(world) == {"./good": ("rejected", "name component . or ..")}


def test_a_name_that_no_bytes_stand_for_is_rejected_with_its_line(tmp_path: Path) -> None:
    world = from_mount(str(tmp_path))
    run(world, FROM_MOUNT, b'"good"\n"\\ud800x"\n', "jsonl")
    [row] = world.ledger.read_rows("failures.jsonl")
    assert (row["outcome"], row["reason"]) == ("rejected", "row of the manifest cannot be read")
    assert row["message"] == ("line 2 of s3://lists/lists/a.jsonl holds '\\ud800', which encodes no byte of a name")


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_what_may_be_missing_is_skipped_and_copied_where_it_is_there(form: str) -> None:
    world = world_of({"good": b"good"})
    rows = [("good", "true"), ("gone", "true"), ("lost", "false")]
    lines = {
        "jsonl": "".join(json.dumps({"path": path, "may_be_missing": text == "true"}) + "\n" for path, text in rows),
        "csv": "path,may_be_missing\n" + "".join(f"{path},{text}\n" for path, text in rows),
    }
    totals = run(world, REQUEST, lines[form].encode(), form)["totals"]
    assert {name: totals[name]["entries"] for name in ("listed", "copied", "skipped", "failed")} == {
        "listed": 3, "copied": 1, "skipped": 1, "failed": 1,
    }  # fmt: skip
    assert failures(world) == {"lost": ("failed", "in the manifest but not at the source")}


TEXTS = st.text(st.characters(codec=None), max_size=12) | st.sampled_from(BAD_PATHS)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
FIELDS = st.sampled_from(
    [
        "path",
        "key",
        "size",
        "etag",
        "last_modified",
        "bucket",
        "reason",
        "may_be_missing",
        "islatest",
        "lastmodifieddate",
    ]
)
TIMES = st.sampled_from(["2026-01-01T00:00:00Z", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"])
ETAGS = st.just("0" * 32)
JSON_ROWS = st.recursive(
    SCALARS | st.dictionaries(FIELDS, SCALARS | TIMES | ETAGS | st.sampled_from(["1", "999999999999999"])),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(FIELDS, one, max_size=3),
    max_leaves=6,
).map(lambda value: json.dumps(value).encode())
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
RAW = st.binary(max_size=40).map(lambda data: data.replace(b"\n", b""))


@settings(deadline=None, max_examples=60)
@given(st.lists(JSON_ROWS | RAW, max_size=12), st.booleans(), st.sampled_from(["fail", "skip"]), st.booleans())
@example([b'{"key": "tree/\\ud800"}', b'"\\udcc3\\udca9"'], True, "fail", False)
@example([_BYTE_ORDER_MARK], False, "fail", False)
def test_arbitrary_json_rows_are_one_outcome_each(rows: list[bytes], mount: bool, conflict: str, packed: bool) -> None:
    form = "jsonl.gz" if packed else "jsonl"
    check(rows, b"\n".join([*rows, b'"good"']) + b"\n", form, conflict, on_mount=mount)


@settings(deadline=None, max_examples=60)
@given(st.lists(RAW | st.binary(max_size=8).map(lambda data: b'"' + data.replace(b"\n", b"") + b'"')), st.booleans())
def test_arbitrary_csv_rows_are_one_outcome_each(rows: list[bytes], mount: bool) -> None:
    # "path" names the column; a row without a comma in it is one path.
    check(rows, b"\n".join([b"path", *rows, b"good"]) + b"\n", "csv", "fail", on_mount=mount)


def check(rows: list[bytes], data: bytes, form: str, conflict: str, *, on_mount: bool) -> None:
    with tempfile.TemporaryDirectory() as directory:
        world = from_mount(directory) if on_mount else world_of({"good": b"good"})
        base = FROM_MOUNT if on_mount else REQUEST
        summary = run(world, {**base, "on_conflict": conflict}, data, form)
    assert summary["balanced"]
    assert summary["error"] is None or summary["error"]["name"] == "FailedWithItems"
    listed = summary["totals"]["listed"]["entries"]
    if rows and data.startswith(_BYTE_ORDER_MARK):  # belongs to the file, not to its first row
        rows = [rows[0].removeprefix(_BYTE_ORDER_MARK), *rows[1:]]
    counted = [row for row in rows if row.removesuffix(b"\r")]
    empty_keys = sum(1 for row in counted if _names_the_root(row))
    assert len(counted) + 1 - empty_keys <= listed <= len(counted) + 1
    assert contents(world.destination)["good"] == b"good"


def _names_the_root(row: bytes) -> bool:
    """A key that is the source's prefix and nothing else is the root, which is no entry; so is "." of a mount."""
    return b'"key"' in row or re.search(rb'(?:\A|")(?:\./*)+(?:"|\r?\Z)', row) is not None


@pytest.mark.parametrize("form", ["jsonl", "jsonl.gz", "csv", "csv.gz"])
@pytest.mark.parametrize("place", ["first", "middle", "last", "alone"])
def test_a_line_that_is_too_long_is_rejected_and_the_others_are_carried_out(
    form: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "MANIFEST_PART_BYTES", 1 << 20)  # so that it fills parts of its own
    files = {f"f{number}": b"x" for number in range(6)}
    world = world_of(files)
    names = [f'"f{number}"'.encode() for number in range(6)]
    lines = {"first": 0, "middle": 3, "last": 6, "alone": 0}
    long = b'"' + b"y" * (5 * LONG) + b'"'
    rows = [long] if place == "alone" else [*names[: lines[place]], long, *names[lines[place] :]]
    header = [b"path"] if form.startswith("csv") else []
    data = b"\n".join([*header, *rows]) + (b"" if place == "last" else b"\n")
    summary = run(world, REQUEST, data, form)
    expected = {} if place == "alone" else files
    assert contents(world.destination) == expected
    assert summary["balanced"]
    assert summary["totals"]["listed"]["entries"] == len(expected) + 1
    [row] = world.ledger.read_rows("failures.jsonl")
    assert row["outcome"] == "rejected"
    assert "has over 1,048,576 bytes; write a row to a line" in row["message"]


def test_a_line_of_just_the_most_bytes_is_read() -> None:
    world = world_of({"good": b"good"})
    pad = b" " * (tuning.MANIFEST_ROW_BYTES - len(b'"good"'))
    summary = run(world, REQUEST, b'"good"' + pad + b"\n" + b'"good" ' + pad + b"\n", "jsonl")
    assert summary["totals"]["copied"]["entries"] == 1
    assert summary["totals"]["rejected"]["entries"] == 1


def test_a_header_that_is_too_long_is_refused() -> None:
    world = world_of({})
    world.objects.put("lists", PLACE["csv.gz"], gzip.compress(b"x" * LONG))
    with pytest.raises(InvalidRequest, match="has over 1,048,576 bytes"):
        world.plan({**REQUEST, "manifest": f"s3://lists/{PLACE['csv.gz']}"})


def test_a_manifest_of_one_endless_line_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No part reads what lies after its own end."""
    world = world_of({})
    size = 3 * tuning.MANIFEST_PART_BYTES
    read: list[int] = []
    plain = world.objects.read

    def counted(*arguments: Any) -> bytes:
        data = plain(*arguments)
        read.append(len(data))
        return data

    monkeypatch.setattr(world.objects, "read", counted)
    summary = run(world, REQUEST, b'"' + b"y" * size, "jsonl")
    assert failures(world)
    assert summary["totals"]["listed"]["entries"] == 1
    assert sum(read) <= size + 10 * tuning.MANIFEST_READ_BYTES
