"""The S3 that this machine reaches: the user's credentials and region as AWS's own tools find them, or another URL."""

from __future__ import annotations

import os
from typing import Any

from fanout.adapters.aws.credentials import Credentials, credentials_from_environment
from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.s3.client.reach import reach
from fanout.model.errors import AccessDenied, Unreachable
from fanout.runtime.embedded.machine import S3Here
from fanout_cli.account import region_named, session_options
from fanout_cli.command_error import CommandError

_SIGN_IN = "sign in (aws sso login), run `aws configure`, or give --profile"
# A custom S3 does not look at it, and signatures name one.
_ANY_REGION = "us-east-1"


class ChainCredentials:
    """Credentials as botocore finds and renews them: environment, profile, SSO, role of the instance.

    Botocore is imported only where the environment does not hold keys. Another process looks for itself.
    """

    def __init__(self, profile: str | None) -> None:
        self._profile = profile
        self._found: Any = None

    def __reduce__(self) -> tuple[type[ChainCredentials], tuple[str | None]]:
        return ChainCredentials, (self._profile,)

    def __call__(self) -> Credentials:
        """The credentials now. Raises ``AccessDenied`` with what to do."""
        if self._profile is None and {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} <= os.environ.keys():
            return credentials_from_environment()
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            if self._found is None:
                self._found = _session(self._profile).get_credentials()
            if self._found is None:
                raise AccessDenied("signing without credentials", "S3", _SIGN_IN)
            keys = self._found.get_frozen_credentials()
        except (BotoCoreError, ClientError) as error:
            raise AccessDenied("signing", "S3", f"{error}; {_SIGN_IN}") from error
        return Credentials(keys.access_key, keys.secret_key, keys.token or "")


def s3_here(url: str, *, is_used: bool) -> S3Here:
    """The S3 of the command's options. Raises ``CommandError`` where a run uses it without credentials or region."""
    url = url or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    if url and "://" not in url:
        raise CommandError(f"--s3-endpoint {url} is not a URL; give http://HOST:PORT or https://HOST:PORT")
    profile = session_options()["profile_name"] or os.environ.get("AWS_PROFILE")
    credentials = ChainCredentials(profile)
    region = region_named() or (_ANY_REGION if url or not is_used else _region_of_profile(profile))
    here = S3Here(Endpoint(region, url.rstrip("/")), credentials)
    if is_used:
        try:
            credentials()
        except AccessDenied as error:
            raise CommandError(f"no AWS credentials were found: {error}") from error
    return here


def check_answers(here: S3Here, location: str) -> None:
    """Raise ``CommandError`` in seconds where no S3 answers for the bucket of a location."""
    bucket = location.removeprefix("s3://").partition("/")[0]
    try:
        reach(here.endpoint, bucket)
    except Unreachable as error:
        where = here.endpoint.url or f"the S3 of {here.endpoint.region}"
        advice = "check --s3-endpoint" if here.endpoint.url else "check the network, --region and the bucket's name"
        raise CommandError(f"{where} does not answer ({error.__cause__ or error}); {advice}") from error


def _region_of_profile(profile: str | None) -> str:
    from botocore.exceptions import BotoCoreError

    try:
        region = _session(profile).get_config_variable("region")
    except BotoCoreError as error:
        raise CommandError(f"{error}; give --profile one of `aws configure list-profiles`") from error
    if not region:
        raise CommandError("no AWS region is set; give --region, or set AWS_REGION or a region in the profile")
    return str(region)


def _session(profile: str | None) -> Any:
    from botocore.session import Session

    return Session(profile=profile)
