"""Prices of AWS in dollars: the one table, read on DATE for REGION; a stack and a request can name others.

Second-hand, from pages that quote the price lists; each names the list that counts. GB are 10^9 bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

DATE = "2026-11"
REGION = "us-east-1"


class Price(NamedTuple):
    """A price, what it is for, and the price list, below aws.amazon.com."""

    dollars: float
    unit: str
    page: str


_S3 = "s3/pricing/"
_EFS = "efs/pricing/"
_LAMBDA = "lambda/pricing/"
_DATASYNC = "datasync/pricing/"

PRICES: Mapping[str, Price] = {
    "s3_put": Price(0.005 / 1000, "PUT, COPY, POST or LIST request", _S3),
    "s3_get": Price(0.0004 / 1000, "GET or HEAD request", _S3),
    "s3_standard_gb_month": Price(0.023, "GB-month of S3 Standard, as a restored copy", _S3),
    "restore_glacier_expedited": Price(10.0 / 1000, "expedited restore request, GLACIER or INTELLIGENT_TIERING", _S3),
    "restore_glacier_expedited_gb": Price(0.03, "GB of expedited restores, GLACIER or INTELLIGENT_TIERING", _S3),
    "restore_glacier_standard": Price(0.05 / 1000, "standard restore request, GLACIER", _S3),
    "restore_glacier_standard_gb": Price(0.01, "GB of standard restores, GLACIER", _S3),
    "restore_deep_standard": Price(0.10 / 1000, "standard restore request, DEEP_ARCHIVE", _S3),
    "restore_deep_standard_gb": Price(0.02, "GB of standard restores, DEEP_ARCHIVE", _S3),
    "restore_deep_bulk": Price(0.025 / 1000, "bulk restore request, DEEP_ARCHIVE", _S3),
    "restore_deep_bulk_gb": Price(0.0025, "GB of bulk restores, DEEP_ARCHIVE", _S3),
    "transfer_gb": Price(0.02, "GB from us-east-1 to another region, but to us-east-2 (0.01)", _S3),
    "batch_job": Price(0.25, "job of S3 Batch Operations", _S3),
    "batch_object": Price(1.0 / 1_000_000, "object of a job of S3 Batch Operations", _S3),
    "efs_read_gb": Price(0.03, "GB read from EFS, Elastic throughput", _EFS),
    "efs_written_gb": Price(0.06, "GB written to EFS, Elastic throughput", _EFS),
    "lambda_gb_second": Price(0.0000133334, "GB-second of Lambda on arm64", _LAMBDA),
    "lambda_request": Price(0.20 / 1_000_000, "request to Lambda", _LAMBDA),
    "transition": Price(0.025 / 1000, "state transition of a Standard workflow", "step-functions/pricing/"),
    "metric": Price(0.01 / 1000, "metric asked of CloudWatch (GetMetricData)", "cloudwatch/pricing/"),
    "kms_request": Price(0.15 / 10_000, "request to KMS with an ECC key (Sign, GetPublicKey)", "kms/pricing/"),
    "datasync_basic_gb": Price(0.0125, "GB moved by DataSync in Basic mode", _DATASYNC),
    "datasync_gb": Price(0.015, "GB moved by DataSync in Enhanced mode", _DATASYNC),
    "datasync_task": Price(0.55, "execution of a DataSync task in Enhanced mode", _DATASYNC),
}


# What differs by the architecture of the functions, as Lambda names it.
OF_ARCHITECTURES: Mapping[str, Mapping[str, float]] = {"arm64": {}, "x86_64": {"lambda_gb_second": 0.0000166667}}


def prices_with(overrides: Mapping[str, float]) -> dict[str, float]:
    """The dollars of every price, those of the table unless they are overridden."""
    return {name: overrides.get(name, price.dollars) for name, price in PRICES.items()}
