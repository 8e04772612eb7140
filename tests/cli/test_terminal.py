"""What a person sees of a command holds no control character, wherever a text came from."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from rich.table import Table
from typer.testing import CliRunner

from fanout.model.errors import InvalidRequest
from fanout_cli.local.errors import LocalRunError
from fanout_cli.main import app
from fanout_cli.terminal import Terminal
from tests.cli.conftest import Aws

EVIL = "\x1b[2J\r\x9b31m\u202e\u2066\x07\x7fx\udcff"
SHOWN = "\\x1b[2J\\r\\x9b31m\\u202e\\u2066\\x07\\x7fx\\xff"
MINE = ("--stack", "mine")


def assert_harmless(text: str, *, shows: str = "\\x1b[2J\\r") -> None:
    assert not [char for char in text if not char.isprintable() and char != "\n"], text
    assert shows in text


def printed(*objects: object) -> str:
    file = io.StringIO()
    Terminal(file=file, width=200).print(*objects)
    return file.getvalue()


def test_texts_cells_and_titles_are_shown_as_escapes() -> None:
    table = Table(f"head {EVIL}", title=f"title {EVIL}")
    table.add_row(f"cell {EVIL} [bold]plain[/bold] :smile:")
    text = printed(EVIL, table)
    assert_harmless(text)
    for part in (SHOWN, f"head {SHOWN}", f"title {SHOWN}", f"cell {SHOWN} [bold]plain[/bold] :smile:"):
        assert part in text


def test_an_error_is_one_line_but_for_the_end_of_a_log() -> None:
    for error, lines in ((InvalidRequest("field", "a\nb", "c"), 1), (LocalRunError(f"log:\n{EVIL}\nend"), 3)):
        file = io.StringIO()
        Terminal(file=file).say_error(error)
        assert file.getvalue().count("\n") == lines
        assert_harmless(file.getvalue(), shows="")


def test_no_module_of_the_command_prints_but_by_the_terminal() -> None:
    for path in Path("cli/fanout_cli").rglob("*.py"):
        if path.name not in ("terminal.py", "keeper.py"):
            text = path.read_text()
            assert "Console(" not in text, path
            assert "sys.stderr" not in text, path
            for line in text.splitlines():
                assert "sys.stdout.write(" not in line or "dump(" in line, line


REQUESTS = [
    {"source": f"s3://a-bucket/{EVIL}", "destination": "nowhere"},
    {"source": EVIL, "destination": "efs:///copy"},
    {"source": "s3://a-bucket/", "destination": "efs:///copy", "mode": EVIL},
    {"source": "s3://a-bucket/", "destination": "efs:///copy", EVIL: 1},
    {"source": "s3://a-bucket/", "destination": "efs:///copy", "min_size": EVIL},
    {"source": "s3://a-bucket/", "destination": "efs:///copy", "include": [f"[{EVIL}"]},
    {"source": "s3://a-bucket/", "destination": "efs:///copy", "manifest": EVIL},
]


@pytest.mark.parametrize("request_", REQUESTS)
@pytest.mark.parametrize("command", ["local", "estimate"])
def test_a_refused_request_shows_escapes(request_: object, command: str, tmp_path: Path) -> None:
    path = tmp_path / "request.json"
    path.write_text(json.dumps(request_))
    here = ["--json", "--mount", f"data={tmp_path}"]
    options = ["--entries", "1", "--bytes", "1"] if command == "estimate" else here
    answer = CliRunner().invoke(app, [command, str(path), *options])
    assert answer.exit_code == 2
    assert_harmless(answer.stderr, shows="")
    assert_harmless(answer.stdout, shows="")
    assert "\\x1b[2J" in answer.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("start", EVIL[:-1]),
        ("local", EVIL[:-1]),
        ("local", "{request}", "--mount", EVIL[:-1]),
        ("local", "{request}", "--mount", f"data={EVIL[:-1]}"),
        ("local", "{request}", "--work", EVIL[:-1]),
        ("estimate", "{request}", "--entries", "1", "--bytes", EVIL[:-1]),
        ("estimate", "{request}", "--entries", "1", "--bytes", "1", "--probe", EVIL[:-1]),
        ("up", "--mount", EVIL[:-1]),
        ("up", "--s3-load", EVIL[:-1]),
    ],
)
def test_what_was_typed_is_shown_as_escapes(arguments: tuple[str, ...], tmp_path: Path) -> None:
    request = tmp_path / "request.json"
    request.write_text('{"source": "s3://a-bucket/", "destination": "efs:///copy"}')
    answer = CliRunner().invoke(app, [one.format(request=request) if "{" in one else one for one in arguments])
    assert answer.exit_code == 2
    assert_harmless(answer.output)


@pytest.mark.parametrize("command", ["watch", "report", "entries", "stop", "retry", "limit"])
def test_the_name_of_a_run_is_shown_as_escapes(aws: Aws, command: str) -> None:
    answer = aws.fanout(command, EVIL[:-1], *MINE)
    assert answer.exit_code == 2
    assert_harmless(answer.output, shows="x1b[2J")


@pytest.mark.parametrize("command", ["watch", "report"])
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_summary_is_shown_as_escapes(aws: Aws, command: str, options: tuple[str, ...]) -> None:
    aws.start("run-1", "FailedWithItems")
    aws.summary("run-1", "FAILED_WITH_ITEMS", listed=2, failed=2)
    key = "runs/run-1/summary.json"
    document = json.loads(aws.client("s3").get_object(Bucket="work-bucket", Key=key)["Body"].read())
    evil = {"error": {"name": "FailedWithItems", "message": EVIL}, "warnings": [EVIL]}
    aws.put(key, {**document, **evil})
    answer = aws.fanout(command, "run-1", *MINE, *options)
    assert answer.exit_code == 1
    assert_harmless(answer.stderr)
    assert_harmless(answer.stdout, shows="")
    assert f"warning: {SHOWN}" in answer.stderr


def test_the_name_of_a_new_run_is_shown_as_escapes(aws: Aws) -> None:
    request = aws.directory / "request.json"
    request.write_text('{"source": "s3://a-bucket/", "destination": "efs:///copy"}')
    answer = aws.fanout("start", "--detach", str(request), "--name", EVIL[:-1], *MINE)
    assert_harmless(answer.output, shows="x1b[2J")


def test_what_is_printed_is_kept_in_a_file_with_its_time(aws: Aws) -> None:
    log = aws.directory / "fanout.log"
    aws.summary("run-1", "FAILED_WITH_ITEMS", listed=2, failed=2)
    said = aws.fanout("report", "run-1", *MINE, "--log-file", str(log)).stderr
    lines = log.read_text().splitlines()
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ ", line) for line in lines)
    assert [line.partition(" ")[2] for line in lines] == said.splitlines()
    aws.fanout("report", "nonsuch", *MINE, "--log-file", str(log))
    assert "no run 'nonsuch' in the stack" in log.read_text().splitlines()[-1]


def test_without_the_option_nothing_is_kept_and_a_file_that_cannot_be_written_is_named(aws: Aws) -> None:
    aws.summary("run-1", "SUCCEEDED")
    aws.fanout("report", "run-1", *MINE, "--log-file", str(aws.directory / "log"))
    before = (aws.directory / "log").read_text()
    assert aws.fanout("report", "run-1", *MINE).exit_code == 0
    assert (aws.directory / "log").read_text() == before
    refused = aws.fanout("report", "run-1", *MINE, "--log-file", str(aws.directory / "none/log"))
    assert (refused.exit_code, "cannot be written (No such file or directory)" in refused.stderr) == (2, True)
