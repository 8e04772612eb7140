"""Each name that a document gives and that becomes a part of a path or a key is one plain name, by its type."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from msgspec import Struct, convert

import fanout
from fanout.ledger import keys
from fanout.ledger.documents import document_of, document_row
from fanout.model.entry import Entry, Kind
from fanout.model.errors import LedgerBroken
from fanout.model.path_rules import PlainName, PlainNameOrNone
from fanout.model.shard import BigFile
from tests.support.flow import World

# A request has rules of its own, which a plan's is decoded by too.
_NO_DOCUMENTS = (
    *("adapters", "report", "runtime", "flow", "forecast", "efs.phase_cost", "efs.load", "work.context"),
    *(
        "ports.aws",
        "ports.finding",
        "request.options",
        "request.request",
        "request.parse",
        "request.fields.traits",
        "probe.request",
    ),
    *("books.step", "books.next_step", "books.failures", "shards.tasks.activity", "verifying.differences"),
)
# What the fields of documents hold that is no name, by the name of the field.
_WORDS = """
acl action after algorithm allowed archive arn asked assumptions began behind big_files bucket carried certified
checksum client columns copy crc64nvme crowds cut delete_refused destination destination_digest destination_tree_digest
difference differing_directories directories directory document elsewhere end ended error etag etags examples
exclude execution extras failures field fields file_system_id file_systems files files_above first format
headers held identity ids include inode inode_there issued job_id key keys kind kms_key_id lanes last left
left_out limitation links location looked_up made manifest marks matched message metadata mode modes mount
mounts names notes outcome_files path performance_mode phase pin pins place plan prefix proofs public_key ready
reason refused regions replaces reports request said seconds secret sequencer sha256 signature signing_key sizes
source source_digest source_tree_digest spec staged status storage_class sums tags target totals transfer
tree_digest unit unlisted unread unreadable until warnings what why why_not work work_bucket zone
"""
_TEXT = frozenset(_WORDS.split())
# Fields with the name of one that is a name, and that are something else.
_NO_NAMES = {
    "Origin.version": "the product's version, for people",
    "Versioned.version": "the ETag of an object",
    "CertifiedRun.id": "for people, in the certificate",
    "CertifiedRun.version": "the product's",
    "JobAsked.token": "asked of S3, never read",
    "Stored.version": "of an object in S3",
    "ObjectLook.version": "of an object in S3",
    "PlanEvent.functions": "the function of the caller that names them",
    "_Object.version": "of an object in S3",
    "DestinationListing.published": "checksums by path",
    "Found.others": "attributes of an entry",
    "RunError.name": "of an error",
    "Presence.name": "of a task, in the name of a key that was read",
    "Turn.concurrent": "made of what was decoded",
    "WriteTurns.ahead": "made of what was decoded",
    "SecondLook.links": "made of what was decoded",
}


def structures() -> Iterator[type[Struct]]:
    for module in pkgutil.walk_packages(fanout.__path__, "fanout."):
        importlib.import_module(module.name)
    waiting: list[type[Struct]] = [Struct]
    while waiting:
        found = waiting.pop().__subclasses__()
        waiting += found
        yield from (one for one in found if one.__module__.startswith("fanout."))


def strings(hint: Any) -> Iterator[Any]:
    """The types of strings in a type, with what they are annotated with."""
    if hint is str or (hasattr(hint, "__metadata__") and get_args(hint)[0] is str):
        yield hint
    elif get_origin(hint) is not None or get_args(hint):
        for one in get_args(hint):
            yield from strings(one)


@cache
def fields() -> list[tuple[str, Any]]:
    """Each field of a document that holds strings, as ``Structure.field``, with the type of the strings."""
    found = []
    for one in structures():
        if one.__module__.removeprefix("fanout.").startswith(_NO_DOCUMENTS):
            continue
        hints = get_type_hints(one, include_extras=True)
        found += [(f"{one.__name__}.{name}", hint) for name in one.__struct_fields__ for hint in strings(hints[name])]
    return found


def is_plain(hint: Any) -> bool:
    return hint in (PlainName, PlainNameOrNone)


def test_each_field_of_each_document_is_a_plain_name_or_is_known_to_be_none() -> None:
    unknown = [
        field
        for field, hint in fields()
        if not is_plain(hint) and not hasattr(hint, "__metadata__")
        if field.partition(".")[2] not in _TEXT and field not in _NO_NAMES
    ]
    assert unknown == [], "give each the type PlainName, or say here what it is"


def test_what_is_said_of_no_names_is_of_fields_that_are_there() -> None:
    assert _NO_NAMES.keys() <= {field for field, _ in fields()}


BAD = ["", ".", "..", "/", "/etc/passwd", "a/b", "../a", "a/", "a\0b", "\0"]


@pytest.mark.parametrize("name", BAD)
def test_a_name_that_is_none_is_refused_where_it_is_decoded(name: str) -> None:
    with pytest.raises(ValueError, match="matching regex"):
        convert(name, PlainName)
    if name:
        with pytest.raises(ValueError, match="matching regex"):
            convert(name, PlainNameOrNone)


@pytest.mark.parametrize("name", ["a", "...", "..a", ".a", "a b", "a\nb", "ü" * 300, "-", "2~x.y_z"])
def test_every_other_name_is_taken(name: str) -> None:
    assert convert(name, PlainName) == convert(name, PlainNameOrNone) == name


@pytest.mark.parametrize("token", [one for one in BAD if one])
def test_a_forged_token_of_a_big_file_is_broken_before_any_adapter_sees_it(token: str) -> None:
    world = World()
    world.plan()
    big = BigFile("big", Entry("a", Kind.FILE, 1, 1, 1, '"e"'), 1, token)
    world.ledger.write(keys.big_file_key.at("big.json"), big)
    with pytest.raises(LedgerBroken, match=r"big\.json is not whole .*token"):
        world.ledger.read_big_file("big.json")
    with pytest.raises(ValueError, match="token"):
        document_of(document_row(big), BigFile)
