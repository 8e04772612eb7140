"""Signing, sending and repeating: the one way from an operation to S3 and back."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from typing import Self, TypeVar

from msgspec import Struct

from fanout.adapters.s3.answers import WrongAnswer
from fanout.adapters.s3.bucket_headers import Headers, as_source
from fanout.adapters.s3.connection import ConnectionBroken
from fanout.adapters.s3.credentials import CredentialsProvider, credentials_from_environment
from fanout.adapters.s3.endpoint import Endpoint, locate
from fanout.adapters.s3.faults import BROKEN, WRONG_ANSWER, Fault, broken, find_fault, to_error, wrong
from fanout.adapters.s3.sigv4 import Signer, encode_path, encode_query
from fanout.adapters.s3.transport import Exchange, OpenResponse, Response, Transport

_NO_HEADERS: Mapping[str, str] = {}
Answer = TypeVar("Answer")
Hold = Callable[[Response], Response]


def as_it_is(response: Response) -> Response:
    """The response, whatever it says."""
    return response


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
        self._of_buckets: Mapping[str, Headers] = {}

    def for_buckets(self, headers: Mapping[str, Headers]) -> Self:
        """The same client, each of whose requests to one of these buckets carries the bucket's headers.

        Both share connections and signing keys.
        """
        other = copy(self)
        other._of_buckets = headers
        return other

    def source_headers(self, bucket: str) -> Headers:
        """What a request that copies from a bucket carries for it."""
        return as_source(self._of_buckets.get(bucket, _NO_HEADERS))

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
        hold: Hold = as_it_is,
    ) -> Response:
        """The response of an operation that succeeded, repeated where its failure may pass.

        ``hold`` raises ``WrongAnswer`` for a response that is none to this request. Header names are lower-case.
        Raises ``Throttled``, ``Transient``, ``AccessDenied``, ``NotFound``, ``PreconditionFailed``, ``InvalidRequest``
        or, for a listing without an answer that is its own, ``ListingIncomplete``.
        A repeated conditional write can find its own first attempt done and raise ``PreconditionFailed``.
        """
        return self.begin(operation, method, bucket, key, query=query, headers=headers, body=body, hold=hold).result()

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
        hold: Hold = as_it_is,
        fresh: bool = False,
    ) -> Call:
        """The same, its request sent and nothing waited for. ``body_bytes`` is about what the response brings.

        ``fresh`` takes a connection that nothing was sent over.
        """
        location = locate(self._endpoint, bucket)
        path = location.root + encode_path(key)
        query_text = encode_query(query) if query else ""
        target = f"{path}?{query_text}" if query_text else path
        own = self._of_buckets.get(bucket)
        if own:
            headers = {**headers, **own}

        def send(fresh: bool) -> Exchange:
            signed = self._signer.sign(
                method, location.host, path, query_text, headers, self._credentials(), self._now()
            )
            return self._transport.begin(location.origin, method, target, signed, body, body_bytes, fresh=fresh)

        return Call(operation, bucket, key, send, self, hold, fresh=fresh)

    def wait_or_raise(self, fault: Fault, failures: int, operation: str, bucket: str, key: str) -> None:
        """Wait before another attempt after so many that failed, the last one by this fault, or raise what it means."""
        if not fault.passing or failures >= self._retry.attempts:
            own = self._of_buckets.get(bucket, _NO_HEADERS)
            raise to_error(fault, operation, bucket, key, self.region, own) from fault.cause
        self._sleep(self._retry.delay_seconds(failures - 1, self._draw()))

    @property
    def endpoint(self) -> Endpoint:
        """Where requests are sent to."""
        return self._endpoint

    @property
    def region(self) -> str:
        """The region that requests are signed for."""
        return self._endpoint.region


class Call:
    """An operation whose request has been sent."""

    __slots__ = ("_bucket", "_exchange", "_hold", "_key", "_operation", "_requests", "_send")

    def __init__(
        self,
        operation: str,
        bucket: str,
        key: str,
        send: Callable[[bool], Exchange],
        requests: S3Requests,
        hold: Hold,
        *,
        fresh: bool,
    ) -> None:
        self._operation, self._bucket, self._key = operation, bucket, key
        self._send = send
        self._requests = requests
        self._hold = hold
        self._exchange = send(fresh)

    def result(self) -> Response:
        """The response, waited for once. Repeats and raises as ``S3Requests.call`` does."""
        return self.read(self._hold)

    def read(self, take: Callable[[Response], Answer]) -> Answer:
        """The response as ``take`` reads it, which raises ``WrongAnswer`` for one that is none to this request."""
        failures = 0
        while True:
            try:
                found = self._exchange.read(lambda response: self._fault(response) or take(response))
                if not isinstance(found, Fault):
                    return found
                fault = found
            except (ConnectionBroken, WrongAnswer) as exc:
                fault = _fault_of(exc)
            failures += 1
            self._repeat(fault, failures)

    def opened(self, failures: int = 0) -> OpenResponse:
        """The same, of a part of an object without its bytes, after so many failures to receive them."""
        while True:
            try:
                opened = self._exchange.opened(lambda response: self._fault(response) or self._hold(response))
                fault = self._fault(opened.response)
                if fault is None:
                    return opened
                opened.close()
            except (ConnectionBroken, WrongAnswer) as exc:
                fault = _fault_of(exc)
            failures += 1
            self._repeat(fault, failures)

    def _fault(self, response: Response) -> Fault | None:
        return find_fault(self._operation, response, self._key)

    def _repeat(self, fault: Fault, failures: int) -> None:
        self._requests.wait_or_raise(fault, failures, self._operation, self._bucket, self._key)
        # Over a new connection: what made one stall may have made all kept ones stall, and each costs its time-out.
        self._exchange = self._send(fault.code in (WRONG_ANSWER, BROKEN))

    def abandon(self) -> None:
        """Do without the response of a request that changes nothing."""
        self._exchange.abandon()


def _fault_of(error: ConnectionBroken | WrongAnswer) -> Fault:
    return wrong(error) if isinstance(error, WrongAnswer) else broken(error)
