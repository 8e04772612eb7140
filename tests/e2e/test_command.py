"""The command as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from tests.e2e.command import fanout
from tests.support.certificates import Authority
from tests.support.tls_proxy import TlsProxy

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "TLS"])
def test_another_s3_server_with_hostile_keys_ends_with_status_1(
    state: Path,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    tls: bool,
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "mine")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        url = f"http://{host}:{port}"
        s3: Any = boto3.client("s3", endpoint_url=url, region_name="us-east-1")
        s3.create_bucket(Bucket="elsewhere")
        for key in ("../x", "a", "a/b", "good"):
            s3.put_object(Bucket="elsewhere", Key=f"in/{key}", Body=key.encode())
        if tls:
            authority = Authority(tmp_path_factory.mktemp("authority"))
            proxy = TlsProxy(url, authority.context("127.0.0.1"))
            url = proxy.url
            monkeypatch.setenv("AWS_CA_BUNDLE", str(authority.file))
        up = fanout("up", "--mount", f"data={tmp_path}", "--s3-endpoint", url, "--state", state)
        assert up.returncode == 0, up.stderr
        try:
            ended = fanout("copy", "s3://elsewhere/in/", "efs:///copy", "--json", "--local", "--state", state)
        finally:
            assert fanout("down", "--state", state).returncode == 0
        if tls:
            assert proxy.connections > 0
            proxy.close()
    finally:
        server.stop()
    assert ended.returncode == 1, ended.stderr
    result = json.loads(ended.stdout)
    assert result["error"]["name"] == "FailedWithItems"
    assert (result["totals"]["rejected"]["entries"], result["totals"]["copied"]["entries"]) == (2, 2)
    assert sorted(path.name for path in (tmp_path / "copy").iterdir()) == ["a", "good"]


@pytest.mark.timeout(600)
def test_the_demonstration_ends_with_everything_equal(state: Path) -> None:
    ended = fanout("demo", "--json", "--state", state, timeout_seconds=560)  # 64 s on an idle machine
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "all equal" in ended.stderr
    shown = json.loads(ended.stdout)
    assert (shown["equal"], shown["differences"]) == (True, [])
    first, back, second, undone = shown["runs"]
    assert [run["totals"]["failed"]["entries"] for run in shown["runs"]] == [0, 0, 0, 0]
    links = sum(path.is_symlink() for path in (state / "demo/tree").rglob("*"))  # some distributions' Pythons have any
    assert first["totals"]["copied"]["entries"] == shown["files"] + links
    assert shown["files"] > 1_000
    assert back["totals"]["copied"]["entries"] >= shown["files"]  # and the directories that are objects
    assert (second["totals"]["copied"]["entries"], second["published"]["before"]) == (2, first["run_id"])
    assert second["published"]["linked"]["entries"] == shown["files"] - 2 + links
    assert (undone["mode"], undone["published"]["version"]) == ("rollback", first["run_id"])
    assert shown["published"]["published"] == first["run_id"]
    assert [one["version"] for one in shown["published"]["versions"]] == [first["run_id"], second["run_id"]]
