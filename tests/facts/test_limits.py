"""The limits of ``facts``, each held against the line of the service model that states it, where one does."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, get_args, get_type_hints

import pytest

from fanout.books.summary_document import Status
from fanout.certificate.document import ALGORITHM, KEY_SPEC
from fanout.facts import archives, aws, units
from fanout.facts.units import GIB, MIB
from fanout.model.checksum import ALGORITHMS
from fanout.model.file_system import ThroughputMode
from fanout.request.object_options import USER_PREFIX
from fanout.request.parse import Fields, StorageClass
from fanout.request.parts.restore import Tier
from tests.facts.models import REPO, line, member, model, words


@dataclass(frozen=True)
class Bound:
    """``max`` of a member of an operation's input."""

    service: str
    operation: str
    path: str

    def most(self) -> tuple[float, str]:
        shape = member(self.service, self.operation, self.path)
        return shape.metadata["max"], line(self.service, shape)


@dataclass(frozen=True)
class Said:
    """A number in the model's documentation of an operation, or of a member of its input."""

    service: str
    operation: str
    pattern: str
    path: str = ""
    unit: int = 1

    def most(self) -> tuple[float, str]:
        found = member(self.service, self.operation, self.path) if self.path else None
        text = words(
            found.documentation if found else model(self.service).operation_model(self.operation).documentation
        )
        said = re.search(self.pattern, text)
        assert said is not None, f"{self.service} {self.operation} {self.path} no longer says {self.pattern!r}: {text}"
        return float(said.group(1).replace(",", "")) * self.unit, said.group(0)


# S3 writes MB and GB for MiB and GiB.
STATED: dict[str, Bound | Said] = {
    "FUNCTION_SECONDS_MOST": Said(
        "lambda", "CreateFunction", r"the maximum allowed value is ([\d,]+) seconds", "Timeout"
    ),
    "FUNCTION_MEMORY_MB_MOST": Bound("lambda", "CreateFunction", "MemorySize"),
    "STATE_BYTES": Bound("stepfunctions", "StartExecution", "input"),
    "EXECUTION_NAME_CHARACTERS": Bound("stepfunctions", "StartExecution", "name"),
    "DEFINITION_BYTES": Bound("stepfunctions", "CreateStateMachine", "definition"),
    "MULTIPART_PARTS": Said("s3", "UploadPart", r"from 1 to ([\d,]+), inclusive"),
    "MULTIPART_PART_BYTES_MIN": Said("s3", "CompleteMultipartUpload", r"at least (\d+) MB in size", unit=MIB),
    "COPY_OBJECT_BYTES": Said("s3", "CopyObject", r"up to (\d+) GB in size in a single atomic action", unit=GIB),
    "DELETE_OBJECTS": Said("s3", "DeleteObjects", r"up to ([\d,]+) keys"),
    "LIST_PAGE_KEYS": Said("s3", "ListObjectsV2", r"\(up to ([\d,]+)\) of the objects"),
}
# Stated by a page of AWS alone, which ``facts/aws.py`` names beside each; no model has them.
OF_PAGES = {
    *("FUNCTION_SECONDS", "FUNCTION_MEMORY_MB", "LAMBDA_FILE_DESCRIPTORS", "LAMBDA_NETWORK_BYTES_PER_SECOND"),
    *("HISTORY_EVENTS", "MAP_CONCURRENCY", "MAP_ITEMS", "MAP_CHILDREN_PER_SECOND", "READER_BYTES"),
    *("SCHEDULE_INPUT_BYTES", "KEY_BYTES", "DATASYNC_BASIC_ITEMS", "S3_GET_PER_SECOND", "S3_PUT_PER_SECOND"),
    *("NAME_BYTES", "SYMLINK_TARGET_BYTES", "DIRECTORY_DEPTH", "HARD_LINKS", "EFS_WRITE_SECONDS"),
    *("EFS_BASELINE_PER_TIB", "EFS_BASELINE_LEAST", "EFS_BURST_PER_TIB", "EFS_BURST_LEAST", "EFS_CREDITS_PER_TIB"),
    *("EFS_LEAST_METERED", "EFS_LEAST_BILLED", "EFS_READ_SHARE", "LAYER_BYTES", "UPLOAD_BYTES"),
}


@pytest.mark.parametrize("fact", STATED)
def test_a_limit_is_what_the_model_states(fact: str) -> None:
    most, stated = STATED[fact].most()
    assert getattr(aws, fact) == most, f"facts/aws.py has {fact} = {getattr(aws, fact)}; {stated}"


def test_every_limit_is_stated_by_a_model_or_by_a_page_alone() -> None:
    numbers = {name for name, value in vars(aws).items() if name.isupper() and isinstance(value, int | float)}
    assert numbers - vars(units).keys() == STATED.keys() | OF_PAGES


def test_what_every_region_takes_is_within_what_the_newest_takes() -> None:
    assert aws.FUNCTION_SECONDS <= aws.FUNCTION_SECONDS_MOST
    assert aws.FUNCTION_MEMORY_MB <= aws.FUNCTION_MEMORY_MB_MOST


ACLS = [word for one in get_args(get_type_hints(Fields)["object_acl"]) for word in get_args(one)]


class Words(NamedTuple):
    """Words of ours that a member of an operation's input must know."""

    ours: Iterable[str]
    service: str
    shape: str


ENUMS = {
    "throughput modes": Words(set(ThroughputMode) - {ThroughputMode.ASSUMED}, "efs", "ThroughputMode"),
    "throughput modes with rates": Words(aws.EFS, "efs", "ThroughputMode"),
    "storage classes of a request": Words(get_args(StorageClass), "s3", "StorageClass"),
    "canned ACLs of a request": Words(ACLS, "s3", "ObjectCannedACL"),
    "storage classes that are archives": Words(archives.CLASSES, "s3", "StorageClass"),
    "archive tiers": Words(archives.TIERS_OF_TIERING, "s3", "ArchiveStatus"),
    "tiers of a restoration": Words([one.value.capitalize() for one in Tier], "s3", "Tier"),
    "checksums": Words(ALGORITHMS, "s3", "ChecksumAlgorithm"),
    "checksum of a whole object": Words(["FULL_OBJECT"], "s3", "ChecksumType"),
    "algorithm of certificates": Words([ALGORITHM], "kms", "SigningAlgorithmSpec"),
    "keys of certificates": Words([KEY_SPEC], "kms", "KeySpec"),
    "ends of a run": Words(set(Status) & {"SUCCEEDED", "FAILED"}, "stepfunctions", "ExecutionStatus"),
}


@pytest.mark.parametrize("what", ENUMS)
def test_a_word_of_aws_is_one_that_the_model_knows(what: str) -> None:
    ours, service, name = ENUMS[what]
    shape = model(service).shape_for(name)
    known = set(shape.enum)  # type: ignore[attr-defined]
    assert set(ours)
    assert {str(one) for one in ours} <= known, line(service, shape)


def test_the_modes_of_file_systems_are_all_that_the_model_knows() -> None:
    """A new mode has rates that nothing here knows."""
    shape = model("efs").shape_for("ThroughputMode")
    assert set(shape.enum) == set(aws.EFS), line("efs", shape)  # type: ignore[attr-defined]


def test_the_prefix_of_user_metadata_is_the_models() -> None:
    shape = member("s3", "PutObject", "Metadata")
    assert shape.serialization["name"] == USER_PREFIX, line("s3", shape)


@pytest.mark.parametrize("machine", sorted((REPO / "statemachine").glob("*.asl.json")), ids=lambda path: path.name)
def test_a_state_machine_is_within_the_size_of_a_definition(machine: Path) -> None:
    """The ARNs that the template fills in are longer than their names, by some 100 bytes a task."""
    text = machine.read_text()
    assert len(text.encode()) + 200 * text.count("${") < aws.DEFINITION_BYTES
