"""What the policies allow, and whom."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from fanout.certificate.document import ALGORITHM, KEY_SPEC
from fanout.ledger import run_places
from fanout.pacing.pace_copy import LABEL
from tests.template.templates import (
    EVERY,
    MOUNTED,
    Resource,
    abilities,
    actions,
    of_type,
    policies,
    resources,
    roles_with,
    template,
)


def allowing() -> Iterator[tuple[str, Resource]]:
    """The statements that allow something, with their policies."""
    return ((name, statement) for name, statement in policies() if statement["Effect"] == "Allow")


def test_no_permission_has_a_wildcard_in_its_action() -> None:
    allowed = [(name, actions(s)) for name, s in allowing()]
    assert allowed
    assert [found for found in allowed if any("*" in action for action in found[1])] == []


def test_every_resource_is_meant_only_where_no_other_can_be_named() -> None:
    # The policies of interface endpoints name actions and the account: tests/template/test_all_in_vpc.py.
    endpoints = set(of_type("AWS::EC2::VPCEndpoint")) - {"S3Endpoint"}
    free = {
        action
        for name, s in policies()
        if s["Effect"] == "Allow" and s.get("Resource") == "*" and name not in endpoints
        for action in actions(s)
    }
    services = {action.split(":")[0] for action in free}
    # Those with KMS are the key's own policy, in which the key is the only resource.
    assert services == {"xray", "ec2", "logs", "s3", "kms", "cloudwatch", "lambda"}
    assert {name for name, s in policies() if s.get("Resource") == "*" and actions(s)[0].startswith("kms:")} == {
        "NotificationKey",
        "CertificateKey",
        "KeysEndpoint",
    }
    # With S3 they are the endpoint's, which has a condition, and CreateJob, which knows no resource.
    assert {name for name, s in allowing() if s.get("Resource") == "*" and actions(s)[0].startswith("s3:")} == {
        "S3Endpoint",
        "AskJobsPolicy",
    }


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.stem)
def test_every_statement_has_its_reason_beside_it(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    bare = [
        number + 1
        for number, line in enumerate(lines)
        if line.strip().startswith("- Effect:") and not _explained(lines, number)
    ]
    assert bare == []


def _explained(lines: list[str], number: int) -> bool:
    """Whether a comment stands above a statement, or above the choice between two that it belongs to."""
    indent = len(lines[number]) - len(lines[number].lstrip())
    outer = next(n for n in range(number - 1, -1, -1) if lines[n].strip() and not lines[n].startswith(" " * indent))
    first = outer if lines[outer].strip() == "- !If" else number
    return lines[first - 1].strip().startswith("#")


def test_only_functions_that_write_the_file_system_may() -> None:
    writing = ("CheckMount", "CopyShard", "FinishTree", "FinishShard", "DeleteShard", "RemoveDirectories", "ShortWay")
    assert roles_with("MountWritePolicy") == {f"{name}Role" for name in writing}
    assert roles_with("ProbeMountPolicy") == {"OpenProbeRole", "RunExperimentRole", "CloseProbeRole"}
    assert roles_with("ExamineMountPolicy") == {"ExamineNetworkRole"}
    assert roles_with("MountReadPolicy") == {"ListSegmentRole", "VerifyShardRole"}
    writes = {(name, s["Effect"]) for name, s in policies() if "ClientWrite" in str(s.get("Action"))}
    assert writes == {
        ("MountWritePolicy", "Allow"),
        ("ProbeMountPolicy", "Allow"),
        ("ExamineMountPolicy", "Allow"),
        ("FileSystem", "Deny"),
    }


def test_a_mount_that_is_only_read_lets_no_function_write() -> None:
    for name, statement in policies():
        if name in ("MountWritePolicy", "ProbeMountPolicy", "ExamineMountPolicy") and "Condition" in statement:
            (service,) = {action.partition(":")[0] for action in actions(statement)}
            assert {"Fn::If": ["Writes", f"{service}:ClientWrite", {"Ref": "AWS::NoValue"}]} in statement["Action"]


@pytest.mark.parametrize("name", ["MountReadPolicy", "MountWritePolicy", "ProbeMountPolicy", "ExamineMountPolicy"])
def test_a_mount_is_of_efs_or_of_s3_files_and_through_its_access_point(name: str) -> None:
    found = [statement for owner, statement in policies() if owner == name]
    files, efs = found[:2]
    words = [action.replace("elasticfilesystem:", "s3files:") for action in actions(efs)]
    assert words == actions(files)
    for service, statement in (("s3files", files), ("elasticfilesystem", efs)):
        assert statement["Condition"] == {"StringEquals": {f"{service}:AccessPointArn": {"Ref": "AccessPointArn"}}}
        assert f":{service}:" in statement["Resource"]["Fn::Sub"]
    direct = {
        "Effect": "Allow",
        "Action": ["s3:GetObject", "s3:GetObjectVersion"],
        "Resource": {"Fn::Split": [",", {"Ref": "DirectReadArns"}]},
    }
    assert found[2:] == ([] if name in ("ProbeMountPolicy", "ExamineMountPolicy") else [direct])


@pytest.mark.parametrize("end", ["Read", "Write"])
def test_what_may_be_listed_and_touched_is_limited_where_a_parameter_says_so(end: str) -> None:
    lists = [s for name, s in policies() if name == "ListBucketsPolicy" and f"{end}BucketArns" in str(s["Resource"])]
    prefixes = {"StringLike": {"s3:prefix": {"Fn::Split": [",", {"Ref": f"{end}Prefixes"}]}}}
    assert [s["Condition"]["Fn::If"][:2] for s in lists] == [[f"Limits{end}Prefixes", prefixes]]
    objects = {
        "Read": ["ReadObjectsPolicy"],
        "Write": ["WriteObjectsPolicy", "ReadBackPolicy", "DeleteObjectsPolicy", "BeginUploadsPolicy"],
    }
    limited = {"Fn::Split": [",", {"Ref": f"{end}ObjectArns"}]}
    for name in objects[end]:
        scopes = [s["Resource"]["Fn::If"][:2] for owner, s in allowing() if owner == name]
        assert scopes and all(scope == [f"Limits{end}Objects", limited] for scope in scopes)
    tags = [s["Resource"]["Fn::If"] for owner, s in policies() if owner == "CopyTagsPolicy"]
    assert [scope[1] for scope in tags if scope[0] == f"Limits{end}Objects"] == [limited] * (1 if end == "Read" else 2)


def test_what_plans_measures_and_only_the_file_systems_of_the_stack() -> None:
    assert roles_with("MeasurePolicy") == {"PlanTransferRole", "PlanProbeRole"}
    scopes = {actions(s)[0]: s["Resource"] for name, s in policies() if name == "MeasurePolicy"}
    assert scopes == {
        "elasticfilesystem:DescribeFileSystems": {"Fn::Split": [",", {"Ref": "FileSystemArns"}]},
        "s3files:GetFileSystem": {"Fn::Split": [",", {"Ref": "S3FilesArns"}]},
        "cloudwatch:GetMetricData": "*",
    }


def test_the_ledger_is_read_with_one_permission_and_lies_where_it_expires() -> None:
    """What a function writes of it: tests/template/test_ledger_rights.py."""
    work = "arn:${AWS::Partition}:s3:::${WorkBucketName}/runs/*"
    allowed = {
        (name, action) for name, s in allowing() if s.get("Resource") == {"Fn::Sub": work} for action in actions(s)
    }
    assert allowed == {("LedgerPolicy", "s3:GetObject")}
    for name in run_places.RESERVED:
        assert run_places.run_prefix(name) == f"runs/{name}/"  # so that it expires with the runs, too


def test_what_plans_reads_the_results_that_one_function_writes() -> None:
    results = {"Fn::Sub": "arn:${AWS::Partition}:s3:::${WorkBucketName}/probes/*"}
    allowed = {(name, action) for name, s in policies() if s.get("Resource") == results for action in actions(s)}
    assert allowed == {("ReadProbesPolicy", "s3:GetObject"), ("ProbeResultPolicy", "s3:PutObject")}
    assert roles_with("ProbeResultPolicy") == {"SummariseProbeRole"}
    assert roles_with("ReadProbesPolicy") == {"PlanTransferRole"}


def test_who_paces_moves_the_map_that_copies_and_no_other() -> None:
    assert roles_with("PacePolicy") == {"PaceCopyRole"}
    held = {action: s["Resource"] for name, s in policies() if name == "PacePolicy" for action in actions(s)}
    assert held.pop("cloudwatch:GetMetricData") == "*"
    scopes = {action: resource["Fn::Sub"] for action, resource in held.items()}
    assert scopes["states:UpdateMapRun"] == scopes["states:DescribeMapRun"]
    assert scopes["states:UpdateMapRun"].endswith(f":mapRun:${{Name}}-transfer/{LABEL}:*")
    assert scopes["states:ListMapRuns"].endswith(":execution:${Name}-transfer:*")


def test_only_what_deletes_may_delete_objects_of_a_tree_and_it_can_not_write_any() -> None:
    deleting = {name for name, s in policies() if s["Effect"] == "Allow" and "s3:DeleteObject" in actions(s)}
    assert deleting == {"DeleteObjectsPolicy", "S3Endpoint", "StagedPolicy", "UnstagePolicy"}
    assert roles_with("ShortWayPolicy") == {"ShortWayRole"}
    # RemoveDirectories: a move from a bucket deletes the objects of its directories last.
    assert roles_with("DeleteObjectsPolicy") == {"DeleteShardRole", "RemoveDirectoriesRole"}
    for writes in ("WriteObjectsPolicy", "ShortWayPolicy"):
        assert not {"DeleteShardRole", "RemoveDirectoriesRole"} & roles_with(writes)
    (statement,) = [s for name, s in allowing() if name == "DeleteObjectsPolicy"]
    assert set(actions(statement)) == {"s3:DeleteObject", "s3:GetObject"}


def test_what_a_copy_inside_s3_calls_is_allowed_and_may_pass_the_endpoint() -> None:
    read, tags = {"s3:GetObject"}, {"s3:GetObjectTagging", "s3:PutObjectTagging", "s3:PutObjectAcl"}
    written = {"s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts", "s3:GetObject"}
    allowed: defaultdict[str, set[str]] = defaultdict(set)
    for name, statement in policies():
        if statement["Effect"] == "Allow":
            allowed[name] |= set(actions(statement))
    assert (allowed["ReadObjectsPolicy"], allowed["WriteObjectsPolicy"]) == (read, written)
    assert allowed["CopyTagsPolicy"] == tags and roles_with("CopyTagsPolicy") == {"CopyShardRole"}
    assert read | written | tags <= allowed["S3Endpoint"]
    assert {"ReadObjectsPolicy", "WriteObjectsPolicy"} <= set(abilities(resources()["CopyShardRole"]))


def test_what_writes_may_name_one_acl_and_no_other() -> None:
    found = {name: s for name, s in allowing() if name != "S3Endpoint" and "s3:PutObjectAcl" in actions(s)}
    assert set(found) == {"CopyTagsPolicy", "BeginUploadsPolicy", "ShortWayPolicy"}
    for statement in found.values():
        assert actions(statement) == ["s3:PutObjectAcl"]
        assert statement["Condition"] == {"StringEquals": {"s3:x-amz-acl": "bucket-owner-full-control"}}


def test_kms_keys_are_those_of_the_parameter_and_only_as_s3_uses_them() -> None:
    (statement,) = [s for name, s in policies() if name == "KmsKeysPolicy"]
    assert statement["Resource"] == {"Fn::Split": [",", {"Ref": "KmsKeyArns"}]}
    condition, anywhere, here = statement["Condition"]["Fn::If"]
    assert condition == "LeavesRegion"
    assert anywhere == {"StringLike": {"kms:ViaService": {"Fn::Sub": "s3.*.${AWS::URLSuffix}"}}}
    assert here == {"StringEquals": {"kms:ViaService": {"Fn::Sub": "s3.${AWS::Region}.${AWS::URLSuffix}"}}}
    # Every HEAD asks for the checksum, and every upload has one: of an encrypted object both need its key.
    objects = ("ReadObjectsPolicy", "ReadBackPolicy", "WriteObjectsPolicy", "DeleteObjectsPolicy", "BeginUploadsPolicy")
    users = roles_with("KmsKeysPolicy")
    # The doctor tries a key of requests.
    assert users == {"ExamineNetworkRole"}.union(*map(roles_with, objects))
    assert len(users) == len({"PlanTransferRole", "ComputeChecksumsRole", "ExamineNetworkRole"}) + len(MOUNTED)


@pytest.mark.parametrize("name", ["WorkBucketPolicy", "FileSystem", "NotificationTopicPolicy", "EventQueuesPolicy"])
def test_nothing_goes_without_tls(name: str) -> None:
    denials = [s for owner, s in policies() if owner == name and s["Effect"] == "Deny"]
    assert {"Bool": {"aws:SecureTransport": "false"}} in [s.get("Condition") for s in denials]


def test_a_map_may_do_with_its_children_what_step_functions_asks_for() -> None:
    """docs.aws.amazon.com/step-functions/latest/dg/iam-policies-eg-dist-map.html names both ARNs."""
    (statement,) = (s for name, s in policies() if name == "TransferRole" and "states:StopExecution" in actions(s))
    assert actions(statement) == ["states:DescribeExecution", "states:StopExecution", "states:RedriveExecution"]
    ends = [one["Fn::Sub"].partition(":execution:")[2] for one in statement["Resource"]]
    assert ends == ["${AWS::StackName}-transfer:*", "${AWS::StackName}-transfer/*"]


def test_summarise_transfer_alone_signs_and_nobody_else_may_by_the_key() -> None:
    """The key's own policy names who signs, so that no policy of the account can add another."""
    signing = {name for name, s in policies() if s["Effect"] == "Allow" and "kms:Sign" in actions(s)}
    assert signing == {"CertificateKey", "KeysEndpoint"}
    (signer,) = [s for name, s in policies() if name == "CertificateKey" and "kms:Sign" in actions(s)]
    assert signer["Principal"] == {"AWS": {"Ref": "SignerRoleArn"}}
    # Nothing but the digest of a certificate, as the code signs it.
    condition = {"kms:SigningAlgorithm": ALGORITHM, "kms:MessageType": "DIGEST"}
    assert (actions(signer), signer["Condition"]) == (["kms:Sign", "kms:Verify"], {"StringEquals": condition})
    given = template()["Resources"]["CertificateSigning"]["Properties"]["Parameters"]
    assert given["SignerRoleArn"] == {"Fn::GetAtt": ["SummariseTransferRole", "Arn"]}


def test_a_key_for_certificates_is_made_only_where_a_parameter_asks_for_it() -> None:
    assert template()["Parameters"]["Certificates"]["Default"] == "false"
    assert template()["Resources"]["CertificateSigning"]["Condition"] == "Certifies"
    key = resources()["CertificateKey"]["Properties"]
    assert (key["KeySpec"], key["KeyUsage"]) == (KEY_SPEC, "SIGN_VERIFY")
