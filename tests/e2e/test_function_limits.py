"""Each limit of a function binds on this machine: a function of the tests, run by the emulator as any other."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fanout_cli.local import LocalPaths, find_toolchain
from fanout_cli.local.clients import Clients
from fanout_cli.local.emulator import Emulator
from fanout_cli.local.workers.worker import SeenMount, function_zip, write_start
from tests.e2e.processes import Workers

pytestmark = pytest.mark.e2e
MIB = 1024 * 1024
MEMORY_MIB, TMP_MIB, TIMEOUT_SECONDS = 256, 520, 4
IDLE_SECONDS = 1.0
ROLE = "arn:aws:iam::000000000000:role/limited"

Invoke = Callable[..., Any]


class Failed(Exception):
    """The error that the caller of the function sees; its text is the error's type."""


@pytest.fixture(scope="module")
def mount(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mount")


@pytest.fixture(scope="module")
def clients(mount: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clients]:
    """Of an emulator that holds the function alone; it closes connections soon."""
    paths = LocalPaths.find(state=tmp_path_factory.mktemp("state"))
    tools = find_toolchain(paths.repo)
    shutil.copytree(paths.repo / "layers" / "core" / "src", paths.layer)
    with Emulator(tools, paths, idle_seconds=IDLE_SECONDS) as emulator:
        isolation = write_start(paths, tools.worker_python, {"data": mount})
        assert isolation.mounted and not isolation.unenforced
        emulator.wait()
        found = Clients(emulator.access)
        iam = found.client("iam")
        iam.create_role(RoleName="limited", AssumeRolePolicyDocument="{}")
        allowed = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
        iam.put_role_policy(RoleName="limited", PolicyName="read", PolicyDocument=policy)
        found.functions.create_function(
            FunctionName="limited",
            Role=ROLE,
            Runtime="provided.al2023",
            Handler="app.handler",
            Code={"ZipFile": function_zip(Path(__file__).with_name("limited"), paths.worker, SeenMount.FIRST)},
            MemorySize=MEMORY_MIB,
            EphemeralStorage={"Size": TMP_MIB},
            Timeout=TIMEOUT_SECONDS,
        )
        yield found


@pytest.fixture(scope="module")
def invoke(clients: Clients) -> Invoke:
    def call(do: str, **event: Any) -> Any:
        answer = clients.functions.invoke(FunctionName="limited", Payload=json.dumps({"do": do, **event}))
        said = json.loads(answer["Payload"].read())
        if "FunctionError" in answer:
            raise Failed(said["errorType"], said["errorMessage"])
        return said

    return call


def test_a_function_has_1024_descriptors_and_cannot_raise_that(invoke: Invoke) -> None:
    found = invoke("open_descriptors", count=1_100)
    assert found == {"errno": "EMFILE", "descriptors": 1_024, "raised": False}


def test_everything_but_tmp_and_the_mounts_is_read_only(invoke: Invoke, mount: Path) -> None:
    places = ["/", "/mnt", "/dev", "/opt", "/var/tmp", sys.prefix, "/tmp", "/mnt/data"]
    said = invoke("write_files", places=places)
    assert said["found"] == {**dict.fromkeys(places, "EROFS"), "/tmp": "", "/mnt/data": ""}
    assert said["temporary"] == "/tmp"
    assert not said["shm"]


def test_tmp_has_the_size_that_the_function_is_given(invoke: Invoke) -> None:
    found = invoke("fill_temporary", allocated=(TMP_MIB - 10) * MIB, bytes=(TMP_MIB + 10) * MIB)
    assert found["errno"] == "ENOSPC" and (TMP_MIB - 1) * MIB <= found["bytes"] <= TMP_MIB * MIB


@pytest.mark.parametrize("child", [False, True])
def test_a_function_over_its_memory_is_killed(invoke: Invoke, child: bool) -> None:
    assert invoke("allocate", bytes=100 * MIB, seconds=0.3, child=child) == (0 if child else 100 * MIB)
    with pytest.raises(Failed, match=r"Runtime.OutOfMemory.*signal: killed"):
        invoke("allocate", bytes=300 * MIB, seconds=2, child=child)


def test_a_function_with_too_many_threads_is_killed(invoke: Invoke) -> None:
    assert invoke("start_threads", count=900, seconds=0.2) == 900
    with pytest.raises(Failed, match=r"Runtime.ExitError.*signal: killed"):
        invoke("start_threads", count=1_100, seconds=2)


def test_a_function_past_its_time_is_killed(invoke: Invoke, mount: Path) -> None:
    with pytest.raises(Failed, match=rf"Sandbox.Timedout.*Task timed out after {TIMEOUT_SECONDS}.00 seconds"):
        invoke("sleep", seconds=TIMEOUT_SECONDS + 1, file="/mnt/data/late")
    time.sleep(1.2)
    assert not (mount / "late").exists()


def test_a_function_stands_still_between_invocations(invoke: Invoke, clients: Clients) -> None:
    before = invoke("count")
    [frozen] = Workers(clients.endpoint).running("limited")
    time.sleep(1.5)
    state = Path(f"/proc/{frozen}/stat").read_text().rpartition(")")[2].split()[0]
    after = invoke("count")
    assert state == "T"
    assert after["worker"] == before["worker"]
    assert after["clock"] - before["clock"] > 1.4
    assert 0 <= after["ticks"] - before["ticks"] < 30


def test_a_function_that_is_thawed_reads_s3_although_its_kept_connections_are_dead(
    invoke: Invoke, clients: Clients
) -> None:
    clients.s3.create_bucket(Bucket="thawed")
    clients.s3.put_object(Bucket="thawed", Key="object", Body=b"body")
    first = invoke("read_object", bucket="thawed", key="object")
    time.sleep(IDLE_SECONDS + 1)
    again = invoke("read_object", bucket="thawed", key="object")
    assert (first["kept"], first["now"], again["kept"]) == ("nothing", "open", "closed")
    assert again["worker"] == first["worker"]
    assert again["body"] == first["body"] == "body"
