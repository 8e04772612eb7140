"""A directory that behaves as an S3 Files mount does: no file has a further name, and no directory is renamed."""

from __future__ import annotations

import errno
import os
import stat
from typing import Any

import pytest


def refuse_links(monkeypatch: pytest.MonkeyPatch, code: int = errno.EPERM) -> None:
    """Every LINK fails from now on, but that of a name that exists fails as such."""

    def refuse(source: Any, target: Any, **more: Any) -> None:
        os.stat(source, dir_fd=more.get("src_dir_fd"), follow_symlinks=False)
        try:
            os.stat(target, dir_fd=more.get("dst_dir_fd"), follow_symlinks=False)
        except FileNotFoundError:
            raise OSError(code, os.strerror(code)) from None
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))

    monkeypatch.setattr(os, "link", refuse)


def behave_as_s3_files(monkeypatch: pytest.MonkeyPatch, key_bytes: int = 1024) -> None:
    """No links; a directory is renamed file by file, so none may be; what no key can hold never gets to the bucket.

    The last two fail at once: a run must ask for neither.
    """
    refuse_links(monkeypatch)
    renamed = os.rename

    def rename(source: Any, target: Any, **more: Any) -> None:
        if stat.S_ISDIR(os.stat(source, dir_fd=more.get("src_dir_fd"), follow_symlinks=False).st_mode):
            raise AssertionError(f"the directory {source} is renamed, file by file in the bucket")
        if len(os.fsencode(target)) > key_bytes:
            raise AssertionError(f"{target} is no key")
        renamed(source, target, **more)

    monkeypatch.setattr(os, "rename", rename)
