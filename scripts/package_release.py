"""Builds the stack, uploads code and templates to one bucket, and prints the address at which the console deploys it.

    python scripts/package_release.py BUCKET [--prefix PREFIX]

The bucket's region is that of the stacks, because Lambda takes code from there alone. Who deploys must be able to read
the objects. Credentials are those of the environment.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "cli"))
# The consoles of the partitions, by what the names of their regions begin with; docs.aws.amazon.com/IAM, partitions.
CONSOLES = {"cn-": "console.amazonaws.cn", "us-gov-": "console.amazonaws-us-gov.com"}
CONSOLE = "console.aws.amazon.com"
SUFFIXES = {"cn-": "amazonaws.com.cn", "eusc-": "amazonaws.eu"}
SUFFIX = "amazonaws.com"
STACK = "fanout"


def main(arguments: list[str]) -> None:
    """Run the command line."""
    asked = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    asked.add_argument("bucket")
    asked.add_argument("--prefix", default="")
    given = asked.parse_args(arguments)
    prefix = given.prefix or f"fanout-transfer/{version()}"
    s3 = client()
    region = region_of(s3, given.bucket)
    made = ROOT / ".aws-sam" / "packaged.yaml"
    sam = ROOT / ".fanout/tools/sam/bin/sam"
    run(str(sam), "build")
    where = ["--s3-bucket", given.bucket, "--s3-prefix", prefix, "--region", region]
    run(str(sam), "package", *where, "--output-template-file", str(made))
    key = f"{prefix}/template.yaml"
    s3.put_object(Bucket=given.bucket, Key=key, Body=made.read_bytes(), ContentType="application/yaml")
    print(launch_address(given.bucket, key, region))  # noqa: T201


def version() -> str:
    """The version of the product."""
    from fanout import __version__

    return __version__


def client() -> Any:
    """A client of S3."""
    import boto3

    return boto3.client("s3")


def region_of(s3: Any, bucket: str) -> str:
    """The region of a bucket."""
    found = s3.head_bucket(Bucket=bucket)
    return str(found.get("BucketRegion") or s3.meta.region_name)


def run(*command: str) -> None:
    """Run a command in the checkout; what it writes goes to standard error, so that the address alone is the output."""
    subprocess.run(command, cwd=ROOT, check=True, stdout=sys.stderr)


def launch_address(bucket: str, key: str, region: str) -> str:
    """Where CloudFormation's console asks for the parameters and creates the stack."""
    console = next((host for start, host in CONSOLES.items() if region.startswith(start)), CONSOLE)
    asked = urlencode({"templateURL": template_address(bucket, key, region), "stackName": STACK}, quote_via=quote)
    return f"https://{region}.{console}/cloudformation/home?region={region}#/stacks/quickcreate?{asked}"


def template_address(bucket: str, key: str, region: str) -> str:
    """The address of a template, in the one form that every bucket's name fits."""
    suffix = next((found for start, found in SUFFIXES.items() if region.startswith(start)), SUFFIX)
    return f"https://s3.{region}.{suffix}/{bucket}/{quote(key)}"


if __name__ == "__main__":
    main(sys.argv[1:])
