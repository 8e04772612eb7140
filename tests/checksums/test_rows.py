"""Manifests and reports of S3 Batch Operations, row by row, and which ends are worth asking about."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from fanout.checksums.forecast import JOB_SECONDS, computing
from fanout.checksums.rows import computed_in, manifest_row, report_files, report_rows, to_compute
from fanout.efs.load import Work
from fanout.efs.phase_cost import Basis
from fanout.facts.prices import prices_with
from fanout.model.checksum import CRC64NVME
from fanout.model.entry import bare
from fanout.model.errors import InvalidRequest
from fanout.model.shard import Rates
from fanout.request.parse import parse_request

CRC = "AAAAAAAAAAE="
SAID = {"checksum_base64": CRC, "etag": "e", "checksumAlgorithm": "CRC64NVME", "checksumType": "FULL_OBJECT"}
S3_IN, S3_OUT = (
    {"source": "s3://bucket/in/", "destination": "efs:///o"},
    {"source": "efs:///i", "destination": "s3://bucket/o/"},
)


def row(key: str = "in/f", **said: Any) -> list[str]:
    return ["b", key, "", "succeeded", "200", "", json.dumps({**SAID, **said})]


@pytest.mark.parametrize(
    ("told", "computed"),
    [
        ({"source": {}}, ("source",)),
        ({"destination": {}}, ("destination",)),
        ({"source": {"SHA1": "x"}}, ()),
        ({"source": {}, "destination": {}}, ("source", "destination")),
        ({"source": {CRC64NVME: "x"}, "destination": {}}, ("destination",)),
        ({"source": {"SHA1": "x"}, "destination": {"MD5": "y"}}, ("source", "destination")),
        ({"source": {"SHA1": "x"}, "destination": {"SHA1": "y", "MD5": "z"}}, ()),
    ],
    ids=str,
)
def test_only_what_nobody_tells_is_computed(told: dict[str, dict[str, str]], computed: tuple[str, ...]) -> None:
    assert to_compute(told) == computed  # type: ignore[arg-type]


@pytest.mark.parametrize("key", ["a b", "a+b", "ü", "a,b", 'a"b', "a\nb", "a%2Fb", "../a", "a=b"])
def test_a_key_comes_back_as_it_was(key: str) -> None:
    line = manifest_row("b", f"in/{key}", "")
    assert line.count("\n") == 1 and line.count(",") == 1 and '"' not in line
    found = computed_in([row(line.strip().partition(",")[2])], "b", "in/", {key})
    assert found == {(key, "e"): CRC}


def test_a_version_is_a_column_of_its_own() -> None:
    assert manifest_row("b", "k", "v.1_-") == "b,k,v.1_-\n"


@pytest.mark.parametrize(
    "other",
    [
        row("out/f"),
        row("in/g"),
        ["other", *row()[1:]],
        [*row()[:3], "failed", *row()[4:]],
        row()[:6],
        [*row(), ""],
        ["Bucket", "Key", "VersionId", "TaskStatus", "ErrorCode", "HTTPStatusCode", "ResultMessage"],
        row(etag=""),
        row(etag=7),
        row(checksum_base64=None),
        row(checksum_base64="AAAAAAAAAAE"),
        row(checksum_base64="AAAA"),
        row(checksumAlgorithm="CRC64"),
        row(checksumType="COMPOSITE"),
        [*row()[:6], "[]"],
        [*row()[:6], "{"],
        [*row()[:6], "[" * 100_000],
    ],
    ids=lambda other: str(other)[:60],
)
def test_a_row_that_does_not_answer_what_was_asked_tells_nothing(other: list[str]) -> None:
    assert computed_in([other], "b", "in/", {"f"}) == {}
    assert computed_in([other, row()], "b", "in/", {"f"}) == {("f", "e"): CRC}


def test_two_rows_that_contradict_each_other_tell_nothing_and_the_same_twice_does() -> None:
    other = row(checksum_base64="AAAAAAAAAAI=")
    assert computed_in([row(), row()], "b", "in/", None) == {("f", "e"): CRC}
    assert computed_in([row(), other], "b", "in/", None) == {}
    assert computed_in([other, row(), row()], "b", "in/", None) == {}


def test_quotes_around_an_etag_do_not_count() -> None:
    assert bare('"e"') == bare("e") == "e"


@pytest.mark.parametrize(
    "document",
    [
        [],
        {},
        {"Results": 7},
        {"Results": [{"Bucket": "w", "Key": "computed/r/job-1/results/a.csv"}]},
        {"Results": [{"Bucket": "w", "Key": 7, "MD5Checksum": "m"}]},
        {"Results": [{"Bucket": "other", "Key": "computed/r/job-1/results/a.csv", "MD5Checksum": "m"}]},
        {"Results": [{"Bucket": "w", "Key": "runs/r/forged.csv", "MD5Checksum": "m"}]},
        {"Results": [{"Bucket": "w", "Key": "computed/r/job-1/../../../runs/forged.csv", "MD5Checksum": "m"}]},
    ],
    ids=str,
)
def test_a_report_that_leads_elsewhere_is_none(document: Any) -> None:
    with pytest.raises(ValueError, match=r"report|does not lie below"):
        report_files(json.dumps(document).encode(), "w", "computed/r/job-1/")


def test_a_file_of_a_report_is_that_of_its_md5() -> None:
    data = b'b,in/f,,succeeded,200,,"{""etag"":""e""}"\n'
    md5 = hashlib.md5(data, usedforsecurity=False).hexdigest()
    assert list(report_rows(data, md5)) == [["b", "in/f", "", "succeeded", "200", "", '{"etag":"e"}']]
    for other in (data + b"\n", b"", data[:-1]):
        with pytest.raises(ValueError, match="is not the file of MD5"):
            list(report_rows(other, md5))


@pytest.mark.parametrize("data", [b'a,"b', b"\xff\xfe,b\n"])
def test_a_file_without_rows_is_told(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"no rows|decode"):
        list(report_rows(data, hashlib.md5(data, usedforsecurity=False).hexdigest()))


@pytest.mark.parametrize(
    ("request_of", "words"),
    [
        ({"source": "efs:///a", "destination": "efs:///b", "mode": "verify"}, "one end is s3://"),
        (S3_IN, "mode verify, or verify: all or content"),
        (S3_IN | {"verify": "copied"}, "mode verify, or verify: all or content"),
        (S3_IN | {"mode": "plan", "verify": "all"}, "mode verify, or verify: all or content"),
        (S3_IN | {"mode": "verify", "certificate": True}, "the certificate"),
    ],
    ids=str,
)
def test_the_field_is_refused_by_its_name_where_nothing_is_to_be_computed(
    request_of: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidRequest, match=words) as refused:
        parse_request(request_of | {"checksums": "computed"}, ("data",), 10)
    assert refused.value.field == "checksums"


@pytest.mark.parametrize(
    "request_of", [S3_IN | {"mode": "verify"}, S3_OUT | {"verify": "all"}, S3_IN | {"mode": "move"}]
)
def test_where_both_whole_trees_are_compared_it_is_taken(request_of: dict[str, Any]) -> None:
    assert parse_request(request_of | {"checksums": "computed"}, ("data",), 10).computes_checksums


def test_the_forecast_counts_jobs_and_objects_as_if_none_told_a_checksum() -> None:
    basis = Basis(
        list_seconds=0, segments=1, copy_seconds=0, function_seconds=0, functions=1, rates=Rates(1, 1), states={},
        price=prices_with({}),
    )  # fmt: skip
    inside = {"source": "s3://bucket/in/", "destination": "s3://other/out/", "mode": "verify", "checksums": "computed"}
    for ends, request in ((1, S3_IN | {"mode": "verify", "checksums": "computed"}), (2, inside)):
        cost = computing(parse_request(request, ("data",), 10), Work(250_000, 250_000, 10**9, 9, 0.0), basis)
        assert cost.services == {"checksums": pytest.approx(ends * (3 * 0.25 + 0.25))}
        assert (cost.seconds, cost.requests.gets) == (JOB_SECONDS, 250_000 * ends)
    assert computing(parse_request(inside, ("data",), 10), Work(0, 0, 0, 0, 0.0), basis).seconds is None
