"""What cannot be published is refused by name, with what to do instead."""

from __future__ import annotations

from typing import Any

import pytest

from fanout.model.errors import InvalidRequest
from fanout.request.parse import parse_request
from fanout.request.request import Request

BASE = {"source": "s3://a-bucket/in/", "destination": "efs:///site", "publish": {"link": "current"}}
BACK = {**BASE, "mode": "rollback", "source": "efs:///site/versions/v1"}


def parsed(fields: dict[str, Any]) -> Request:
    return parse_request({**BASE, **fields}, ("data", "more"), 10)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"source": "efs:///in", "destination": "s3://a-bucket/out/"},
            r"publish: the destination s3://a-bucket/out/ is a bucket, which has no symlinks; .*turn on the bucket's"
            r" versioning",
        ),
        ({"source": "efs://more/in"}, r"publish: the ends efs://more/in and efs://data/site lie on two file systems"),
        (
            {"mode": "sync"},
            r"publish: a sync deletes at the destination, .*; with mode sync: mode copy",
        ),
        ({"mode": "verify"}, r"publish: a verification publishes nothing; with mode verify: leave it out"),
        ({"manifest": "s3://a-bucket/list.csv"}, r"manifest: a version is a whole tree"),
        ({"overwrite": "never"}, r"overwrite: in a new version there is nothing to keep"),
        ({"compare": "checksum"}, r"compare: an entry is linked where its source is as it was"),
        # A link that leads out of the tree, or has a name that the versions need.
        ({"publish": {"link": "../current"}}, r"publish\.link: "),
        ({"publish": {"link": "a/b"}}, r"publish\.link: "),
        ({"publish": {"link": "/etc"}}, r"publish\.link: "),
        ({"publish": {"link": ".."}}, r"publish\.link: "),
        ({"publish": {"link": "versions"}}, r"publish\.link: "),
        ({"publish": {"link": ""}}, r"publish\.link: "),
        ({"publish": {"link": "current", "keep": 0}}, r"publish\.keep: "),
        ({"publish": {"link": "current", "keep": 101}}, r"publish\.keep: "),
        ({"publish": {"link": "current", "keep_hours": -1}}, r"publish\.keep_hours: "),
        ({"publish": {}}, r"publish\.link: "),
        ({**BACK, "publish": None}, r"publish: is missing: mode rollback needs the link to switch"),
        ({**BACK, "source": "efs:///other/versions/v1"}, r"source: efs://data/other/versions/v1 is no version of"),
        ({**BACK, "source": "efs:///site/versions/../x"}, r"source: "),
        ({**BACK, "source": "efs:///site/versions/.removed-v1"}, r"source: .* is no version of"),
        ({**BACK, "source": "efs:///site/versions/v1/d"}, r"source: .* is no version of"),
        ({**BACK, "source": "efs://more/site/versions/v1"}, r"source: .* is no version of"),
        ({**BACK, "source": "s3://a-bucket/site/versions/v1/"}, r"source: .* is no version of"),
    ],
)
def test_it_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        parsed(fields)


def test_the_defaults_and_a_rollback() -> None:
    publish = parsed({}).publish
    assert publish is not None
    assert (publish.link, publish.keep, publish.keep_hours) == ("current", 5, 0.0)
    assert parsed({"source": "efs:///in"}).publish == publish
    assert str(parsed(BACK).source) == "efs://data/site/versions/v1"
