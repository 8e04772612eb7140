"""A directory that behaves as an S3 Files mount does: no file has a further name, and a rename is at once."""

from __future__ import annotations

import errno
import os
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
