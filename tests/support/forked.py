"""The processes that a test forks, and whether they have ended."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def noted_forks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The processes that are forked from now on, in a list that grows; other tests have some of their own."""
    forked: list[int] = []
    fork = os.fork

    def noted() -> int:
        child = fork()
        if child:
            forked.append(child)
        return child

    monkeypatch.setattr(os, "fork", noted)
    return forked


def all_ended(children: list[int]) -> bool:
    """Whether this process has waited for all that it forked, and forked any."""
    return bool(children) and not any(Path(f"/proc/{child}").exists() for child in children)
