"""One renames, among threads and among processes, and nobody waits."""

from __future__ import annotations

import os
import signal

from fanout.work.processes.one_at_a_time import OneAtATime


def test_a_second_one_does_not_rename() -> None:
    lock = OneAtATime()
    assert lock.begin()
    assert not lock.begin()
    lock.end()
    assert lock.begin()
    lock.end()


def test_processes_that_were_forked_share_it_until_they_die() -> None:
    lock = OneAtATime()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, b"begun" if lock.begin() else b"not")
        signal.pause()
    try:
        assert os.read(reading, 5) == b"begun"
        assert not lock.begin()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reading)
        os.close(writing)
    assert lock.begin()
    lock.end()
