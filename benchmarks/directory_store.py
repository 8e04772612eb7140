"""A work store in a directory: the ledger of a benchmark, which needs no S3."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from fanout.model.errors import NotFound


class DirectoryStore:
    """A ``ports.tree.WorkStore`` that several processes share."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def put(self, key: str, data: bytes) -> None:
        """See ``ports.tree.WorkStore``."""
        path, whole = self._written(key, data)
        whole.replace(path)

    def put_new(self, key: str, data: bytes) -> bool:
        """See ``ports.store.WorkStore``."""
        path, whole = self._written(key, data)
        try:
            os.link(whole, path)
        except FileExistsError:
            return False
        finally:
            whole.unlink()
        return True

    def _written(self, key: str, data: bytes) -> tuple[Path, Path]:
        """The path of a key, and a file beside it that holds the bytes."""
        path = self._root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = path.with_name(f".{path.name}.{os.getpid()}")
        whole.write_bytes(data)
        return path, whole

    def get(self, key: str) -> bytes:
        """See ``ports.tree.WorkStore``."""
        try:
            return (self._root / key).read_bytes()
        except FileNotFoundError:
            raise NotFound(key) from None

    def list(self, prefix: str) -> Iterator[str]:
        """See ``ports.tree.WorkStore``."""
        found = (str(path.relative_to(self._root)) for path in self._root.rglob("*") if path.is_file())
        return iter(sorted(key for key in found if key.startswith(prefix) and not Path(key).name.startswith(".")))

    def remove(self, keys: Sequence[str]) -> None:
        """See ``ports.tree.WorkStore``."""
        for key in keys:
            (self._root / key).unlink(missing_ok=True)
