"""Signing, sending and repeating: the one way from an operation to S3 and back."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from copy import copy
from typing import NamedTuple, Self, TypeVar

from msgspec import Struct

from fanout.adapters.aws.credentials import CredentialsProvider, credentials_from_environment
from fanout.adapters.aws.endpoint import Endpoint, locate
from fanout.adapters.aws.sigv4 import RequestSigner, encode_path, encode_query
from fanout.adapters.http.transport import ConnectionBroken, Exchange, Response, Transport
from fanout.adapters.s3.client.answers import WrongAnswer
from fanout.adapters.s3.client.bucket_headers import Headers, as_source
from fanout.adapters.s3.client.faults import LATE_OPERATIONS, Fault, broken, find_fault, to_error, wrong


class BucketRoute(NamedTuple):
    """Where requests to a bucket are sent, and what signs them."""

    endpoint: Endpoint
    signer: RequestSigner
    credentials: CredentialsProvider

    @classmethod
    def to(cls, endpoint: Endpoint, credentials: CredentialsProvider) -> BucketRoute:
        """The route to an endpoint, with the signer of its region."""
        return cls(endpoint, RequestSigner(endpoint.region), credentials)

    def other(self, region: str = "", credentials: CredentialsProvider | None = None) -> BucketRoute:
        """The route to a bucket of another region, or with other credentials; each stays where none is given."""
        found = self if not region else BucketRoute.to(Endpoint(region, self.endpoint.url), self.credentials)
        return found if credentials is None else found._replace(credentials=credentials)


_NO_HEADERS: Mapping[str, str] = {}
Answer = TypeVar("Answer")
Hold = Callable[[Response], Response]


def draw_fraction() -> float:
    """A random number from 0 to 1, another one in each process."""
    return random.random()


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
    """Sends signed requests to buckets of one region, and of others once it knows them. Threads may share it."""

    def __init__(
        self,
        endpoint: Endpoint,
        credentials: CredentialsProvider = credentials_from_environment,
        *,
        transport: Transport | None = None,
        retry: RetryPolicy | None = None,
        sleep: Callable[[float], None] = time.sleep,
        draw: Callable[[], float] = draw_fraction,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._route = BucketRoute.to(endpoint, credentials)
        self._routes: Mapping[str, BucketRoute] = {}
        self._transport = transport or Transport()
        self._retry = retry or RetryPolicy()
        self._sleep = sleep
        self._draw = draw
        self._now = now
        self._of_buckets: Mapping[str, Headers] = {}

    def for_buckets(self, headers: Mapping[str, Headers]) -> Self:
        """The same client, each of whose requests to one of these buckets carries the bucket's headers too.

        What the client says of a bucket already stays. Both share connections and signing keys.
        """
        other = copy(self)
        other._of_buckets = {**headers, **self._of_buckets}
        return other

    def by_ways(self, regions: Mapping[str, str], credentials: Mapping[str, CredentialsProvider]) -> Self:
        """The same client, which asks these buckets in their regions, and with these credentials."""
        if not regions and not credentials:
            return self
        other = copy(self)
        buckets = {*regions, *credentials}
        other._routes = {one: self._route.other(regions.get(one, ""), credentials.get(one)) for one in buckets}
        return other

    def source_headers(self, bucket: str) -> Headers:
        """The headers that a copy request carries for its source bucket."""
        return as_source(self._of_buckets.get(bucket, _NO_HEADERS))

    def request(
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
        most_bytes: int = 0,
        hold: Hold = as_it_is,
        place: int | None = None,
    ) -> Call:
        """An operation, sent when it is begun or read, and repeated where its failure may pass.

        ``hold`` raises ``WrongAnswer`` for a response that is none to this request. Header names are lower-case.
        ``body_bytes`` is about what the response brings, ``most_bytes`` what it may (some MiB more by default). With
        ``place``, that of the body in its object, ``Call.pieces`` hands it over as it comes.

        Reading it raises ``Throttled``, ``Transient``, ``AccessDenied``, ``NotFound``, ``PreconditionFailed``,
        ``InvalidRequest`` or, for a listing without an answer that is its own, ``ListingIncomplete``.
        A repeated conditional write can find its own first attempt done and raise ``PreconditionFailed``.
        """
        route = self._routes.get(bucket, self._route)
        location = locate(route.endpoint, bucket)
        path = location.root + encode_path(key)
        query_text = encode_query(query) if query else ""
        url = f"{location.origin}{path}?{query_text}" if query_text else location.origin + path
        slow = operation in LATE_OPERATIONS
        own = self._of_buckets.get(bucket)
        if own:
            headers = {**headers, **own}

        def send(fresh: bool) -> Exchange:
            signed = route.signer.sign(
                method, location.host, path, query_text, headers, route.credentials(), self._now()
            )
            return self._transport.begin(
                *(method, url, signed, body, body_bytes), most_bytes=most_bytes, slow=slow, fresh=fresh, place=place
            )

        return Call(operation, bucket, key, send, self, hold)

    def wait_or_raise(self, fault: Fault, failures: int, operation: str, bucket: str, key: str) -> None:
        """Wait before another attempt after so many that failed, the last one by this fault, or raise what it means."""
        if not fault.passing or failures >= self._retry.attempts:
            own = self._of_buckets.get(bucket, _NO_HEADERS)
            raise to_error(fault, operation, bucket, key, self.endpoint_of(bucket).region, own) from fault.cause
        self._sleep(self._retry.delay_seconds(failures - 1, self._draw()))

    def endpoint_of(self, bucket: str) -> Endpoint:
        """Where requests to a bucket are sent, and the region that they are signed for."""
        return self._routes.get(bucket, self._route).endpoint


class Call:
    """An operation that is sent when it is begun or read."""

    __slots__ = ("_bucket", "_exchange", "_hold", "_key", "_operation", "_requests", "_send")

    def __init__(
        self,
        operation: str,
        bucket: str,
        key: str,
        send: Callable[[bool], Exchange],
        requests: S3Requests,
        hold: Hold,
    ) -> None:
        """``send`` sends the request once, over a new connection if its argument is true."""
        self._operation, self._bucket, self._key = operation, bucket, key
        self._send = send
        self._requests = requests
        self._hold = hold
        self._exchange: Exchange | None = None

    def begin(self, *, fresh: bool = False) -> Call:
        """Send the request, over a new connection if it is to be ``fresh``, and do not wait."""
        self._exchange = self._send(fresh)
        return self

    def pieces(self, holds: Callable[[Response], bool]) -> Generator[bytes]:
        """The body of what was begun, as it comes, if ``holds`` accepts its head; ``result`` follows."""
        assert self._exchange is not None
        return self._exchange.pieces(holds)

    def abandon(self) -> None:
        """Do without the response of a request that was begun and changes nothing."""
        if self._exchange is not None:
            self._exchange.abandon()
            self._exchange = None

    def result(self, *, resumes: bool = False) -> Response:
        """The response, held against the request; see ``read``."""
        return self.read(self._hold, resumes=resumes)

    def read(self, take: Callable[[Response], Answer], *, resumes: bool = False) -> Answer:
        """Returns the result of ``take``, which raises ``WrongAnswer`` for the response to another request.

        Repeats and raises as ``S3Requests.request`` says. A retry after a broken exchange uses a new connection,
        because all kept ones may have stalled for the same reason. If the caller ``resumes``, a partial body raises
        ``ConnectionBroken``, so that the caller asks only for the rest.
        """
        failures, fresh = 0, False
        while True:
            try:
                exchange, self._exchange = self._exchange or self._send(fresh), None
                found = exchange.read(
                    lambda response: find_fault(self._operation, response, self._key) or take(response)
                )
                if not isinstance(found, Fault):
                    return found
                fault = found
            except ConnectionBroken as exc:
                if resumes and exc.begun is not None:
                    raise
                fault = broken(exc)
            except WrongAnswer as exc:
                fault = wrong(exc)
            failures += 1
            self._requests.wait_or_raise(fault, failures, self._operation, self._bucket, self._key)
            fresh = fault.cause is not None
