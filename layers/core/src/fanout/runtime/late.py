"""Adapters that are imported at their first use. Few tasks use them, and every cold start would pay for the import."""

from __future__ import annotations

from collections.abc import Callable

from fanout.model.file_system import Behind, Described, Readings
from fanout.ports.aws import Executions, Meter, PublicKey, Signer
from fanout.ports.pacing import Account


class LateMeter:
    """A ``Meter`` that is made when it is asked."""

    def __init__(self, make: Callable[[], Meter]) -> None:
        self._make = make

    def describe(self, file_system_id: str) -> Described:
        return self._make().describe(file_system_id)

    def readings(self, file_system_id: str, now: float) -> Readings:
        return self._make().readings(file_system_id, now)

    def shows(self, access_point: str) -> Behind:
        return self._make().shows(access_point)


class LateExecutions:
    """``Executions`` that are made when they are asked."""

    def __init__(self, make: Callable[[], Executions]) -> None:
        self._make = make

    def running(self, execution: str) -> bool:
        return self._make().running(execution)


class LateSigner:
    """A ``Signer`` that is made when it is asked."""

    def __init__(self, make: Callable[[], Signer]) -> None:
        self._make = make

    def public_key(self) -> PublicKey:
        return self._make().public_key()

    def sign(self, digest: bytes) -> bytes:
        return self._make().sign(digest)

    def is_signed(self, digest: bytes, signature: bytes) -> bool:
        return self._make().is_signed(digest, signature)


class LateAccount:
    """An ``Account`` that is made when it is asked."""

    def __init__(self, make: Callable[[], Account]) -> None:
        self._make = make

    def unreserved_concurrency(self) -> int:
        return self._make().unreserved_concurrency()
