"""``fanout local REQUEST.json``: the request of a file, on this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.here.conftest import FILES, End, Here
from tests.support.certificates import Authority
from tests.support.s3_servers import S3Server
from tests.support.tls_proxy import TlsProxy


def written(here: Here, document: Any) -> Path:
    path = here.home / "request.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return path


def test_a_request_for_a_stack_goes_there_and_back(here: Here, tmp_path: Path, moto_server: S3Server) -> None:
    source, saved = End("s3", tmp_path, moto_server), End("mount", tmp_path / "efs/copy")
    for path, data in FILES.items():
        source.put(path, data)
    saved.place.mkdir(parents=True)
    mount = ("--mount", f"data={tmp_path}/efs", *source.words)
    there = {"source": source.text, "destination": "efs:///copy", "limits": {"max_concurrency": 100}}
    ended = here.run(written(here, there), *mount, "--json", "--name", "there")
    assert json.loads(ended.stdout)["status"] == "SUCCEEDED" and saved.files() == FILES
    assert "limits.max_concurrency has no effect on this machine" in ended.stderr
    saved.put("new", b"new")
    (saved.place / "a").unlink()
    back = {
        "source": "efs://data/copy",
        "destination": source.text,
        "mode": "sync",
        "delete_guard": {"max_percent": 100},
    }
    here.run(written(here, back), *mount)
    assert source.files() == saved.files()
    assert "SUCCEEDED" in here.run("retry", "there", "--again", "--s3-endpoint", moto_server.url).stderr


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({"source": "s3://b-1/x/", "destination": "efs:///y", "sauce": 1}, "sauce: unknown field"),
        ({"source": "s3://b-1/x/", "destination": 5}, "destination: 5 is not allowed"),
        ("{", "is not JSON"),
    ],
)
def test_a_request_that_is_invalid_is_one_document_and_exit_status_2(here: Here, document: Any, says: str) -> None:
    words = ("--mount", f"data={here.home}", "--json")
    ended = here.run(written(here, document), *words, status=2)
    found = json.loads(ended.stdout)
    assert says in found["error"]["message"] and (found["totals"], found["error"]["name"]) == (None, "InvalidRequest")
    assert ended.stderr.startswith("FAILED: the request was refused\n")


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"destination": "efs://nas/y"}, "add --mount nas=DIRECTORY"),
        ({"limits": {"max_dollars": 1}}, "limits.max_dollars: fanout local does not have it: it is about what AWS"),
        ({"checksums": "computed", "verify": "all"}, "S3 Batch Operations needs a stack's role; give --verify all"),
        ({"source_bucket": {"role": "arn:aws:iam::1:role/x"}}, "give --profile one that assumes the role"),
    ],
)
def test_what_only_a_stack_has_is_named(here: Here, fields: dict[str, Any], says: str) -> None:
    document = {"source": "s3://b-1/x/", "destination": "efs:///y", **fields}
    said = here.run(written(here, document), "--mount", f"data={here.home}", status=2).stderr
    assert says in " ".join(said.split()) and not here.ledger.exists()


def test_a_command_of_a_stack_is_told_from_a_file(here: Here) -> None:
    assert "cron starts `fanout local copy`" in " ".join(here.run("schedule", status=2).stderr.split())
    assert "none.json: cannot be read" in here.run("none.json", status=2).stderr


def test_a_plan_names_what_cannot_be_had_here(here: Here) -> None:
    End("mount", here.home / "in").put("a", b"one")
    said = here.run("plan", "in", "out").stderr
    for what in ("schedules: cron here", "runs by S3 events: a stack", "S3 Batch Operations: --verify", "EFS burst"):
        assert what in said
    assert "not on this machine" not in here.run("copy", "in", "out").stderr


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "TLS"])
def test_hostile_keys_of_another_s3_server_end_with_status_1(
    here: Here, tmp_path: Path, moto_server: S3Server, tls: bool
) -> None:
    source, url = End("s3", tmp_path, moto_server), moto_server.url
    for key in ("../x", "a", "a/b", "good"):
        source.put(key, key.encode())
    proxy = None
    if tls:
        authority = Authority(tmp_path)
        proxy = TlsProxy(url, authority.context("127.0.0.1"))
        url = proxy.url
        here.environment["AWS_CA_BUNDLE"] = str(authority.file)
    words = ("--mount", f"data={tmp_path}", "--s3-endpoint", url, "--json")
    ended = here.run(written(here, {"source": source.text, "destination": "efs:///copy"}), *words, status=1)
    if proxy is not None:
        assert proxy.connections > 0
        proxy.close()
    result = json.loads(ended.stdout)
    assert result["error"]["name"] == "FailedWithItems"
    assert (result["totals"]["rejected"]["entries"], result["totals"]["copied"]["entries"]) == (2, 2)
    assert sorted(path.name for path in (tmp_path / "copy").iterdir()) == ["a", "good"]
