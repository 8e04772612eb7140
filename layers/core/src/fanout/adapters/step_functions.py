"""What Step Functions says of an execution: one signed request, so that nothing larger has to be imported."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from hashlib import sha256
from urllib.parse import urlsplit

from fanout.adapters.s3.credentials import CredentialsProvider
from fanout.adapters.s3.requests import RetryPolicy
from fanout.adapters.s3.sigv4 import Signer
from fanout.adapters.s3.transport import ConnectionBroken, CurlTransport, Response, Timeouts
from fanout.domain.errors import AccessDenied, FanoutError, InvalidRequest, Throttled, Transient

# docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeExecution.html and CommonErrors.html
_TARGET = "AWSStepFunctions.DescribeExecution"
_ABSENT = frozenset({"ExecutionDoesNotExist", "StateMachineDoesNotExist"})
_THROTTLED = frozenset({"ThrottlingException", "Throttling", "TooManyRequestsException"})
_DENIED = frozenset({"AccessDeniedException", "UnrecognizedClientException", "InvalidSignatureException"})
_RUNNING = frozenset({"RUNNING", "PENDING_REDRIVE"})
_TIMEOUTS = Timeouts(connect_seconds=5, stall_seconds=10, total_seconds=20)


class StepFunctionsExecutions:
    """See ``fanout.ports.Executions``; ``url`` is another endpoint than the region's."""

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
        self._transport = CurlTransport(_TIMEOUTS)
        self._retry = retry or RetryPolicy()
        self._sleep = sleep

    def running(self, execution: str) -> bool:
        """See ``fanout.ports.Executions``."""
        body = json.dumps({"executionArn": execution, "includedData": "METADATA_ONLY"}).encode()
        failures = 0
        while True:
            try:
                response = self._ask(body)
                if response.status < 300:
                    return json.loads(response.body)["status"] in _RUNNING
                error = _error(response, execution)
            except ConnectionBroken as broken:
                error = Transient(f"DescribeExecution of {execution}: {broken}")
            if error is None:
                return False
            failures += 1
            if not isinstance(error, (Throttled, Transient)) or failures >= self._retry.attempts:
                raise error
            self._sleep(self._retry.delay_seconds(failures - 1, random.random()))

    def _ask(self, body: bytes) -> Response:
        parts = urlsplit(self._url)
        headers = {"content-type": "application/x-amz-json-1.0", "x-amz-target": _TARGET}
        digest = sha256(body).hexdigest()
        signed = self._signer.sign("POST", parts.netloc, "/", "", headers, self._credentials(), time.time(), digest)
        return self._transport.exchange("POST", f"{self._url}/", signed, body)


def _error(response: Response, execution: str) -> FanoutError | None:
    """Our error for an answer that is none; nothing where there is no such execution."""
    try:
        said = json.loads(response.body)
    except ValueError:
        said = {}
    code = str(said.get("__type", "")).rpartition("#")[2]
    if code in _ABSENT:
        return None
    text = f"DescribeExecution of {execution}: {response.status} {code} {said.get('message', '')}".rstrip()
    if code in _THROTTLED or response.status == 429:
        return Throttled(text)
    if response.status >= 500:
        return Transient(text)
    if code in _DENIED or response.status in (401, 403):
        remedy = f"allow states:DescribeExecution to the role of PlanTransfer (Step Functions says: {code})"
        return AccessDenied("DescribeExecution", execution, remedy)
    return InvalidRequest("execution", text, "it is the ARN of an execution")
