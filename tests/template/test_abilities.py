"""Every action that a function's role allows is one that the code calls, or that Lambda calls for it."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache

import pytest

from fanout.flow.evidence import Evidence
from fanout.flow.steps import STEPS
from tests.template.templates import REPO, abilities, actions, functions, of_type, policies, resources

PACKAGE = REPO / "layers/core/src/fanout"
# What S3 checks for an operation of the client; what writes an object asks for the right to tag it and to name its ACL.
CHECKED = {
    "GetObject": {"s3:GetObject"},
    "HeadObject": {"s3:GetObject"},
    "PutObject": {"s3:PutObject", "s3:PutObjectTagging", "s3:PutObjectAcl"},
    "CopyObject": {"s3:GetObject", "s3:PutObject", "s3:PutObjectTagging", "s3:PutObjectAcl"},
    "GetObjectTagging": {"s3:GetObjectTagging"},
    "RestoreObject": {"s3:RestoreObject"},
    "DeleteObject": {"s3:DeleteObject"},
    "DeleteObjects": {"s3:DeleteObject"},
    "HeadBucket": {"s3:ListBucket"},
    "ListObjectsV2": {"s3:ListBucket"},
    "ListMultipartUploads": {"s3:ListBucketMultipartUploads"},
    "GetBucketOwnershipControls": {"s3:GetBucketOwnershipControls"},
    "CreateMultipartUpload": {"s3:PutObject", "s3:PutObjectTagging", "s3:PutObjectAcl"},
    "UploadPart": {"s3:PutObject"},
    "UploadPartCopy": {"s3:GetObject", "s3:PutObject"},
    "ListParts": {"s3:ListMultipartUploadParts"},
    "CompleteMultipartUpload": {"s3:PutObject"},
    "AbortMultipartUpload": {"s3:AbortMultipartUpload"},
}
# What is called of other services than S3: the actions that the adapters of boto3 name.
CALLED_ELSEWHERE = {
    action
    for adapter in sorted((PACKAGE / "adapters/aws").glob("*.py"))
    for action in re.findall(r'(?:our_errors|\.get|\.post)\(\s*"(\w+:\w+)"', adapter.read_text(encoding="utf-8"))
}
# What no code of ours calls, by who does; the permission is checked against the function's role all the same.
CALLED_BY_SERVICES = {
    "Lambda writes the logs": {"logs:CreateLogStream", "logs:PutLogEvents"},
    "Lambda sends the traces": {"xray:PutTraceSegments", "xray:PutTelemetryRecords"},
    "Lambda connects the function to the network": {
        "ec2:CreateNetworkInterface",
        "ec2:DeleteNetworkInterface",
        "ec2:DescribeNetworkInterfaces",
        "ec2:DescribeSubnets",
        "ec2:AssignPrivateIpAddresses",
        "ec2:UnassignPrivateIpAddresses",
    },
    "Lambda mounts the file system": {
        "elasticfilesystem:ClientMount",
        "elasticfilesystem:ClientWrite",
        "elasticfilesystem:ClientRootAccess",
        "s3files:ClientMount",
        "s3files:ClientWrite",
        "s3files:ClientRootAccess",
    },
    "Lambda reads large files of S3 Files from the bucket": {"s3:GetObject", "s3:GetObjectVersion"},
    "Lambda takes the messages of a queue": {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"},
    "S3 is given the role of a job": {"iam:PassRole"},
    "S3 uses the keys of objects": {"kms:Decrypt", "kms:GenerateDataKey"},
}


@cache
def operations() -> dict[str, bool]:
    """Every operation of the S3 client, and whether anything in the package calls it."""
    sources = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    found = {}
    for text in sources.values():
        for operation in re.findall(r'\b(?:call|begin|request)\(\s*(?:\*\()?"([A-Z]\w+)"', text):
            method = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", operation).lower()
            called = re.compile(rf"\.(?:begin_)?{method}\b|(?<!def )(?<![\w.]){method}\(")
            found[operation] = any(map(called.search, sources.values()))
    return found


def allowed() -> set[str]:
    """The actions that the managed policies allow, and the key to its signer; they are those of the functions."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for name, statement in policies():
        managed = resources()[name]["Type"] == "AWS::IAM::ManagedPolicy"
        signer = name == "CertificateKey" and statement["Principal"] == {"AWS": {"Ref": "SignerRoleArn"}}
        if statement["Effect"] == "Allow" and (managed or signer):
            found[name] |= set(actions(statement))
    return set().union(*found.values())


def test_every_operation_of_the_client_is_in_the_table() -> None:
    assert set(operations()) == set(CHECKED)


def test_what_the_functions_may_do_is_what_is_called() -> None:
    called = set().union(*(CHECKED[operation] for operation, used in operations().items() if used))
    assert sum(operations().values()) > 10
    assert len(CALLED_ELSEWHERE) >= 8
    assert allowed() == called.union(CALLED_ELSEWHERE, *CALLED_BY_SERVICES.values())


def test_only_who_proves_and_who_signs_may_read_the_secrets_of_runs() -> None:
    """What is to be certified is believed by a secret; whoever reads it could forge."""
    roles = {name: abilities(role) for name, role in of_type("AWS::IAM::Role").items()}
    readers = {name.removesuffix("Role") for name, found in roles.items() if "SealPolicy" in found}
    assert readers == {step.function for step in STEPS.values() if step.seals} - {"PlanTransfer"}
    allowed = {name for name, s in policies() if s["Effect"] == "Allow" and "seals/*" in str(s.get("Resource"))}
    assert allowed == {"SealPolicy", "AskRunsPolicy"}, "PlanTransfer makes it"


def test_only_who_plans_may_ask_about_runs_and_only_who_closes_the_books_may_take_one_out() -> None:
    """Both change the list of who writes; nothing else sees it."""
    roles = {name: abilities(role) for name, role in of_type("AWS::IAM::Role").items()}
    assert {name for name, found in roles.items() if "AskRunsPolicy" in found} == {"PlanTransferRole"}
    examined = [
        s["Resource"] for name, s in policies() if name == "ExamineTurnsPolicy" and "states:" in str(s["Action"])
    ]
    assert [one["Fn::Sub"].rpartition(":")[2] for one in examined] == ["doctor"], "of no run"
    turns = {name for name, found in roles.items() if "TurnsPolicy" in found}
    assert turns == {"PlanTransferRole", "SummariseTransferRole"}
    asks = {actions(s)[0]: s["Resource"] for name, s in policies() if name == "AskRunsPolicy"}
    locks, runs = [s for name, s in policies() if name == "TurnsPolicy"]
    asks |= {actions(runs)[0]: runs["Resource"]}
    assert asks.pop("lambda:GetAccountSettings") == "*"
    assert "ReadBucketArns" in str(asks.pop("s3:ListBucketMultipartUploads"))
    assert "WriteBucketArns" in str(asks.pop("s3:GetBucketOwnershipControls"))
    assert "seals/*" in str(asks.pop("s3:GetObject"))
    [(asked, scope)] = asks.items()
    assert asked == "states:DescribeExecution" and scope["Fn::Sub"].endswith(":execution:${Name}-transfer:*")
    assert locks["Resource"] == {"Fn::Sub": "arn:${AWS::Partition}:s3:::${WorkBucketName}/locks/*"}


def test_who_has_to_know_of_an_execution_may_ask_about_those_of_its_own_state_machine() -> None:
    """By the table of steps: a step whose evidence Step Functions has, and whose function could not ask."""
    asked, at = (
        {name: s["Resource"]["Fn::Sub"] for name, s in policies() if actions(s) == [f"states:{one}"]}
        for one in ("DescribeExecution", "GetExecutionHistory")
    )
    by_name = {"transfer": "${Name}-transfer", "probe": "${Name}-${LogPrefix}Probe"}
    asking = {one.function: one for one in STEPS.values() if one.evidence in (Evidence.REQUEST, Evidence.EXECUTION)}
    assert asking.keys() >= {"PlanTransfer", "SummariseTransfer", "PlanProbe", "SummariseProbe"}
    for function, step in asking.items():
        machine = by_name["probe" if step.use_case.startswith("probe.") else "transfer"]
        held = abilities(of_type("AWS::IAM::Role")[f"{function}Role"])
        closes = step.evidence is Evidence.EXECUTION
        for may, times in ((asked, 1), (at, int(closes))):
            assert [may[one].rpartition("execution:")[2] for one in held if one in may] == [f"{machine}:*"] * times
        named = functions()[f"{function}Function"]["Environment"]["Variables"]["FANOUT_STATE_MACHINE"]["Fn::Sub"]
        assert named.replace("AWS::StackName", "Name").rpartition("stateMachine:")[2] == machine
    probe = resources()["ProbeStateMachine"]["Properties"]["StateMachineName"]
    assert probe == {"Fn::Sub": by_name["probe"]}


def test_only_the_function_that_asks_may_have_objects_restored() -> None:
    """A restored copy costs money; the function is not one that a Map starts many times."""
    roles = {name: abilities(role) for name, role in of_type("AWS::IAM::Role").items()}
    assert {name for name, found in roles.items() if "RestoreObjectsPolicy" in found} == {"FinishTreeRole"}


def test_every_policy_is_a_function_s() -> None:
    used = set().union(*(set(abilities(role)) for role in of_type("AWS::IAM::Role").values()))
    assert used == set(of_type("AWS::IAM::ManagedPolicy"))


def test_a_role_of_a_function_has_no_policy_of_its_own() -> None:
    roles = {function["Role"]["Fn::GetAtt"][0] for function in functions().values()}
    for role in roles:
        assert "Policies" not in resources()[role]["Properties"]


@pytest.mark.parametrize("name", sorted(of_type("AWS::IAM::Role")))
def test_every_role_is_bounded_and_has_its_path(name: str) -> None:
    role = resources()[name]["Properties"]
    assert role["Path"] == {"Ref": "RolePath"}
    bound = {"Fn::If": ["IsBounded", {"Ref": "PermissionsBoundaryArn"}, {"Ref": "AWS::NoValue"}]}
    assert role["PermissionsBoundary"] == bound
    assert "RoleName" not in role


def test_no_role_has_more_policies_than_an_account_allows_by_default() -> None:
    """Ten managed policies a role (IAM/latest/UserGuide/reference_iam-quotas.html)."""
    assert max(len(abilities(role)) for role in of_type("AWS::IAM::Role").values()) <= 10
