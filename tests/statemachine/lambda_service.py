"""A local stand-in for the Invoke operation of AWS Lambda; Python callables are the functions."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import unquote

REQUEST_ID = "00000000-0000-4000-8000-000000000000"

Event = dict[str, Any]
Function = Callable[[Event], Any]


@dataclass(frozen=True, slots=True)
class Call:
    name: str
    event: Event


class ServiceError(Exception):
    """The service refuses the invocation; the state machine sees ``Lambda.<code>``."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(code)
        self.status = status
        self.code = code


class NamedError(Exception):
    """A function error with a name that is no class of the project (a runtime's, say)."""

    def __init__(self, error_type: str) -> None:
        super().__init__(f"{error_type} of a test")
        self.error_type = error_type


class LambdaService:
    """Calls functions and records every call in order; ``serve`` does so over HTTP.

    A function returns its payload, raises (the class name becomes ``errorType``, as in
    Lambda's runtime), or calls ``hang`` to answer only when the service closes.
    """

    def __init__(self) -> None:
        self.functions: dict[str, Function] = {}
        self._calls: list[Call] = []
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server: _Server | None = None

    def serve(self) -> str:
        """Answer ``POST /2015-03-31/functions/NAME/invocations`` until it is closed, at the URL that is returned."""
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.service = self
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return f"http://127.0.0.1:{self._server.server_port}"

    def calls(self, name: str) -> list[Event]:
        with self._lock:
            return [call.event for call in self._calls if call.name == name]

    def called(self) -> list[str]:
        """The names in the order of the calls."""
        with self._lock:
            return [call.name for call in self._calls]

    def invoke(self, name: str, event: Event) -> Any:
        with self._lock:
            self._calls.append(Call(name, event))
        if name not in self.functions:
            raise ServiceError(404, "ResourceNotFoundException")
        return self.functions[name](event)

    def hang(self) -> None:
        self._closing.wait()

    def close(self) -> None:
        self._closing.set()
        if self._server:
            self._server.shutdown()
            self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256  # a Map's children connect at the same moment, and five may wait by default
    service: LambdaService


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # TCP_NODELAY: without it an answer waits for a delayed ACK

    def do_POST(self) -> None:
        name = unquote(self.path).split("/")[3].rpartition(":")[2]
        event: Event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            payload = cast(_Server, self.server).service.invoke(name, event)
        except ServiceError as error:
            body = {"message": str(error), "Type": "User"}
            self._answer(error.status, body, {"x-amzn-ErrorType": error.code})
        except Exception as error:  # noqa: BLE001 - as Lambda's runtime does
            error_type = error.error_type if isinstance(error, NamedError) else type(error).__name__
            failure = {"errorMessage": str(error), "errorType": error_type, "stackTrace": []}
            self._answer(200, failure, {"X-Amz-Function-Error": "Unhandled"})
        else:
            self._answer(200, payload, {})

    def _answer(self, status: int, body: Any, headers: dict[str, str]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        headers = {**headers, "Content-Type": "application/json", "Content-Length": str(len(content))}
        for key, value in {**headers, "x-amzn-RequestId": REQUEST_ID}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Keeps the access log out of the test's output."""
