"""Roles in the emulator: what acts under one, and what a policy is evaluated for.

Loaded by emulator_launcher.py, so it imports nothing of the project.
"""

from __future__ import annotations

import contextvars
import hashlib
import json
import os
from typing import Any


def state_machines_act_under_their_roles() -> None:
    """A state machine acts only as its role allows, which MiniStack does not check: calls, children, items it reads.

    It does not write the results of a Map, but the role must allow what AWS would write.
    """
    from ministack.core import iam_evaluator, responses  # type: ignore[import-not-found]
    from ministack.services import lambda_svc, stepfunctions, sts  # type: ignore[import-not-found]

    acting: contextvars.ContextVar[str] = contextvars.ContextVar("acting")
    run_execution, run_map = stepfunctions._run_execution, stepfunctions._run_distributed_map
    call_function, read_object = stepfunctions._call_lambda, stepfunctions._s3_object_text

    def must_be_allowed(action: str, resource: str, error: str) -> None:
        service = action.partition(":")[0]
        key = acting.get()
        if iam_evaluator.enforce(key, action, service, responses.get_region(), resource_arn=resource):
            who = sts._sessions[key]["Arn"]
            said = f"AccessDenied: {who} is not authorized to perform {action} on {resource}"
            raise stepfunctions._ExecutionError(error, said)

    def run_as_role(execution: str) -> None:
        machine = stepfunctions._state_machines[stepfunctions._executions[execution]["stateMachineArn"]]
        acting.set(_session(machine["roleArn"], machine["name"]))
        iam_evaluator.pin_request_origin("127.0.0.1", True)
        run_execution(execution)

    def call_if_allowed(function: Any, event: Any) -> Any:
        _, config, _ = lambda_svc._get_func_record_for_ref(function)
        if config:
            must_be_allowed("lambda:InvokeFunction", config["FunctionArn"], "Lambda.AWSLambdaException")
        return call_function(function, event)

    def read_if_allowed(bucket: str, key: str) -> Any:
        must_be_allowed("s3:GetObject", f"arn:aws:s3:::{bucket}/{key}", "States.ItemReaderFailed")
        return read_object(bucket, key)

    def map_if_allowed(state: dict[str, Any], raw: Any, effective: Any, iterator: Any, run: Any, context: Any) -> Any:
        must_be_allowed("states:StartExecution", run["stateMachineArn"], "States.Permissions")
        if writer := state.get("ResultWriter"):
            to = stepfunctions._resolve_params_obj(writer["Parameters"], effective, context)
            place = f"arn:aws:s3:::{to['Bucket']}/{to['Prefix']}/manifest.json"
            must_be_allowed("s3:PutObject", place, "States.ResultWriterFailed")
        return run_map(state, raw, effective, iterator, run, context)

    stepfunctions._run_execution, stepfunctions._run_distributed_map = run_as_role, map_if_allowed
    stepfunctions._call_lambda, stepfunctions._s3_object_text = call_if_allowed, read_if_allowed


def schedules_start_runs() -> None:
    """A schedule may call StartExecution as EventBridge Scheduler's universal targets do, under its role.

    MiniStack knows the target for state machines alone, in which no run can be given a name.
    """
    from ministack.core import iam_evaluator, responses
    from ministack.services import eventbridge, stepfunctions

    invoke = eventbridge._invoke_target

    def start(target: dict[str, Any], event: Any, schedule: Any, view: Any = None) -> None:
        if not target["Arn"].endswith(":scheduler:::aws-sdk:sfn:startExecution"):
            return invoke(target, event, schedule, view)  # type: ignore[no-any-return]
        call = target["Input"].replace("<aws.scheduler.execution-id>", os.urandom(8).hex())
        given = {name[0].lower() + name[1:]: value for name, value in json.loads(call).items()}
        machine, action = given["stateMachineArn"], "states:StartExecution"
        key = _session(target["RoleArn"], "schedule")
        iam_evaluator.pin_request_origin("127.0.0.1", True)
        if iam_evaluator.enforce(key, action, "states", responses.get_region(), resource_arn=machine):
            raise PermissionError(f"{target['RoleArn']} is not authorized to perform {action} on {machine}")
        stepfunctions._start_execution(given)
        return None

    eventbridge._invoke_target = start


def name_what_a_call_is_about() -> None:
    """Policies are evaluated for the Map run or the file system that a call names, as on AWS, and not for nothing."""
    from ministack.core import iam_actions

    extract = iam_actions.extract_resource_arn

    def named(
        service: str, method: str, path: str, headers: Any, body: bytes, query: Any, region: str, account: str
    ) -> Any:
        found = extract(service, method, path, headers, body, query, region, account)
        if found != "*":
            return found
        if service == "states":
            return iam_actions._safe_json_field(body, "mapRunArn") or found
        if service == "elasticfilesystem" and (given := query.get("FileSystemId")):
            name = given[0] if isinstance(given, list) else given
            return f"arn:aws:elasticfilesystem:{region}:{account}:file-system/{name}"
        return found

    iam_actions.extract_resource_arn = named


def _session(role: str, name: str) -> str:
    """The access key of a session of a role; its secret is unknown."""
    from ministack.services import sts

    key = f"ASIA{hashlib.sha256(f'{role} {name}'.encode()).hexdigest()[:16].upper()}"
    account, role_name = role.split(":")[4], role.rpartition("/")[2]
    session = {"Arn": f"arn:aws:sts::{account}:assumed-role/{role_name}/{name}", "UserId": f"{role_name}:{name}"}
    secrets = {name: os.urandom(20).hex() for name in ("SecretAccessKey", "SessionToken")}
    sts.register_session(key, {**session, **secrets})
    return key
