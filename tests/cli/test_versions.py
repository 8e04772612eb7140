"""``fanout versions`` and ``fanout rollback``."""

from __future__ import annotations

import json

import pytest

from fanout.ledger.documents import document_row
from fanout.ledger.run_places import VERSIONS, name_of
from fanout.model.books import Count
from fanout.publishing.kept_versions import PublishedTree, VersionNote
from tests.cli.conftest import Aws

MINE = ("--stack", "mine")
NOTES = [
    VersionNote("v3", "v3", 1_795_000_000.0, "s3://b/in/", Count(1_000, 5_000_000), Count(10, 2_048)),
    VersionNote("v2", "v2-again", 1_794_000_000.0, "s3://b/in/", Count(999, 4_000_000)),
    VersionNote("v1", "v1", 1_793_000_000.0, "s3://b/in/", Count(5, 1_024), Count(5, 1_024)),
]


def published(aws: Aws, version: str = "v3", mount: str = "data") -> None:
    tree = PublishedTree(f"efs://{mount}/site", "current", version, NOTES)
    aws.put(f"runs/{VERSIONS}/{name_of(tree.destination)}", document_row(tree))


def test_versions_are_listed_with_what_each_holds_and_the_published_one_has_a_star(aws: Aws) -> None:
    published(aws)
    listed = aws.fanout("versions", "efs:///site", *MINE)
    assert listed.exit_code == 0, listed.stderr
    assert listed.stdout.splitlines() == [
        "* v3\t2026-11-18T11:06:40Z\t1,000 entries, 4.77 MiB\tof its own: 10, 2 KiB\ts3://b/in/",
        "  v2\t2026-11-06T21:20:00Z\t999 entries, 3.81 MiB\tof its own: unknown\ts3://b/in/",
        "  v1\t2026-10-26T07:33:20Z\t5 entries, 1 KiB\tof its own: 5, 1 KiB\ts3://b/in/",
    ]
    document = json.loads(aws.fanout("versions", "efs://data/site/", "--json", *MINE).stdout)
    assert (document["published"], [one["version"] for one in document["versions"]]) == ("v3", ["v3", "v2", "v1"])


@pytest.mark.parametrize(("now", "asked", "expected"), [("v3", (), "v2"), ("v2", (), "v1"), ("v3", ("v1",), "v1")])
def test_a_rollback_is_a_run_that_publishes_the_version_before_or_the_one_that_is_named(
    aws: Aws, now: str, asked: tuple[str, ...], expected: str
) -> None:
    published(aws, now)
    started = aws.fanout("rollback", "efs:///site", *asked, "--detach", "--json", *MINE)
    assert started.exit_code == 0, started.stderr
    assert aws.request_of(json.loads(started.stdout)["run_id"]) == {
        "mode": "rollback",
        "source": f"efs://data/site/versions/{expected}",
        "destination": "efs://data/site",
        "publish": {"link": "current"},
    }


@pytest.mark.parametrize(
    ("now", "words", "message"),
    [
        ("v1", ("rollback", "efs:///site"), "efs://data/site has no version before v1; known are v3, v2, v1"),
        ("v3", ("rollback", "efs:///site", "v9"), "efs://data/site has no version 'v9'; known are v3, v2, v1"),
        ("v3", ("rollback", "efs:///site", "v3"), "current names version v3 already; known are v3, v2, v1"),
        ("v3", ("versions", "efs:///other"), "efs:///other has no published version, or its list expired"),
    ],
)
def test_what_cannot_be_gone_back_to_is_said_with_what_can(
    aws: Aws, now: str, words: tuple[str, ...], message: str
) -> None:
    published(aws, now)
    refused = aws.fanout(*words, *MINE)
    assert refused.exit_code == 2
    assert message in refused.stderr


def test_a_tree_to_which_nothing_was_published_says_how_to_and_one_on_two_mounts_asks_which(aws: Aws) -> None:
    refused = aws.fanout("versions", "efs:///site", *MINE)
    assert (refused.exit_code, "publish with: fanout copy SOURCE DESTINATION" in refused.stderr) == (2, True)
    published(aws)
    published(aws, mount="archive")
    refused = aws.fanout("versions", "efs:///site", *MINE)
    assert "name the mount, efs://" in refused.stderr
    assert aws.fanout("versions", "efs://archive/site", *MINE).exit_code == 0
