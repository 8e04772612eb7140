"""AWS Signature Version 4 in the Authorization header; for S3 over an unsigned payload.

Pure: the time and the credentials come with the call. S3 encodes a path once
and leaves it as it is, so ``..``, ``//`` and ``.`` in a key survive; other services are asked at plain paths.
"""

from __future__ import annotations

import hmac
import re
import time
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import sha256
from urllib.parse import quote

from fanout.adapters.aws.credentials import Credentials
from fanout.work.processes.handed_over import HandedOver

_PLAIN = re.compile(r"[A-Za-z0-9_.~/-]*")
UNSIGNED_PAYLOAD = "UNSIGNED-PAYLOAD"


def encode_path(path: str) -> str:
    """The path percent-encoded once, its slashes kept; both sent and signed."""
    return path if _PLAIN.fullmatch(path) else quote(path, safe="/~")


def encode_query(parameters: Iterable[tuple[str, str]]) -> str:
    """The query percent-encoded and in the order of its encoded names; both sent and signed."""
    return "&".join(sorted(f"{quote(name, safe='~')}={quote(value, safe='~')}" for name, value in parameters))


class RequestSigner(HandedOver):
    """Signs requests to a service in one region; keeps the signing key of the day. Safe to share between threads."""

    def __init__(self, region: str, service: str = "s3") -> None:
        self._region, self._service = region, service
        self._second: tuple[int, str] = (-1, "")
        self._keyed: tuple[str, str, hmac.HMAC] | None = None

    def sign(
        self,
        method: str,
        host: str,
        path: str,
        query: str,
        headers: Mapping[str, str],
        credentials: Credentials,
        now_seconds: float,
        payload: str = UNSIGNED_PAYLOAD,
    ) -> dict[str, str]:
        """The headers to send: the given ones, whose names are lower-case, and those that sign them.

        ``path`` and ``query`` are encoded already; ``host`` is signed but left to the transport to send. ``payload`` is
        the body's SHA-256 in hexadecimal digits, which services other than S3 ask for.
        """
        timestamp = self._timestamp(int(now_seconds))
        date = timestamp[:8]
        signed = {**headers, "x-amz-content-sha256": payload, "x-amz-date": timestamp}
        if credentials.session_token:
            signed["x-amz-security-token"] = credentials.session_token
        names, signed_names = _in_order(tuple(signed))
        values = {**signed, "host": host}
        lines = "".join([f"{name}:{_canonical(values[name])}\n" for name in names])
        canonical = f"{method}\n{path}\n{query}\n{lines}\n{signed_names}\n{payload}"
        digest = sha256(canonical.encode("utf-8", "surrogateescape")).hexdigest()
        scope = f"{date}/{self._region}/{self._service}/aws4_request"
        key = self._signing_key(credentials.secret_access_key, date)
        key.update(f"AWS4-HMAC-SHA256\n{timestamp}\n{scope}\n{digest}".encode())
        signed["authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={credentials.access_key_id}/{scope}, "
            f"SignedHeaders={signed_names}, Signature={key.hexdigest()}"
        )
        return signed

    def _timestamp(self, second: int) -> str:
        cached, text = self._second
        if cached != second:
            text = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(second))
            self._second = (second, text)
        return text

    def _signing_key(self, secret: str, date: str) -> hmac.HMAC:
        """A code that begins with the key of the day, of which half the work is done once."""
        cached = self._keyed
        if cached is not None and cached[0] == secret and cached[1] == date:
            return cached[2].copy()
        raw = f"AWS4{secret}".encode()
        for part in (date, self._region, self._service, "aws4_request"):
            raw = hmac.digest(raw, part.encode(), "sha256")
        key = hmac.new(raw, digestmod="sha256")
        self._keyed = (secret, date, key)
        return key.copy()


@lru_cache(maxsize=256)
def _in_order(names: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """The names that are signed, and how a request lists them; few requests have others than the one before."""
    found = tuple(sorted((*names, "host")))
    return found, ";".join(found)


def _canonical(value: str) -> str:
    if "  " in value:
        return " ".join(part for part in value.split(" ") if part)
    return value.strip()
