"""What each function writes of the work bucket: the table, the generated template and the rendered roles are one."""

from __future__ import annotations

import json
from itertools import product

import pytest

from fanout.flow.belongs import TURNS
from fanout.flow.steps import STEPS
from fanout.ledger import keys
from fanout.runtime.doctor import PROBE_KEY
from scripts import generate_policies
from scripts import ledger_rights as rights
from scripts.generate_policies import others_of
from scripts.ledger_rights import COMPARE, INNER, KINDS, OUTSIDE, STATE_MACHINE, WRITE_DATA, WRITERS, sample_of
from tests.functions.kinds_of_runs import WORK
from tests.functions.test_roles import CONDITIONS, GIVEN, PARAMETERS
from tests.functions.test_work_bucket import WIDE
from tests.support.actions import Need
from tests.support.iam import Given, is_allowed, statements_of
from tests.template.templates import abilities, functions, policies, resources, stacks, template

# AWS: IAM/latest/UserGuide/reference_iam-quotas.html, all inline policies of a role together.
INLINE = 10_240
LONGEST = "arn:aws-us-gov:s3:::" + "b" * 63
FUNCTIONS = sorted(WRITERS[: WRITERS.index(STATE_MACHINE)] + WRITERS[WRITERS.index(STATE_MACHINE) + 1 :])


def writes(function: str, key: str, given: Given = GIVEN) -> bool:
    """Whether the role of a function may write a key of the work bucket."""
    return is_allowed(Need("s3:PutObject", f"arn:aws:s3:::{WORK}/{key}"), statements_of(f"{function}Function", given))


def test_doctor_may_try_a_key_of_kms_where_it_tries_the_bucket() -> None:
    assert all(writes("ExamineNetwork", key) for key in (PROBE_KEY, f"{PROBE_KEY}-kms"))
    assert not writes("ExamineNetwork", "runs/mine/probe-kms")


def expected(function: str) -> set[str]:
    """The samples of the table that a function writes, in the ledger of a run, inside it, and beside the runs."""
    found = {sample_of(one) for one, writers in (KINDS | OUTSIDE).items() if function in writers}
    if function in COMPARE:
        found |= {sample_of(one, inner=True) for one in rights.written_by(function) if one.startswith("runs/*/")}
    return found


def samples() -> set[str]:
    """Every kind of object, in the ledger of a run and in the one inside it."""
    ledgers = {sample_of(one, inner) for one, inner in product(KINDS, (False, True)) if one.startswith("runs/*/")}
    return ledgers | {sample_of(one) for one in KINDS | OUTSIDE}


def test_the_template_is_the_one_that_the_table_makes() -> None:
    assert generate_policies.TEMPLATE.read_text(encoding="utf-8") == generate_policies.template(), "make docs"
    assert {f"{one}Function" for one in FUNCTIONS} == set(functions())


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_writes_what_the_table_says_and_nothing_else(function: str) -> None:
    allowed = {one for one in samples() if writes(function, one)}
    plan = {f"runs/x/{INNER.removeprefix('runs/*/')}plan.json"} & allowed
    assert plan == ({f"{sample_of(INNER)}plan.json"} if function == "BeginVerification" else set())
    assert allowed - plan == {one for one in expected(function) if "verification/verification" not in one} - plan


def test_who_changes_an_end_sees_whose_turn_it_is_and_nobody_else() -> None:
    need = Need("s3:GetObject", f"arn:aws:s3:::{WORK}/locks/mounts/data.json")
    sees = {one for one in FUNCTIONS if is_allowed(need, statements_of(f"{one}Function", WIDE))}
    assert {STEPS[state].function for state in TURNS} | {"CheckMount", "ShortWay"} == sees - set(rights.WRITE_TURNS)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_parameter_that_matches_the_work_bucket_gives_no_kind_of_the_ledger_beside(function: str) -> None:
    gained = {one for one in samples() if writes(function, one, WIDE) and not writes(function, one)}
    # What cannot be denied, since the pattern matches something of its own too: notes/index.json, outcomes/shards/ ...
    left = {f"runs/x/{one}" for one in ("index.json", "shards/x", "directories/x", "big-files/x")}
    assert {one.replace("verification/", "") for one in gained if one.startswith("runs/")} <= left


def test_the_state_machine_writes_the_results_of_its_maps_alone() -> None:
    written = [s["Resource"] for name, s in policies() if name == "TransferRole" and "s3:PutObject" in s["Action"]]
    assert written == [{"Fn::Sub": "${WorkBucket.Arn}/runs/*/map-results/*"}]


def test_who_may_write_data_is_denied_every_kind_that_is_not_its_own() -> None:
    data = {"WriteObjectsPolicy", "BeginUploadsPolicy", "ShortWayPolicy"}
    holders = {one for one in FUNCTIONS if data & abilities(resources()[f"{one}Role"]).keys()}
    assert holders == set(WRITE_DATA)


def test_each_policy_is_given_to_the_role_of_its_function() -> None:
    given = stacks()["Ledger"][1]
    for group, words in generate_policies.GROUPS.items():
        for number, word in enumerate(words):
            roles = resources()[f"{word}LedgerPolicy"]["Properties"]["Roles"]
            assert roles[0] == {"Fn::Select": [number, {"Fn::Split": [",", {"Ref": group}]}]}
            assert _role_names(given[group])[number] == f"{word}Role"
            others = others_of(group, word).items()
            assert roles[1:] == [
                {
                    "Fn::If": [
                        condition,
                        {"Fn::Select": [number, {"Fn::Split": [",", {"Ref": name}]}]},
                        {"Ref": "AWS::NoValue"},
                    ]
                }
                for name, condition in others
            ]


def _role_names(value: object) -> list[str]:
    """The names of roles in a parameter of the nested stack, in order."""
    text = json.dumps(value)
    for stack, (path, _) in stacks().items():
        for name, output in template(path).get("Outputs", {}).items():
            text = text.replace(json.dumps({"Fn::GetAtt": [stack, f"Outputs.{name}"]}), json.dumps(output["Value"]))
    return [one for one in text.replace('"', " ").replace("}", " ").split() if one.endswith("Role")]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_policy_fits_with_the_longest_name_of_a_bucket(function: str) -> None:
    given = Given(PARAMETERS | {"WorkBucketArn": LONGEST}, CONDITIONS)
    document = given.value(resources()[f"{function}LedgerPolicy"]["Properties"]["PolicyDocument"])
    assert len(json.dumps(document, separators=(",", ":"))) <= INLINE


@pytest.mark.parametrize(
    ("function", "key", "gain"),
    [
        ("CopyShard", "runs/r/plan.json", "another destination"),
        ("CopyShard", "runs/r/summary.json", "a run that failed has succeeded"),
        ("CopyShard", "runs/r/failures.jsonl", "a retry copies what the attacker names"),
        ("CopyShard", "runs/r/certificate.json", "a certificate in the place of the signed one"),
        ("CopyShard", "runs/r/map-results/copy/x/manifest.json", "results of shards that nobody copied"),
        ("CopyShard", "runs/indexes/other.json", "another transfer takes files for unchanged"),
        ("CopyShard", "runs/versions/other.json", "a version of another tree for people"),
        ("CopyShard", "runs/r/outcomes/shards/verified-1/x.json", "its own copy, verified by itself"),
        ("CopyShard", "runs/r/verification/outcomes/shards/1/x.json", "the same, where both trees are listed again"),
        ("CopyShard", "runs/r/deletions/looks/1.json", "the source was looked at before a deletion"),
        ("ListSegment", "runs/r/outcomes/shards/1/x.json", "entries that count as copied"),
        ("ListSegment", "runs/r/fencing/withdrawn.json", "the turn of a run that still writes is given away"),
        ("RemoveDirectories", "runs/r/fencing/finished.json", "a tree is finished that FinishTree has not seen"),
        ("FinishShard", "runs/r/fencing/finished.json", "the same"),
        ("FinishTree", "runs/r/removed-directories.json", "a deletion has ended that RemoveDirectories left"),
        ("DeleteShard", "runs/r/deletions.json", "more is deleted than the guard saw"),
        ("VerifyShard", "runs/batches/b.jsonl", "a manifest of another batch"),
        ("VerifyShard", "runs/r/made/61/62/n-0001.jsonl.gz", "files of a version that nobody made"),
        ("RunExperiment", "runs/p/probe.json", "the rates that plans reckon with"),
        ("RunExperiment", "probes/fs-1/latest.json", "the same, of the newest probe"),
        ("StartBatch", "runs/r/request.json", "the request of another run, for its retry"),
        ("PaceCopy", "runs/r/limits.json", "the limits that an operator set"),
        ("RecordShardFailure", "runs/r/outcomes/shards/1/n.json", "sums of a tree that nobody compared"),
        ("VerifyShard", "runs/r/deletions/0001-000000-n2.jsonl.gz", "a sync deletes what the guard did not count"),
        ("ListSegment", "runs/r/deletions/move-1-n-files.jsonl.gz", "a move deletes what nobody compared"),
        ("PlanTransfer", "runs/r/outcomes/shards/1/plan.json", "a document of a name that it writes, elsewhere"),
    ],
)
def test_a_function_that_is_taken_over_cannot_write_what_others_believe(function: str, key: str, gain: str) -> None:
    assert not writes(function, key), gain


def test_what_lies_in_the_work_bucket_expires() -> None:
    rules = resources()["WorkBucket"]["Properties"]["LifecycleConfiguration"]["Rules"]
    days = {rule["Prefix"]: rule["ExpirationInDays"] for rule in rules if "Prefix" in rule}
    assert {one.partition("/")[0] + "/" for one in KINDS | OUTSIDE} == days.keys()
    # Step Functions: an execution lasts a year at most, and is redriven within 14 days of its end.
    assert days["locks/"] > 2 * 366 + 14


@pytest.mark.parametrize("function", ["CopyShard", "FinishTree", "FinishShard"])
def test_whoever_puts_a_file_into_a_version_may_record_it(function: str) -> None:
    """The functions that finish put the big ones together."""
    assert writes(function, f"runs/x/{keys.made_key('a', 'b', 'big-files-n', 0)}")
