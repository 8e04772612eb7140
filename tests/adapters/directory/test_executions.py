"""The runs of a ledger in a directory: at work while their process lives, and never two processes on one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fanout.adapters.directory.executions import MACHINE, DirectoryExecutions, execution_of
from fanout.model.errors import InvalidRequest, NotFound, Unreachable
from fanout.ports.aws import Execution

HOLD = """
import sys, time
from fanout.adapters.directory.executions import DirectoryExecutions
with DirectoryExecutions(sys.argv[1]).hold("r", {"mode": "copy"}):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_run_is_at_work_while_it_is_held_and_its_request_stays(tmp_path: Path) -> None:
    executions, other = (DirectoryExecutions(str(tmp_path)) for _ in range(2))
    name = execution_of("r")
    assert not other.running(name)
    with pytest.raises(NotFound):
        other.find(name)
    with executions.hold("r", {"mode": "copy"}):
        assert other.running(name) and executions.running(name)
        assert other.find(name) == Execution(MACHINE, "r", True, {"mode": "copy"})
    assert not other.running(name)
    assert other.find(name) == Execution(MACHINE, "r", False, {"mode": "copy"})


def test_a_second_process_is_refused_until_the_first_is_killed(tmp_path: Path) -> None:
    executions = DirectoryExecutions(str(tmp_path))
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
        assert executions.running(execution_of("r"))
        with pytest.raises(InvalidRequest, match=r"another process.*--name"), executions.hold("r", {"mode": "sync"}):
            pass
        assert executions.find(execution_of("r")).input == {"mode": "copy"}
    finally:
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        assert holder.stdout is not None
        holder.stdout.close()
    assert not executions.running(execution_of("r"))
    with executions.hold("r", {"mode": "sync"}):
        assert executions.find(execution_of("r")).input == {"mode": "sync"}


def test_states_are_those_of_this_process(tmp_path: Path) -> None:
    executions = DirectoryExecutions(str(tmp_path))
    with executions.hold("r", {}):
        with pytest.raises(NotFound):
            executions.entered(execution_of("r"))
        executions.enter("r", "CopyShard", {"run": 1})
        assert executions.entered(execution_of("r")).state == "CopyShard"
    with pytest.raises(NotFound):
        executions.entered(execution_of("r"))


@pytest.mark.parametrize("name", ["arn:aws:states:us-east-1:1:execution:m:r", execution_of("../r"), execution_of("")])
def test_what_is_no_run_of_the_ledger_is_not_at_work(tmp_path: Path, name: str) -> None:
    executions = DirectoryExecutions(str(tmp_path))
    assert not executions.running(name)
    with pytest.raises(NotFound):
        executions.find(name)


def test_a_ledger_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("link")
    executions = DirectoryExecutions(str(tmp_path / "link"))
    with pytest.raises(Unreachable, match=r"ELOOP.*let this user write there"), executions.hold("r", {}):
        pass
