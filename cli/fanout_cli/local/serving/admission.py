"""Lets in those who may use the emulator: processes of its own user, with a signature by a key that it gave out.

Loaded by emulator_launcher.py, so it imports nothing of the project. MiniStack takes any secret for the account's root,
and answers many paths without a signature; here every request is checked before MiniStack sees it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import socketserver
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import partial
from typing import Any
from urllib.parse import parse_qs, quote
from xml.sax.saxutils import escape

HEALTH = "/_ministack/health"
FORBIDDEN = 403
Refusal = tuple[str, str]

_UNSIGNED = ("MissingAuthenticationToken", "the local stack answers signed requests alone")
_STRANGER = ("AccessDenied", "the local stack answers processes of the user alone who started it")
_UNKNOWN = ("InvalidClientTokenId", "the local stack gave out no such access key; its keys are in aws.env")
_verified: ContextVar[tuple[Any, str] | None] = ContextVar("verified", default=None)


def admission(peers: Any) -> Callable[[Any, tuple[str, int]], Any]:
    """Makes ``admit`` for this machine, which may not tell the users of its peers."""
    is_own = peers.is_own if peers.is_told() else None
    if is_own is not None:
        refuse_strangers(is_own)
    return partial(admit, is_own=is_own)


def admit(app: Any, server: tuple[str, int], is_own: Callable[[Any, Any], bool] | None) -> Any:
    """``app`` for own processes with a key alone; ``is_own`` is ``None`` where the machine does not tell the user.

    ``server`` is where it is served. The scope's may follow the request's Host, which its sender chooses.
    """
    _verify_once()
    _keep_sessions_secret()

    async def admitted(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await app(scope, receive, send)
        elif is_own is not None and not is_own(_peer(scope), server):
            await _refuse(send, _STRANGER)
        elif scope["type"] == "http" and scope["path"] == HEALTH:
            await app(scope, receive, send)
        else:
            refusal, replayed = await _check(scope, receive)
            await (_refuse(send, refusal) if refusal else app(scope, replayed, send))

    return admitted


def refuse_strangers(is_own: Callable[[Any, Any], bool]) -> None:
    """The servers that hand functions their events, and take their results, talk to own processes alone."""

    def verify_request(self: Any, request: Any, client_address: Any) -> bool:
        return is_own(client_address, request.getsockname())

    socketserver.ThreadingTCPServer.verify_request = verify_request  # type: ignore[method-assign]


def _peer(scope: Any) -> tuple[str, int]:
    """The address that a request comes from; Granian gives the port as text."""
    host, port = scope["client"]
    return host, int(port)


async def _check(scope: Any, receive: Any) -> tuple[Refusal | None, Any]:
    """The reason to refuse a request, if any, and its body once more for the application."""
    from ministack.core import sigv4  # type: ignore[import-not-found]

    headers = _headers(scope)
    query = parse_qs(scope.get("query_string", b"").decode("utf-8", "replace"), keep_blank_values=True)
    presigned = "authorization" not in headers
    if presigned and not any(name.lower() == "x-amz-signature" for name in query):
        return _UNSIGNED, receive
    parsed = sigv4.parse_query_signature(query) if presigned else sigv4.parse_header_signature(headers)
    if isinstance(parsed, tuple):
        return parsed, receive
    algorithm = _one(query, "X-Amz-Algorithm") if presigned else headers["authorization"].partition(" ")[0]
    token = _one(query, "X-Amz-Security-Token") if presigned else headers.get("x-amz-security-token", "")
    secret = _secret_of(parsed.access_key_id, token)
    if algorithm != "AWS4-HMAC-SHA256" or secret is None:
        return _UNKNOWN, receive
    if late := _late(sigv4, parsed, _one(query, "X-Amz-Expires") if presigned else ""):
        return late, receive
    body = await _read(receive) if {"content-length", "transfer-encoding"} & headers.keys() else b""
    path = (scope.get("raw_path") or quote(scope["path"]).encode()).decode("latin-1")
    request = (parsed, secret, scope["method"], path, query, headers, body)
    failure = sigv4.header_signature_failure(*request, presigned=presigned)
    if failure is None:
        _verified.set((parsed, secret))
    return failure, _replay(body, receive)


def _late(sigv4: Any, parsed: Any, expires: str) -> Refusal | None:
    if not expires:
        found: Refusal | None = sigv4.request_time_failure(parsed)
        return found
    try:
        expired = sigv4.presigned_request_is_expired(parsed.amz_date, expires)
    except (ValueError, OverflowError):
        expired = True
    return ("AccessDenied", "Request has expired") if expired else None


def _secret_of(key: str, token: str) -> str | None:
    """The secret of the state's key, of a role's session or of a user's key; of no other."""
    from ministack.core import iam_evaluator, responses

    if hmac.compare_digest(key.encode(), os.environ["AWS_ACCESS_KEY_ID"].encode()):
        return os.environ["AWS_SECRET_ACCESS_KEY"]
    if iam_evaluator.is_root_access_key(key):  # "test" and account numbers, which MiniStack takes for the root
        return None
    try:
        account = responses._account_from_sts_session(key) or iam_evaluator.find_iam_access_key_account(key)
        found = iam_evaluator.resolve_credential(key, account, token)
    except iam_evaluator.AmbiguousAccessKeyError:
        return None
    return getattr(found, "secret_access_key", None)


def _verify_once() -> None:
    """MiniStack verifies the signatures of sessions by itself: not again what was verified here."""
    from ministack.core import sigv4

    failure = sigv4.header_signature_failure

    def unless_verified(signature: Any, secret: str, *request: Any, **options: Any) -> Any:
        return None if _verified.get() == (signature, secret) else failure(signature, secret, *request, **options)

    sigv4.header_signature_failure = unless_verified


def _keep_sessions_secret() -> None:
    """The secret of a function's session is this process's own; MiniStack's follows from the names of the function."""
    from ministack.core import lambda_runtime
    from ministack.services import lambda_svc, sts  # type: ignore[import-not-found]

    own = os.urandom(32)

    def credentials(config: dict[str, Any]) -> dict[str, str]:
        account, _ = lambda_runtime._account_region_from_function_config(config)
        role, session = config["Role"].rpartition("/")[2], config["FunctionName"][:64]
        key, secret, token = (
            hmac.new(own, f"{what}:{config['FunctionArn']}:{config['Role']}".encode(), hashlib.sha256).hexdigest()
            for what in ("key", "secret", "token")
        )
        key = f"ASIA{key[:16].upper()}"
        named = {"Arn": f"arn:aws:sts::{account}:assumed-role/{role}/{session}", "UserId": f"{role}:{session}"}
        sts.register_session(key, {**named, "SecretAccessKey": secret, "SessionToken": token})
        return {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret, "AWS_SESSION_TOKEN": token}

    lambda_runtime.execution_credentials = lambda_svc.execution_credentials = credentials


def _headers(scope: Any) -> dict[str, str]:
    """By lower-case names; SigV4 signs the values of a repeated header joined by commas."""
    found: dict[str, str] = {}
    for raw, value in scope.get("headers", []):
        name, text = raw.decode("latin-1").lower(), _text(value)
        found[name] = f"{found[name]},{text}" if name in found else text
    return found


def _text(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _one(query: Mapping[str, list[str]], name: str) -> str:
    return (query.get(name) or query.get(name.lower()) or [""])[0]


async def _read(receive: Any) -> bytes:
    chunks = []
    while True:
        message = await receive()
        chunks.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(chunks)


def _replay(body: bytes, receive: Any) -> Any:
    """``receive`` of a request whose body was read already."""
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Any:
        return left.pop() if left else await receive()

    return replayed


async def _refuse(send: Any, refusal: Refusal) -> None:
    """403, as clients of services of any protocol read it."""
    code, message = refusal
    error = f"<Error><Code>{escape(code)}</Code><Message>{escape(message)}</Message></Error>"
    body = f"<ErrorResponse>{error}</ErrorResponse>".encode()
    headers = [(b"content-type", b"application/xml"), (b"x-amzn-errortype", code.encode())]
    headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": FORBIDDEN, "headers": headers})
    await send({"type": "http.response.body", "body": body})
