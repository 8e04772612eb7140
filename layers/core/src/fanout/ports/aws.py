"""Ports of what AWS knows: executions, single objects, and what a file system says of itself."""

from __future__ import annotations

from typing import Any, Protocol

from msgspec import Struct

from fanout.model.document import Json
from fanout.model.file_system import Behind, Described, Readings


class Execution(Struct, frozen=True):
    """An execution: the ARN of its state machine, its name, whether it runs, and its input.

    ``input`` is ``None`` where the caller may not read it.
    """

    machine: str
    name: str
    runs: bool
    input: Any


class Entered(Struct, frozen=True):
    """A state that an execution entered, by its name, and its input."""

    state: str
    input: Any


class Executions(Protocol):
    """The executions of the state machine."""

    def running(self, execution: str) -> bool:
        """Whether the execution of the ARN still runs; false if it does not exist."""


class ExecutionReader(Protocol):
    """Reads an execution: its state machine, name, state and input."""

    def find(self, execution: str) -> Execution:
        """The execution of the ARN. Raises ``NotFound``, also for some moments after its start."""

    def entered(self, execution: str) -> Entered:
        """The state that it entered last, in a Map's child or a branch too. Raises ``NotFound``."""


class Starts(Protocol):
    """Starts runs."""

    def start(self, machine: str, run_id: str, request: Json) -> bool:
        """Start a run of the state machine of the ARN; returns false where there is a run of this name already."""


class ObjectFound(Struct, frozen=True):
    """An object's bytes, and the ETag that pins it."""

    size: int
    etag: str


class ObjectReader(Protocol):
    """Single objects that a request names besides its trees."""

    def find(self, bucket: str, key: str) -> ObjectFound:
        """The object's size and ETag. Raises ``NotFound``."""

    def lists(self, bucket: str, key: str) -> bool:
        """Whether a listing shows the key, which takes no right to read the object. Raises ``AccessDenied``."""

    def read(self, bucket: str, key: str, etag: str, offset: int, length: int) -> bytes:
        """Up to ``length`` bytes from an ``offset`` below the object's size.

        Raises ``NotFound``, or ``PreconditionFailed`` if the object has another ETag.
        """


class PublicKey(Struct, frozen=True):
    """A signing key: its ARN, its kind by KMS's names, and its public half as PEM."""

    arn: str
    spec: str
    algorithm: str
    pem: str


class Signer(Protocol):
    """A signing key whose private half never leaves its service. Raises the errors of ``fanout.model.errors``."""

    def public_key(self) -> PublicKey:
        """The key. Raises ``InvalidRequest`` for one that signs in another way than certificates need."""

    def sign(self, digest: bytes) -> bytes:
        """The signature of a SHA-256."""

    def is_signed(self, digest: bytes, signature: bytes) -> bool:
        """Whether the key made this signature of a SHA-256."""


class Meter(Protocol):
    """The metrics of a file system. Raises the errors of ``fanout.model.errors``."""

    def describe(self, file_system_id: str) -> Described:
        """Its modes and its size by storage class. Raises ``NotFound``."""

    def readings(self, file_system_id: str, now: float) -> Readings:
        """Its metrics of ``file_system.METRICS`` over the last ``LOOK_BACK_SECONDS``; what has no value is left out."""

    def shows(self, access_point: str) -> Behind:
        """The place in S3 that an access point of S3 Files shows, by its ARN. Raises ``NotFound``."""
