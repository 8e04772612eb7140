"""A probe's directory in which something happens before each block is written: a fault, or time that passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fanout.ports.probe import ProbeDirectory, ProbeFile


class BeforeWrites:
    """See ``ports.probe.ProbeDirectory``; ``before`` is called with each block's size before it is written."""

    def __init__(self, inner: ProbeDirectory, before: Callable[[int], object]) -> None:
        self._inner, self._before = inner, before

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def create(self, path: str, *, shared: bool = False) -> ProbeFile:
        """See ``ports.probe.ProbeDirectory``."""
        return _File(self._inner.create(path, shared=shared), self._before)


class _File:
    def __init__(self, inner: ProbeFile, before: Callable[[int], object]) -> None:
        self._inner, self._before = inner, before

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def write(self, offset: int, data: bytes | memoryview) -> None:
        self._before(len(data))
        self._inner.write(offset, data)
