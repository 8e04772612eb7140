"""Clients of the emulator; they know no other endpoint and no real credentials.

They are botocore's, as those for AWS are: see ``account.new_session``.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from botocore.config import Config
from botocore.session import Session

from fanout_cli.local.access import REGION, Access

CONNECTIONS = 32


class Clients:
    """Made when first asked for, because making one takes a tenth of a second."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self._session = Session()
        self._session.set_credentials(access.access_key_id, access.secret_access_key)
        self._session.set_config_variable("region", REGION)

    @property
    def endpoint(self) -> str:
        """The URL of the emulator."""
        return self.access.endpoint

    @cached_property
    def s3(self) -> Any:
        """Amazon S3."""
        return self.client("s3")

    @cached_property
    def stepfunctions(self) -> Any:
        """AWS Step Functions."""
        return self.client("stepfunctions")

    @cached_property
    def functions(self) -> Any:
        """AWS Lambda."""
        return self.client("lambda")

    @cached_property
    def logs(self) -> Any:
        """Amazon CloudWatch Logs."""
        return self.client("logs")

    @cached_property
    def cloudformation(self) -> Any:
        """AWS CloudFormation."""
        return self.client("cloudformation")

    def client(self, service: str) -> Any:
        """A new client of a service."""
        # Without a version of its own a presigned URL is signed as S3 no longer takes it for new buckets.
        version = "s3v4" if service == "s3" else None
        config = Config(
            max_pool_connections=CONNECTIONS, s3={"addressing_style": "path"}, signature_version=version, proxies={}
        )
        make: Any = self._session.create_client
        return make(service, endpoint_url=self.endpoint, verify=self.access.ca_bundle, config=config)
