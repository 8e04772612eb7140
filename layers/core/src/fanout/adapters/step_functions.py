"""Step Functions: whether an execution goes on, and starting one; each is a signed request, without an SDK."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from hashlib import sha256
from urllib.parse import urlsplit

from fanout.adapters.s3.connection import ConnectionBroken, Timeouts
from fanout.adapters.s3.credentials import CredentialsProvider
from fanout.adapters.s3.requests import RetryPolicy
from fanout.adapters.s3.sigv4 import Signer
from fanout.adapters.s3.transport import Response, Transport
from fanout.domain.errors import AccessDenied, FanoutError, InvalidRequest, NotFound, Throttled, Transient
from fanout.domain.rows import Json

# docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeExecution.html, API_StartExecution.html
# and CommonErrors.html
_DESCRIBE, _START = "AWSStepFunctions.DescribeExecution", "AWSStepFunctions.StartExecution"
_ABSENT = frozenset({"ExecutionDoesNotExist", "StateMachineDoesNotExist", "ResourceNotFound"})
_EXISTS = "ExecutionAlreadyExists"
_THROTTLED = frozenset({"ThrottlingException", "Throttling", "TooManyRequestsException", "ExecutionLimitExceeded"})
_DENIED = frozenset({"AccessDeniedException", "UnrecognizedClientException", "InvalidSignatureException"})
_RUNNING = frozenset({"RUNNING", "PENDING_REDRIVE"})
_TIMEOUTS = Timeouts(connect_seconds=5, stall_seconds=10, total_seconds=20)


class StepFunctions:
    """Requests to Step Functions; ``url`` is another endpoint than the region's."""

    def __init__(
        self,
        region: str,
        credentials: CredentialsProvider,
        url: str = "",
        *,
        retry: RetryPolicy | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        suffix = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
        self._url = url or f"https://states.{region}.{suffix}"
        self._credentials = credentials
        self._signer = Signer(region, "states")
        self._transport = Transport(_TIMEOUTS)
        self._retry = retry or RetryPolicy()
        self._sleep = sleep

    def call(self, target: str, about: str, asked: Json) -> Json:
        """The answer to a request, repeated where its failure may pass."""
        body = json.dumps(asked).encode()
        failures = 0
        while True:
            try:
                response = self._ask(target, body)
                if response.status < 300:
                    answer: Json = json.loads(response.body)
                    return answer
                error = _error(response, target.partition(".")[2], about)
            except ConnectionBroken as broken:
                error = Transient(f"{target} of {about}: {broken}")
            except ValueError as unread:
                error = Transient(f"{target} of {about}: the answer can not be read ({unread})")
            failures += 1
            if not isinstance(error, (Throttled, Transient)) or failures >= self._retry.attempts:
                raise error
            self._sleep(self._retry.delay_seconds(failures - 1, random.random()))

    def _ask(self, target: str, body: bytes) -> Response:
        host = urlsplit(self._url).netloc
        headers = {"content-type": "application/x-amz-json-1.0", "x-amz-target": target}
        digest = sha256(body).hexdigest()
        signed = self._signer.sign("POST", host, "/", "", headers, self._credentials(), time.time(), digest)
        return self._transport.exchange("POST", f"{self._url}/", signed, body)


class StepFunctionsExecutions(StepFunctions):
    """See ``fanout.ports.Executions`` and ``Starts``."""

    def running(self, execution: str) -> bool:
        """See ``fanout.ports.Executions``."""
        try:
            found = self.call(_DESCRIBE, execution, {"executionArn": execution, "includedData": "METADATA_ONLY"})
        except NotFound:
            return False
        return found["status"] in _RUNNING

    def start(self, machine: str, run_id: str, request: Json) -> bool:
        """See ``fanout.ports.Starts``."""
        asked = {"stateMachineArn": machine, "name": run_id, "input": json.dumps(request)}
        try:
            self.call(_START, f"{run_id} of {machine}", asked)
        except _Exists:
            return False
        return True


class _Exists(FanoutError):
    """There is an execution of the name already."""


def _error(response: Response, operation: str, about: str) -> FanoutError:
    """Our error for an answer that is none."""
    try:
        said = json.loads(response.body)
    except ValueError:
        said = {}
    code = str(said.get("__type", "")).rpartition("#")[2]
    text = f"{operation} of {about}: {response.status} {code} {said.get('message', '')}".rstrip()
    if code == _EXISTS:
        return _Exists(text)
    if code in _ABSENT:
        return NotFound(text, code)
    if code in _THROTTLED or response.status == 429:
        return Throttled(text)
    if response.status >= 500:
        return Transient(text)
    if code in _DENIED or response.status in (401, 403):
        remedy = f"allow states:{operation} to the function's role (Step Functions says: {code})"
        return AccessDenied(operation, about, remedy)
    return InvalidRequest("execution", text, "it is the ARN of an execution or of a state machine")
