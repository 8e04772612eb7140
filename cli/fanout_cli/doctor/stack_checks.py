"""Checks of the stack itself: credentials, state machine, work bucket, concurrency."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from botocore.exceptions import ClientError

from fanout.facts import aws
from fanout.ports.finding import DEPLOY_AGAIN, Finding, fail, ok, warn
from fanout.request.parts.limits import most_functions
from fanout_cli.command_error import code_of
from fanout_cli.stacks import Stack

RUNS = "runs/"
NO_REVISION = "00000000-0000-0000-0000-000000000000"
_REMEDY_QUOTA = (
    "ask for a higher quota (Service Quotas, Lambda, Concurrent executions), or deploy with a lower MaxConcurrency"
)
_REMEDY_RESERVED = "deploy with a ReservedFanOutConcurrency of at least MaxConcurrency, or with 0"


def credentials(stack: Stack) -> Iterator[Finding]:
    """The caller and its account."""
    who = stack.client("sts").get_caller_identity()
    yield ok("credentials", f"{who['Arn']} in account {who['Account']}")


def state_machine(stack: Stack) -> Iterator[Finding]:
    """Whether the state machine of the outputs is there."""
    title = "state machine"
    try:
        status = stack.client("stepfunctions").describe_state_machine(stateMachineArn=stack.state_machine_arn)["status"]
    except ClientError as error:
        if code_of(error) != "StateMachineDoesNotExist":
            raise
        yield fail(title, f"{stack.state_machine_arn} is not there", DEPLOY_AGAIN)
        return
    yield ok(title, status) if status == "ACTIVE" else fail(title, status, DEPLOY_AGAIN)


def work_bucket(stack: Stack) -> Iterator[Finding]:
    """Whether the ledgers' bucket can be reached and is encrypted."""
    s3, bucket, title = stack.client("s3"), stack.work_bucket, "work bucket"
    try:
        s3.head_bucket(Bucket=bucket)
    except ClientError as error:
        if code_of(error) not in ("404", "NoSuchBucket"):
            raise
        yield fail(title, f"{bucket} is not there", "deploy the stack again under another name: its ledgers are lost")
        return
    yield ok(title, bucket)
    try:
        rules = s3.get_bucket_encryption(Bucket=bucket)["ServerSideEncryptionConfiguration"]["Rules"]
        algorithm = rules[0]["ApplyServerSideEncryptionByDefault"]["SSEAlgorithm"]
        yield ok("work bucket: encryption", algorithm)
    except ClientError as error:
        if code_of(error) != "ServerSideEncryptionConfigurationNotFoundError":
            raise
        yield warn("work bucket: encryption", "no default encryption", DEPLOY_AGAIN)


def lifecycle(stack: Stack) -> Iterator[Finding]:
    """After how many days the ledgers of runs go; staged objects go sooner."""
    title, remedy = "work bucket: lifecycle", DEPLOY_AGAIN
    try:
        rules = stack.client("s3").get_bucket_lifecycle_configuration(Bucket=stack.work_bucket)["Rules"]
    except ClientError as error:
        if code_of(error) != "NoSuchLifecycleConfiguration":
            raise
        rules = []
    days = [rule["Expiration"]["Days"] for rule in rules if _is_of_runs(rule) and "Days" in rule.get("Expiration", {})]
    if days:
        yield ok(title, f"runs are kept for {min(days)} days")
    else:
        yield warn(title, "ledgers are never deleted", remedy)


def _is_of_runs(rule: Mapping[str, Any]) -> bool:
    """Whether a rule expires ledgers; S3 says the prefix of an older rule outside of its filter."""
    prefix: str = rule.get("Filter", {}).get("Prefix", rule.get("Prefix", ""))
    return RUNS.startswith(prefix)


def buckets(stack: Stack) -> Iterator[Finding]:
    """Which buckets the stack may read and write; none at all is what the template's rules refuse today."""
    title, named = "buckets", {"read": "ReadBucketArns", "write": "WriteBucketArns"}
    if not all(name in stack.parameters for name in named.values()):
        return  # a stack of an earlier version
    given = {verb: stack.parameters[name] for verb, name in named.items()}
    what = "; ".join(f"{verb} {arns}" if arns else f"{verb} none" for verb, arns in given.items())
    if any(given.values()) or stack.parameters.get("SecondAccessPointArn"):
        yield ok(title, what)
    else:
        remedy = "deploy with ReadBucketArns=arn:aws:s3:::SOURCE WriteBucketArns=arn:aws:s3:::DESTINATION"
        yield warn(title, "the stack may read and write no bucket, so every copy would be denied", remedy)


def function_size(stack: Stack) -> Iterator[Finding]:
    """The limits of the stack's functions, compared with the most that this region takes."""
    given = {"FunctionSeconds": "Timeout", "FunctionMegabytes": "MemorySize"}
    if not all(name in stack.parameters for name in given):
        return  # a stack of an earlier version
    function = stack.outputs.get("ExamineTurnsFunction")
    if not function:
        return  # the same
    most = {"Timeout": aws.FUNCTION_SECONDS_MOST, "MemorySize": aws.FUNCTION_MEMORY_MB_MOST}
    for name, field in given.items():
        takes = (
            f"up to {most[field]:,}" if _takes(stack, function, field, most[field]) else f"less than {most[field]:,}"
        )
        yield ok(f"function size: {name}", f"{int(stack.parameters[name]):,}; Lambda takes {takes} here")


def _takes(stack: Stack, function: str, field: str, value: int) -> bool:
    """Whether Lambda takes a value here: asked with the revision of no function, so that nothing is changed."""
    try:
        stack.client("lambda").update_function_configuration(
            FunctionName=function, RevisionId=NO_REVISION, **{field: value}
        )
    except ClientError as error:
        if code_of(error) in ("ValidationException", "InvalidParameterValueException"):
            return False
        if code_of(error) != "PreconditionFailedException":
            raise
    return True


def concurrency(stack: Stack) -> Iterator[Finding]:
    """Whether as many functions may run as the stack may start; a run starts fewer where not."""
    title = "Lambda concurrency"
    wanted = int(stack.parameters.get("MaxConcurrency", "0"))
    reserved = int(stack.parameters.get("ReservedFanOutConcurrency", "0"))
    if reserved:
        most, has, remedy = reserved, f"ReservedFanOutConcurrency is {reserved:,}", _REMEDY_RESERVED
    else:
        limit = stack.client("lambda").get_account_settings()["AccountLimit"]["UnreservedConcurrentExecutions"]
        has, remedy = f"{limit:,} functions without a reservation may run in the account", _REMEDY_QUOTA
        most = most_functions(limit)
    what = f"{has}; a run starts up to {min(most, wanted):,} of the stack's {wanted:,}"
    yield warn(title, what, remedy) if most < wanted else ok(title, what)


def way_out(stack: Stack) -> Iterator[Finding]:
    """Whether the functions outside the network are there, where the stack's WayOut wants them."""
    title, way = "way out", stack.parameters.get("WayOut", "")
    if not way:
        return  # a stack of an earlier version
    if way == "none":
        yield ok(title, "none: no bucket of another region is reached, and no role is assumed")
        return
    machine = stack.client("stepfunctions").describe_state_machine(stateMachineArn=stack.state_machine_arn)
    outside = _functions_outside(json.loads(machine["definition"]))
    wrong = [f"{name} {what}" for name, arn in outside.items() if (what := _wrong_outside(stack, arn))]
    if wrong or not outside:
        yield fail(title, f"{way}, but {'; '.join(wrong) or 'no function is outside the network'}", DEPLOY_AGAIN)
    else:
        yield ok(title, f"{way}: {len(outside)} functions outside the network")


def _functions_outside(definition: Mapping[str, Any]) -> dict[str, str]:
    """The ARNs of the functions that PlanTransfer gives to a run that leaves the network, by their names."""
    groups = definition["States"]["PlanTransfer"]["Parameters"]["Payload"]["functions"]
    return {name: arn for name, arn in groups[-1].items() if arn}


def _wrong_outside(stack: Stack, arn: str) -> str:
    try:
        found = stack.client("lambda").get_function_configuration(FunctionName=arn)
    except ClientError as error:
        if code_of(error) != "ResourceNotFoundException":
            raise
        return "is not there"
    return "is in a network" if found.get("VpcConfig", {}).get("SubnetIds") else ""
