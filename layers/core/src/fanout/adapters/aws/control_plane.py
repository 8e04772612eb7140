"""AWS's control plane over boto3, which Lambda's runtime brings along: for functions that call it, when they call it.

Endpoints, partitions, proxies, certificates (``AWS_CA_BUNDLE``), credentials and retries are boto3's own. Only what
has been there for years is called, so any version of a runtime will do.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fanout.model.errors import AccessDenied, FanoutError, InvalidRequest, NotFound, Throttled, Transient

# Chosen: what is asked here is small, and who waits for it pays by the second.
CONNECT_SECONDS, READ_SECONDS = 5, 10
# How reading an answer of another shape than asked for fails, in boto3's parsers too.
UNREADABLE = (AttributeError, KeyError, TypeError, ValueError)
# docs.aws.amazon.com/step-functions/latest/apireference/CommonErrors.html and the pages of each operation.
_THROTTLED = frozenset(
    {"Throttling", "ThrottlingException", "TooManyRequestsException", "RequestLimitExceeded", "ExecutionLimitExceeded"}
)
_ABSENT = frozenset({"ExecutionDoesNotExist", "StateMachineDoesNotExist", "ResourceNotFound", "FileSystemNotFound"})
_DENIED = frozenset(
    {"AccessDenied", "AccessDeniedException", "UnrecognizedClientException", "InvalidSignatureException"}
)


def client(service: str, region: str, url: str = "", attempts: int = 4) -> Any:
    """A client of boto3; ``url`` is another endpoint than the region's, ``attempts`` counts the first."""
    import boto3
    from botocore.config import Config

    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        retries={"mode": "standard", "total_max_attempts": attempts},
    )
    make: Any = boto3.client
    return make(service, region_name=region, endpoint_url=url or None, config=config)


@contextmanager
def our_errors(action: str, about: str, lost: type[FanoutError] = Transient) -> Iterator[None]:
    """Turn boto3's errors of the IAM action (``states:StartExecution``) on something into those of ``model.errors``.

    ``lost`` is raised where no answer came at all.
    """
    from botocore import exceptions
    from botocore.parsers import ResponseParserError

    try:
        yield
    except exceptions.ClientError as error:
        raise _of_answer(error.response, action, about) from error
    except exceptions.NoCredentialsError as error:
        raise AccessDenied(action, about, "give the process credentials of a role") from error
    except exceptions.ParamValidationError as error:
        raise InvalidRequest(
            about, f"this version of boto3 does not know {action} as it is called: {error}", ""
        ) from error
    except exceptions.HTTPClientError as error:
        raise lost(f"{action} on {about}: no answer ({error})") from error
    except (exceptions.BotoCoreError, ResponseParserError, *UNREADABLE) as error:
        raise Transient(f"{action} on {about}: the answer cannot be read ({error!r})") from error


def _of_answer(response: Any, action: str, about: str) -> FanoutError:
    said = response.get("Error", {})
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return error_of(status, str(said.get("Code", "")), said.get("Message", ""), action, about)


def error_of(status: int, code: str, message: str, action: str, about: str) -> FanoutError:
    """The error of ``model.errors`` that an answer of AWS says, by its status and its code."""
    text = f"{action} on {about}: {status} {code} {message}".rstrip()
    if code in _THROTTLED or status == 429:
        return Throttled(text)
    if code in _DENIED or status in (401, 403):
        return AccessDenied(action, about, f"allow {action} to the function's role (AWS says: {code})")
    if code in _ABSENT or status == 404:
        return NotFound(text, code)
    return Transient(text) if status >= 500 or not status >= 400 else InvalidRequest(about, text, "")
