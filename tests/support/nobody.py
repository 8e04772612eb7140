"""Code run as a user without rights, in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fanout.model.checksum import crc64nvme

NOBODY = 65534


@contextmanager
def open_directory() -> Iterator[Path]:
    """A directory that every user may reach, unlike those of pytest."""
    path = Path(tempfile.mkdtemp(dir="/tmp"))
    path.chmod(0o755)
    try:
        yield path
    finally:
        shutil.rmtree(path)


def as_nobody(run: Callable[[], Any]) -> Any:
    """What ``run`` returns (a JSON value) in a forked process that gave up root; as it is where this is not root."""
    if os.geteuid():
        return run()
    crc64nvme(b"")  # loads the library while its files can be read
    receive, send = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(receive)
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            with os.fdopen(send, "w") as pipe:
                json.dump(run(), pipe)
        except BaseException:
            traceback.print_exc()  # pytest shows what a test that fails has written
            raise
        finally:
            os._exit(0)
    os.close(send)
    with os.fdopen(receive) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    assert text, "the process of nobody failed"
    return json.loads(text)
