"""A file system that takes fewer bytes of a name than EFS does."""

from __future__ import annotations

import errno
import os
from typing import Any

import pytest


def short_names(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Every call about this name finds it too long."""

    def refusing(call: str) -> Any:
        real = getattr(os, call)

        def called(*arguments: Any, **more: Any) -> Any:
            if name in (arguments[:2] if call in ("rename", "link") else arguments[:1]):
                raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), name)
            return real(*arguments, **more)

        return called

    for call in ("open", "stat", "mkdir", "rename", "link"):
        monkeypatch.setattr(os, call, refusing(call))
