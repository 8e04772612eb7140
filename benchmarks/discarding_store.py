"""A work store that keeps documents and forgets rows, as S3 would keep them out of a function's memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fanout.model.errors import NotFound


class DiscardingStore:
    """A ``ports.tree.WorkStore``; objects whose key holds one of ``forgotten`` and ends in ``.gz`` are counted only.

    The loose end of a listing is read again, so the last object of each kind is kept.
    """

    def __init__(self, forgotten: tuple[str, ...]) -> None:
        self._forgotten = forgotten
        self._kept: dict[str, bytes] = {}
        self._last: dict[str, str] = {}
        self.bytes = 0

    def put(self, key: str, data: bytes) -> None:
        """See ``ports.tree.WorkStore``."""
        self.bytes += len(data)
        kind = next((kind for kind in self._forgotten if kind in key and key.endswith(".gz")), "")
        if kind:
            self._kept.pop(self._last.get(kind, ""), None)
            self._last[kind] = key
        self._kept[key] = data

    def put_new(self, key: str, data: bytes) -> bool:
        """See ``ports.store.WorkStore``."""
        is_new = key not in self._kept
        if is_new:
            self.put(key, data)
        return is_new

    def get(self, key: str) -> bytes:
        """See ``ports.tree.WorkStore``."""
        if key not in self._kept:
            raise NotFound(key)
        return self._kept[key]

    def remove(self, keys: Sequence[str]) -> None:
        """Nothing is kept that could be removed."""

    def list(self, prefix: str) -> Iterator[str]:
        """See ``ports.tree.WorkStore``."""
        return iter(sorted(key for key in self._kept if key.startswith(prefix)))
