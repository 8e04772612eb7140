"""Signing, sending and repeating: the one way from an operation to S3 and back."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct

from fanout.adapters.s3.connection import ConnectionBroken
from fanout.adapters.s3.credentials import CredentialsProvider, credentials_from_environment
from fanout.adapters.s3.endpoint import Endpoint, locate
from fanout.adapters.s3.faults import Fault, broken, find_fault, to_error
from fanout.adapters.s3.sigv4 import Signer, encode_path, encode_query
from fanout.adapters.s3.transport import Exchange, OpenResponse, Response, Transport

_NO_HEADERS: Mapping[str, str] = {}


class RetryPolicy(Struct, frozen=True):
    """Exponential back-off with full jitter."""

    attempts: int = 5
    base_seconds: float = 0.2
    cap_seconds: float = 10.0

    def delay_seconds(self, failures: int, fraction: float) -> float:
        """The wait after so many failures, for a random fraction between 0 and 1."""
        return fraction * min(self.cap_seconds, self.base_seconds * 2.0**failures)


class S3Requests:
    """Sends signed requests to one endpoint. Safe to share between threads."""

    def __init__(
        self,
        endpoint: Endpoint,
        credentials: CredentialsProvider = credentials_from_environment,
        *,
        transport: Transport | None = None,
        retry: RetryPolicy | None = None,
        sleep: Callable[[float], None] = time.sleep,
        draw: Callable[[], float] = random.random,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._endpoint = endpoint
        self._credentials = credentials
        self._transport = transport or Transport()
        self._retry = retry or RetryPolicy()
        self._sleep = sleep
        self._draw = draw
        self._now = now
        self._signer = Signer(endpoint.region)

    def call(
        self,
        operation: str,
        method: str,
        bucket: str,
        key: str = "",
        *,
        query: Iterable[tuple[str, str]] = (),
        headers: Mapping[str, str] = _NO_HEADERS,
        body: bytes | None = None,
    ) -> Response:
        """The response of an operation that succeeded, repeated where its failure may pass.

        Header names are lower-case. Raises ``Throttled``, ``Transient``, ``AccessDenied``, ``NotFound``,
        ``PreconditionFailed`` or ``InvalidRequest``. A repeated conditional write can find its own
        first attempt done and raise ``PreconditionFailed``.
        """
        return self.begin(operation, method, bucket, key, query=query, headers=headers, body=body).result()

    def begin(
        self,
        operation: str,
        method: str,
        bucket: str,
        key: str = "",
        *,
        query: Iterable[tuple[str, str]] = (),
        headers: Mapping[str, str] = _NO_HEADERS,
        body: bytes | None = None,
        body_bytes: int = 0,
    ) -> Call:
        """The same, its request sent and nothing waited for. ``body_bytes`` is about what the response brings."""
        location = locate(self._endpoint, bucket)
        path = location.root + encode_path(key)
        query_text = encode_query(query) if query else ""
        target = f"{path}?{query_text}" if query_text else path

        def send() -> Exchange:
            signed = self._signer.sign(
                method, location.host, path, query_text, headers, self._credentials(), self._now()
            )
            return self._transport.begin(location.origin, method, target, signed, body, body_bytes)

        return Call(operation, bucket, key, send, self)

    def wait_or_raise(self, fault: Fault, failures: int, operation: str, bucket: str, key: str) -> None:
        """Wait before another attempt after so many that failed, the last one by this fault, or raise what it means."""
        if not fault.passing or failures >= self._retry.attempts:
            raise to_error(fault, operation, bucket, key, self.region) from fault.cause
        self._sleep(self._retry.delay_seconds(failures - 1, self._draw()))

    @property
    def region(self) -> str:
        """The region that requests are signed for."""
        return self._endpoint.region


class Call:
    """An operation whose request has been sent."""

    __slots__ = ("_bucket", "_exchange", "_key", "_operation", "_requests", "_send")

    def __init__(
        self, operation: str, bucket: str, key: str, send: Callable[[], Exchange], requests: S3Requests
    ) -> None:
        self._operation, self._bucket, self._key = operation, bucket, key
        self._send = send
        self._requests = requests
        self._exchange = send()

    def result(self) -> Response:
        """The response, waited for once. Repeats and raises as ``S3Requests.call`` does."""
        failures = 0
        while True:
            try:
                response = self._exchange.response()
                fault = find_fault(self._operation, response)
                if fault is None:
                    return response
            except ConnectionBroken as exc:
                fault = broken(exc)
            failures += 1
            self._repeat(fault, failures)

    def opened(self, failures: int = 0) -> OpenResponse:
        """The same, of a part of an object without its bytes, after so many failures to receive them."""
        while True:
            try:
                opened = self._exchange.opened()
                fault = find_fault(self._operation, opened.response)
                if fault is None:
                    return opened
                opened.close()
            except ConnectionBroken as exc:
                fault = broken(exc)
            failures += 1
            self._repeat(fault, failures)

    def _repeat(self, fault: Fault, failures: int) -> None:
        self._requests.wait_or_raise(fault, failures, self._operation, self._bucket, self._key)
        self._exchange = self._send()

    def abandon(self) -> None:
        """Do without the response of a request that changes nothing."""
        self._exchange.abandon()
