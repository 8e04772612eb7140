"""AWS's control plane by signed requests, for what every plan asks: importing boto3 takes longer than the answers.

Each service speaks JSON, as its model in botocore says.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, TypeVar
from urllib.parse import urlsplit

from msgspec import Struct

from fanout.adapters.aws.control_plane import CONNECT_SECONDS, READ_SECONDS, UNREADABLE, error_of
from fanout.adapters.aws.credentials import credentials_from_environment
from fanout.adapters.aws.endpoint import suffix_of
from fanout.adapters.aws.sigv4 import RequestSigner, encode_query
from fanout.adapters.http.curl import ConnectionBroken, Response, Timeouts
from fanout.adapters.http.transport import Transport
from fanout.model.document import json_value
from fanout.model.errors import Transient, Unreachable

T = TypeVar("T")
# The names by which services say which error it is.
_CODES = ("__type", "ErrorCode", "Code", "code")


class _ServiceCall(Struct, frozen=True):
    """A request to a service; ``action`` is IAM's, ``about`` what is asked about."""

    action: str
    about: str
    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = {}
    body: bytes | None = None


class Service:
    """One service of a region, by the name that it is signed for and found at; ``url`` is another endpoint."""

    def __init__(self, name: str, region: str, url: str = "") -> None:
        self._origin = (url or f"https://{name}.{region}.{suffix_of(region)}").rstrip("/")
        self._host = urlsplit(self._origin).netloc
        self._signer = RequestSigner(region, name)
        self._transport = Transport(Timeouts(CONNECT_SECONDS, READ_SECONDS, CONNECT_SECONDS + READ_SECONDS))

    def get(self, action: str, about: str, path: str, query: Mapping[str, str], read: Callable[[Any], T]) -> T:
        """Returns the result of ``read`` on the answer to a GET, asked once; ``action`` is IAM's, on something.

        Raises ``AccessDenied``, ``NotFound``, ``Throttled``, ``Transient``, or ``Unreachable`` where no answer comes.
        """
        return self._ask(_ServiceCall(action, about, "GET", path, encode_query(query.items())), read)

    def post(self, action: str, about: str, target: str, body: Mapping[str, Any], read: Callable[[Any], T]) -> T:
        """The same of a POST to an operation in the protocol JSON 1.0; ``target`` names it."""
        headers = {"content-type": "application/x-amz-json-1.0", "x-amz-target": target}
        document = json.dumps(body).encode()
        return self._ask(_ServiceCall(action, about, "POST", "/", headers=headers, body=document), read)

    def _ask(self, call: _ServiceCall, read: Callable[[Any], T]) -> T:
        digest = sha256(call.body or b"").hexdigest()
        place = (call.method, self._host, call.path, call.query)
        signed = self._signer.sign(*place, call.headers, credentials_from_environment(), time.time(), digest)
        url = f"{self._origin}{call.path}?{call.query}" if call.query else f"{self._origin}{call.path}"
        try:
            response = self._transport.ask(call.method, url, signed, call.body)
        except ConnectionBroken as error:
            raise Unreachable(f"{call.action} on {call.about}: no answer ({error})") from error
        if response.status >= 300:
            raise error_of(response.status, *_said(response), call.action, call.about)
        try:
            return read(json_value(response.body))
        except UNREADABLE as error:
            raise Transient(f"{call.action} on {call.about}: the answer cannot be read ({error!r})") from error


def _said(response: Response) -> tuple[str, str]:
    """The code and the message of an error."""
    try:
        found = json_value(response.body)
    except ValueError:
        found = {}
    said = found if isinstance(found, dict) else {}
    code = response.headers.get("x-amzn-errortype") or next((said[name] for name in _CODES if said.get(name)), "")
    return str(code).rpartition("#")[2].partition(":")[0], str(said.get("message") or said.get("Message") or "")
