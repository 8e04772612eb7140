"""A request as a command line: every field has an option, and what the command reads of it is the request again."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from fanout.request.command_line import NOT_OPTIONS, command_of, options
from fanout.request.course import Mode
from fanout.request.fields.checked import fields_of
from fanout.request.fields.traits import PANELS
from fanout.request.parse import Fields

ENDS = {"source": "s3://a-bucket/in/", "destination": "efs:///out"}


def test_every_field_has_an_option_of_its_own_in_a_part_of_the_help() -> None:
    assert options().keys() == {field.path for field in fields_of(Fields)} - NOT_OPTIONS
    assert len({field.option for field in options().values()}) == len(options())
    assert {field.traits.panel for field in options().values()} == set(PANELS)


@pytest.mark.parametrize(
    ("request_", "mode", "line"),
    [
        (ENDS, None, "fanout copy s3://a-bucket/in/ efs:///out"),
        ({**ENDS, "mode": "sync"}, None, "fanout sync s3://a-bucket/in/ efs:///out"),
        ({**ENDS, "mode": "plan"}, Mode.COPY, "fanout copy s3://a-bucket/in/ efs:///out"),
        ({**ENDS, "exclude": ["*.tmp", "-x"]}, None, "fanout copy {} --exclude '*.tmp' --exclude=-x"),
        ({**ENDS, "limits": {"bytes_per_second": "5 MiB"}}, None, "fanout copy {} --rate '5 MiB'"),
        ({**ENDS, "certificate": True, "allow_empty_source": False}, None, "fanout copy {} --certificate"),
        ({**ENDS, "object_tags": {"a": "b c"}}, None, "fanout copy {} --tag 'a=b c'"),
        ({**ENDS, "mode": "plan", "delete_guard": {"max_count": 3}}, Mode.SYNC, "fanout sync {} --max-delete 3"),
        ({**ENDS, "mode": "plan", "delete_guard": {"max_count": 3}}, Mode.COPY, "fanout copy {}"),
        ({**ENDS, "exclud": ["*"]}, None, ""),
        ({**ENDS, "mode": "rollback"}, None, ""),
        ({**ENDS, "mode": []}, None, ""),
        ({"source": 7}, None, ""),
        ([], None, ""),
    ],
)
def test_the_line_of_a_request(request_: Any, mode: Mode | None, line: str) -> None:
    said = command_of(request_, mode)
    assert said == line.format("s3://a-bucket/in/ efs:///out")
    assert shlex.split(said)[:1] == (["fanout"] if line else [])
