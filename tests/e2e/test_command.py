"""The command as a user runs it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from tests.e2e.command import fanout
from tests.support.certificates import Authority
from tests.support.tls_proxy import TlsProxy

pytestmark = pytest.mark.e2e


@pytest.fixture
def request_file(tmp_path: Path) -> Any:
    def write(document: Any) -> Path:
        path = tmp_path / "request.json"
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return path

    return write


def tree(base: Path) -> Path:
    for number in range(30):
        path = base / f"d{number % 4}" / f"file {number} ü+%"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes([number]) * number * 100)
    (base / "empty").mkdir()
    (base / "link").symlink_to("d0/nowhere")
    return base


def test_one_request_there_and_its_result_back(state: Path, tmp_path: Path, request_file: Any) -> None:
    source, mount, saved = tree(tmp_path / "source"), tmp_path / "mount", tmp_path / "saved"
    mount.mkdir()
    request = request_file({"source": "s3://command/in/", "destination": "efs:///copy"})
    load = f"{source}=s3://command/in/"
    first = fanout("local", request, "--mount", f"data={mount}", "--s3-load", load, "--json", "--state", state)
    assert first.returncode == 0, first.stderr
    assert "build" not in first.stderr
    result = json.loads(first.stdout)
    assert (result["status"], result["error"]) == ("SUCCEEDED", None)
    assert result["totals"]["copied"]["entries"] == 32
    assert result["paths"].pop("deleted") is None
    assert all(Path(path).exists() for path in result["paths"].values())
    assert subprocess.run(["diff", "-r", "--no-dereference", source, mount / "copy"], check=False).returncode == 0
    request = request_file({"source": "efs:///copy", "destination": "s3://command/out/"})
    save = f"s3://command/out/={saved}"
    second = fanout("local", request, "--mount", f"data={mount}", "--s3-save", save, "--json", "--state", state)
    assert second.returncode == 0, second.stderr
    assert "build" not in second.stderr
    assert subprocess.run(["diff", "-r", "--no-dereference", source, saved], check=False).returncode == 0
    (mount / "copy/link").unlink()
    request = request_file({"source": "efs:///copy", "destination": "s3://command/out/", "mode": "sync"})
    third = fanout("local", request, "--mount", f"data={mount}", "--json", "--state", state)
    assert third.returncode == 0, third.stderr
    gone = Path(json.loads(third.stdout)["paths"]["deleted"]).read_text(encoding="utf-8").splitlines()
    assert [json.loads(row)["path"] for row in gone] == ["link"]


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({"source": "s3://b-1/x/", "destination": "efs:///y", "sauce": 1}, "sauce: unknown field"),
        ({"source": "s3://b-1/x/", "destination": "efs://nas/y"}, "unknown mount 'nas'"),
        ({"source": "s3://b-1/x/", "destination": 5}, "destination: 5 is not allowed"),
        ("{", "is not JSON"),
        ({"source": "s3://no-such-bucket/x/", "destination": "efs:///y"}, "no-such-bucket"),
    ],
)
def test_an_invalid_request_is_one_document_and_exit_status_2(
    state: Path, tmp_path: Path, request_file: Any, document: Any, says: str
) -> None:
    ended = fanout("local", request_file(document), "--mount", f"data={tmp_path}", "--json", "--state", state)
    assert ended.returncode == 2, ended.stderr
    error = json.loads(ended.stdout)["error"]
    assert error["name"] == "InvalidRequest"
    assert says in error["message"]


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "TLS"])
def test_another_s3_server_with_hostile_keys_ends_with_status_1(
    state: Path,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    request_file: Any,
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
        request = request_file({"source": "s3://elsewhere/in/", "destination": "efs:///copy"})
        mount = f"data={tmp_path}"
        if tls:
            authority = Authority(tmp_path_factory.mktemp("authority"))
            proxy = TlsProxy(url, authority.context("127.0.0.1"))
            url = proxy.url
            monkeypatch.setenv("AWS_CA_BUNDLE", str(authority.file))
        ended = fanout("local", request, "--mount", mount, "--s3-endpoint", url, "--json", "--state", state)
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
