"""The doctor on functions: how many may run, how long, and what one of them says from inside."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.cli.conftest import Aws
from tests.cli.doctor.stack import STACK, examined, template


def test_less_concurrency_than_the_stack_starts_is_a_warning(
    aws: Aws, whole: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    limit: list[int] = [1_000]
    plain = aws.session._session.create_client

    def client(service: str, **options: Any) -> Any:
        made: Any = plain(service, **options)
        if service == "lambda":
            account = {"AccountLimit": {"UnreservedConcurrentExecutions": limit[0]}}
            monkeypatch.setattr(made, "get_account_settings", lambda: account)
        return made

    monkeypatch.setattr(aws.session._session, "create_client", client)
    found = examined(aws)["Lambda concurrency"]
    assert found["level"] == "warn"
    few = "1,000 functions without a reservation may run in the account; a run starts up to 900 of the stack's 5,000"
    assert found["what"] == few
    limit[0] = 6_000
    assert examined(aws)["Lambda concurrency"]["level"] == "ok"


@pytest.mark.parametrize(
    ("code", "takes"),
    [("PreconditionFailedException", "up to 1,800"), ("ValidationException", "less than 1,800")],
)
def test_what_the_region_takes_of_a_functions_time_is_asked_without_a_change(
    aws: Aws, whole: dict[str, str], monkeypatch: pytest.MonkeyPatch, code: str, takes: str
) -> None:
    asked: list[dict[str, Any]] = []
    plain = aws.session._session.create_client

    def update(**given: Any) -> Any:
        asked.append(given)
        raise ClientError({"Error": {"Code": code, "Message": "no"}}, "UpdateFunctionConfiguration")

    def client(service: str, **options: Any) -> Any:
        made: Any = plain(service, **options)
        if service == "lambda":
            monkeypatch.setattr(made, "update_function_configuration", update)
        return made

    monkeypatch.setattr(aws.session._session, "create_client", client)
    text = json.loads(template(**whole))
    given = {"FunctionSeconds": "900", "FunctionMegabytes": "1769"}
    text["Parameters"] |= {name: {"Type": "Number", "Default": value} for name, value in given.items()}
    text["Outputs"]["ExamineTurnsFunction"] = {"Value": "turns"}
    aws.client("cloudformation").update_stack(StackName=STACK, TemplateBody=json.dumps(text))
    found = examined(aws)["function size: FunctionSeconds"]
    assert (found["level"], found["what"]) == ("ok", f"900; Lambda takes {takes} here")
    # No function has this revision, so that an update that names it is refused.
    assert {one["RevisionId"] for one in asked} == {"00000000-0000-0000-0000-000000000000"}
    assert [(one.get("Timeout"), one.get("MemorySize")) for one in asked] == [(1_800, None), (None, 32_768)]


@pytest.mark.parametrize(("reserved", "level"), [("4000", "warn"), ("5000", "ok")])
def test_reserved_concurrency_is_what_counts_where_there_is_some(
    aws: Aws, whole: dict[str, str], reserved: str, level: str
) -> None:
    text = json.loads(template(**whole))
    text["Parameters"]["ReservedFanOutConcurrency"] = {"Type": "Number", "Default": reserved}
    aws.client("cloudformation").update_stack(StackName=STACK, TemplateBody=json.dumps(text))
    found = examined(aws)["Lambda concurrency"]
    assert found["level"] == level
    assert f"starts up to {int(reserved):,} of the stack's 5,000" in found["what"]


@pytest.fixture
def asked(aws: Aws, whole: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A stack that names ExamineTurns; ``answer`` is what the function says, ``invoked`` how it was asked."""
    text = template(**{**whole, "ExamineTurnsFunction": "turns-1"})
    aws.client("cloudformation").update_stack(StackName=STACK, TemplateBody=text)
    said: dict[str, Any] = {"answer": {}, "invoked": []}
    plain = aws.session._session.create_client

    def invoke(**asking: Any) -> Any:
        said["invoked"].append(asking)
        return {key: io.BytesIO(value) if key == "Payload" else value for key, value in said["answer"].items()}

    def client(service: str, **options: Any) -> Any:
        made: Any = plain(service, **options)
        if service == "lambda":
            monkeypatch.setattr(made, "invoke", invoke)
        return made

    monkeypatch.setattr(aws.session._session, "create_client", client)
    return said


def test_whether_runs_can_be_kept_apart_is_asked_of_the_function_that_does_it(
    aws: Aws, whole: dict[str, str], asked: dict[str, Any]
) -> None:
    row = {"name": "runs at the same time: executions", "level": "fail", "what": "denied", "remedy": "allow it"}
    asked["answer"] = {"Payload": json.dumps({"findings": [row]}).encode()}
    assert examined(aws)[row["name"]] == row
    [asking] = asked["invoked"]
    execution = whole["StateMachineArn"].replace(":stateMachine:", ":execution:") + ":doctor"
    assert (asking["FunctionName"], json.loads(asking["Payload"])) == (
        "turns-1",
        {"step": "ExamineTurns", "execution": execution},
    )


def test_a_function_that_breaks_while_it_is_asked_is_a_finding(aws: Aws, asked: dict[str, Any]) -> None:
    broken = json.dumps({"errorType": "ImportError", "errorMessage": "no module"}).encode()
    asked["answer"] = {"FunctionError": "Unhandled", "Payload": broken}
    found = examined(aws)["runs at the same time"]
    assert (found["level"], found["what"]) == ("fail", "turns-1 failed: no module")
    assert "ExamineTurns" in found["remedy"]


def test_a_stack_of_an_earlier_version_is_told_what_was_not_checked(aws: Aws, whole: dict[str, str]) -> None:
    found = examined(aws)["runs at the same time"]
    assert (found["level"], found["what"]) == ("warn", "not checked: the stack is of an earlier version")
