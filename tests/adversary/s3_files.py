"""A mount of S3 Files: drawn for a mounted end, and what it refuses. It shows a bucket that is no other end."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from fanout.model.file_system import Behind
from fanout.work.context import NoMeter
from tests.adversary.script import MOUNT_TO_S3, S3_TO_MOUNT, TWO_MOUNTS

# Which mount it is, by direction. Within one mount the source would be on it too, and the scripts make links there.
_MOUNTS = {S3_TO_MOUNT: "data", MOUNT_TO_S3: "data", TWO_MOUNTS: "archive"}
_ACCESS_POINT = "arn:aws:s3files:eu-west-1:111122223333:file-system/fs-0123456789abcdef0/access-point/fsap-0"
# What it does not have, and what refuses a request that asks for it.
_REFUSED = frozenset({"publish", "backup_to"})


class ShowingMeter(NoMeter):
    """Tells what the mount shows, and nothing else."""

    def shows(self, access_point: str) -> Behind:
        return Behind("shown-bucket", "shown/")


def draw_kind(draw: Random, direction: str, options: Mapping[str, Any]) -> bool:
    """Whether the mount is one of S3 Files."""
    return draw.random() < 0.25 and direction in _MOUNTS and not _REFUSED & set(options)


def access_points(direction: str) -> dict[str, str]:
    """The access points of the stack, by mount."""
    return {_MOUNTS[direction]: _ACCESS_POINT}


@contextmanager
def refusing(direction: str, base: Path) -> Iterator[None]:
    """No file of the mount gets another name; the scripts' own links have paths, and are of the source."""
    mount, plain = f"{base / _MOUNTS[direction]}/", os.link

    def link(source: Any, target: Any, **more: Any) -> None:
        number = more.get("dst_dir_fd")
        if number is not None and f"{os.readlink(f'/proc/self/fd/{number}')}/".startswith(mount):
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))
        plain(source, target, **more)

    with patch.object(os, "link", link):
        yield
