"""Who may mount the file system that the stack makes: its roles by its own access point, and nobody without one."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest

from tests.functions.test_roles import GIVEN
from tests.support.actions import Need
from tests.support.iam import is_allowed, statements_of
from tests.support.resource_policies import decision, role_of
from tests.support.work_bucket_policy import ACCOUNT, ROOT, session_of
from tests.template.templates import EXAMINES_MOUNT, MOUNTED, PROBE_MOUNTED, functions, resources

ACTIONS = tuple(f"elasticfilesystem:Client{one}" for one in ("Mount", "Write", "RootAccess"))
POINT = GIVEN.parameters["AccessPointArn"]
ANOTHER = POINT.replace("fsap-1", "fsap-2")
FILE_SYSTEM = "arn:aws:elasticfilesystem:us-east-1:123456789012:file-system/fs-1"
KEY = "elasticfilesystem:AccessPointArn"
POLICY: Mapping[str, Any] = resources()["FileSystem"]["Properties"]["FileSystemPolicy"]
CALLERS = [ROOT, role_of(ACCOUNT, "Administrator"), role_of("444455556666", "any"), session_of("CopyShardRole")]


@pytest.mark.parametrize("caller", CALLERS, ids=lambda one: one.arn)
def test_nobody_mounts_without_tls_or_without_an_access_point(caller: Any) -> None:
    for action in ACTIONS:
        assert decision(POLICY, caller, Need(action, FILE_SYSTEM)) == "Deny"
        by_point = {KEY: POINT}
        assert (
            decision(POLICY, caller, Need(action, FILE_SYSTEM, {**by_point, "aws:SecureTransport": "false"})) == "Deny"
        )
        # With both the rights of the caller decide: the policy itself lets in nobody.
        assert decision(POLICY, caller, Need(action, FILE_SYSTEM, by_point)) == ""


@pytest.mark.parametrize("function", sorted(functions()))
def test_a_role_mounts_by_the_stack_s_own_access_point_alone(function: str) -> None:
    statements = statements_of(function, GIVEN)
    contexts: list[dict[str, str]] = [{}, {KEY: ANOTHER}]
    asked = [Need(action, FILE_SYSTEM, context) for action, context in product(ACTIONS, contexts)]
    assert not [need for need in asked if is_allowed(need, statements)]


def test_the_functions_on_a_mount_may_mount_it() -> None:
    need = Need(ACTIONS[0], FILE_SYSTEM, {KEY: POINT})
    assert {one for one in functions() if is_allowed(need, statements_of(one, GIVEN))} == {
        *(MOUNTED | EXAMINES_MOUNT | PROBE_MOUNTED)
    }
