"""The error that stops a command: one sentence with its remedy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from botocore.exceptions import ClientError

# The status of a command that did its work and found that something failed, and of one that Ctrl-C ended.
EXIT_FAILED = 1
EXIT_INTERRUPTED = 130

_EXPIRED = ("ExpiredToken", "ExpiredTokenException", "UnrecognizedClientException", "InvalidClientTokenId")
_DENIED = ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "403")


class CommandError(Exception):
    """A command cannot go on; the message says what is wrong and what to do."""


@contextmanager
def human_errors() -> Iterator[None]:
    """Turn the errors of AWS's client that a person can do something about into ``CommandError``."""
    from botocore.exceptions import (
        BotoCoreError,
        ClientError,
        EndpointConnectionError,
        NoCredentialsError,
        NoRegionError,
        PartialCredentialsError,
        ProfileNotFound,
    )

    try:
        yield
    except (NoCredentialsError, PartialCredentialsError) as error:
        raise CommandError("no AWS credentials were found; run `aws configure` or give --profile") from error
    except NoRegionError as error:
        raise CommandError(
            "no AWS region is set; give --region, or set AWS_REGION or a region in the profile"
        ) from error
    except ProfileNotFound as error:
        raise CommandError(f"{error}; give --profile one of `aws configure list-profiles`") from error
    except EndpointConnectionError as error:
        raise CommandError(f"{error}; check the network and the region") from error
    except ClientError as error:
        raise CommandError(_sentence(error)) from error
    except BotoCoreError as error:
        raise CommandError(f"{error}; check the network, then try again") from error


def code_of(error: ClientError) -> str:
    """The service's word for an error."""
    return str(error.response.get("Error", {}).get("Code", ""))


def _sentence(error: ClientError) -> str:
    code, message = code_of(error), error.response.get("Error", {}).get("Message", "")
    if code in _EXPIRED:
        return "the AWS credentials are not valid or have expired; sign in again"
    if code in _DENIED:
        return f"{error.operation_name} is not permitted ({message}); ask for this permission, or use another profile"
    return f"{error.operation_name}: {code}: {message}; try again"
