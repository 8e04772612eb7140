"""Clients of the emulator; they know no other endpoint and no real credentials."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from fanout_cli.local.emulator import REGION

CONNECTIONS = 32


class Clients:
    """Made when first asked for, because making one takes a tenth of a second."""

    def __init__(self, endpoint: str, trusted: Path) -> None:
        self.endpoint = endpoint
        self.trusted = trusted
        """The file of the authority that the emulator is certified by."""
        self._session = boto3.Session(
            aws_access_key_id="test",
            aws_secret_access_key="test",
            region_name=REGION,
        )

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
        config = Config(max_pool_connections=CONNECTIONS, s3={"addressing_style": "path"}, proxies={})
        make: Any = self._session.client
        return make(service, endpoint_url=self.endpoint, verify=str(self.trusted), config=config)
