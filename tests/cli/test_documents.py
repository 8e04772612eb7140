"""Documents that a command reads: what others wrote in their place is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanout.model.errors import InvalidRequest
from fanout_cli.arguments import read_request
from fanout_cli.command_error import CommandError
from fanout_cli.runs.work_bucket import document_in

DEEP = "[" * 200_000


@pytest.mark.parametrize("text", ['{"totals": NaN}', '{"totals": 1e400}', '{"totals":', "", "\ud800", DEEP])
def test_a_document_that_is_not_whole_is_named(text: str) -> None:
    with pytest.raises(CommandError, match=r"^runs/r/summary\.json is not whole \(.*\); start the run again"):
        document_in(text.encode("utf-8", "surrogatepass"), "runs/r/summary.json")


def test_a_document_is_its_value() -> None:
    assert document_in(b'{"a": [1, 2.5, null]}', "a") == {"a": [1, 2.5, None]}


def test_a_request_that_is_nested_without_an_end_is_no_request(tmp_path: Path) -> None:
    path = tmp_path / "request.json"
    path.write_text(DEEP)
    with pytest.raises(InvalidRequest, match="is not JSON"):
        read_request(path)
