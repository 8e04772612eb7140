"""``fanout audit`` of a bucket, a directory and a file system."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import BUCKET, REGION, Aws

POSIX = {"file-owner": "1", "file-group": "1", "file-permissions": "0100644"}


@pytest.fixture
def bucket(aws: Aws) -> Any:
    s3 = aws.client("s3")
    s3.create_bucket(Bucket="data", CreateBucketConfiguration={"LocationConstraint": REGION})
    return s3


def rows(answer: Any) -> dict[str, Any]:
    return {row["finding"]: row for row in json.loads(answer.stdout)["findings"]}


def test_a_bucket_is_listed_and_some_of_its_objects_are_asked(aws: Aws, bucket: Any) -> None:
    bucket.put_object(Bucket="data", Key="in/a//b", Body=b"x", Metadata=POSIX)
    bucket.put_object(Bucket="data", Key="in/plain", Body=b"x")
    bucket.put_object(Bucket="data", Key="in/own", Body=b"x", Metadata={**POSIX, "team": "red"})
    bucket.put_object(Bucket="data", Key="in/old", Body=b"x", Metadata=POSIX, StorageClass="GLACIER")
    bucket.put_object(Bucket="data", Key="in/dir/", Body=b"")
    bucket.put_object(Bucket="data", Key="elsewhere//x", Body=b"x")
    answer = aws.fanout("audit", "s3://data/in/", "--json")
    assert answer.exit_code == 1, answer.stderr
    document = json.loads(answer.stdout)
    assert (document["entries"], document["bytes"], document["sampled_objects"]) == (5, 4, 4)
    found = rows(answer)
    assert found.keys() == {"empty_name", "archived", "user_metadata", "no_posix", "small"}
    assert found["empty_name"]["examples"] == ["a//b"]
    assert found["archived"]["examples"] == ["old"]
    assert found["user_metadata"]["examples"] == ["own"]
    assert found["no_posix"]["examples"] == ["plain"]


def test_a_bucket_without_anything_of_note_succeeds(aws: Aws, bucket: Any) -> None:
    bucket.put_object(Bucket="data", Key="a", Body=bytes(128 * 1024), Metadata=POSIX)
    answer = aws.fanout("audit", "s3://data/")
    assert (answer.exit_code, answer.stderr) == (0, "")
    assert "Nothing that S3 Files would hide" in answer.stdout


def test_of_many_objects_a_few_are_asked(aws: Aws, bucket: Any) -> None:
    for number in range(12):
        bucket.put_object(Bucket="data", Key=f"f{number}", Body=b"x")
    answer = aws.fanout("audit", "s3://data/", "--heads", "5", "--json")
    assert json.loads(answer.stdout)["sampled_objects"] == rows(answer)["no_posix"]["entries"] == 5


def test_a_directory_is_walked(aws: Aws, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "d").mkdir(parents=True)
    (tree / "d/one").write_bytes(bytes(200_000))
    os.link(tree / "d/one", tree / "two")
    os.mkfifo(tree / "pipe")
    answer = aws.fanout("audit", str(tree), "--json")
    assert answer.exit_code == 1, answer.stderr
    found = rows(answer)
    assert found.keys() == {"hard_link", "special"}
    assert found["hard_link"]["entries"] == 1


def test_a_file_system_is_read_from_the_ledger_of_a_plan(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    def lists(_: Any, run_id: str, *__: Any) -> dict[str, Any]:
        planned = [
            {"action": "copy", "path": "a", "kind": "file", "size": 200_000},
            {"action": "link", "path": "b", "kind": "file", "size": 200_000},
        ]
        failures = [
            {
                "path": "x" * 1_020,
                "outcome": "rejected",
                "phase": "list",
                "size": 300_000,
                "reason": "",
                "message": "",
                "remedy": "",
            }
        ]
        aws.summary(run_id, "FAILED_WITH_ITEMS", listed=3, rejected=1)
        for name, lines in (("planned.jsonl", planned), ("failures.jsonl", failures)):
            aws.put(f"runs/{run_id}/{name}", "".join(json.dumps(line) + "\n" for line in lines).encode())
        return {"status": "FAILED", "error": "FailedWithItems"}

    monkeypatch.setattr("fanout_cli.audit.looks.watch_run", lists)
    answer = aws.fanout("audit", "efs:///p", f"s3://{BUCKET}/prefix/", "--stack", "mine", "--json")
    assert answer.exit_code == 1, answer.stderr
    [arn] = aws.executions()
    assert aws.request_of(arn.rpartition(":")[2])["mode"] == "plan"
    found = rows(answer)
    assert found.keys() == {"hard_link", "long_key"}
    assert json.loads(answer.stdout)["bytes"] == 700_000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("efs:///p",), "DESTINATION: is missing; say where the tree is to go"),
        (("nowhere",), "TREE: 'nowhere' is none of the trees that can be audited"),
        (("s3://B/",), "bucket"),
        (("s3://none-such/",), "NoSuchBucket"),
    ],
)
def test_what_cannot_be_audited_is_a_sentence(aws: Aws, words: tuple[str, ...], said: str) -> None:
    answer = aws.fanout("audit", *words)
    assert answer.exit_code == 2
    assert said in answer.stderr
