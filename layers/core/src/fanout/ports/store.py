"""Ports of the work bucket: small objects, whole or by version."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from msgspec import Struct


class WorkStore(Protocol):
    """The ledger's place: small objects under keys."""

    def put(self, key: str, data: bytes) -> None:
        """Write the object whole; a reader sees the old one or the new one."""

    def put_new(self, key: str, data: bytes) -> bool:
        """Write the object whole if none is there; whether this call wrote it.

        After an answer that was lost it may be this call that wrote, and ``False`` all the same: look what is there.
        """

    def get(self, key: str) -> bytes:
        """The object's bytes. Raises ``NotFound``."""

    def list(self, prefix: str) -> Iterator[str]:
        """The keys that start with the prefix, in their order."""

    def remove(self, keys: Sequence[str]) -> None:
        """Remove at most 1,000 objects; one that is not there counts as removed."""


class Versioned(Struct, frozen=True):
    """An object's bytes and the version that pins them; both empty where there is no object."""

    data: bytes = b""
    version: str = ""


class VersionedStore(Protocol):
    """Small objects that several runs change, each only what it has seen."""

    def read_version(self, key: str) -> Versioned:
        """The object as it is now."""

    def write_version(self, key: str, data: bytes, version: str) -> None:
        """Write the object whole if it still has the version, or is not there where the version is empty.

        If two write over one version at the same time, one succeeds. Raises ``PreconditionFailed`` for the
        other, and for an answer that was lost after the write: read again, and see who has written.
        """
