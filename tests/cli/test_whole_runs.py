"""The document that a command sends, through a whole run between each pair of ends, under the deployed rights."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from fanout.model.document import Json
from fanout_cli.commands import transfer_commands
from fanout_cli.main import app
from tests.support.deployed_runs import ENDS, PUBLISHES, fill, publishing, put, run, stack

# What is typed after the ends.
WORDS = {
    "copy": "copy",
    "copy and compare": "copy --verify all",
    "copy by checksum": "copy --compare checksum --verify copied",
    "dry run": "copy --dry-run",
    "sync": "sync --max-delete-percent 100",
    "sync and compare": "sync --max-delete-percent 100 --verify all",
    "move": "move",
    "plan": "plan",
    "verify": "verify",
    "certified": "copy --verify all --certificate",
}

# What a comparison finds: extras, and before a copy what is to be copied.
FOUND = {
    "copy and compare": "trees differ: 3 not at the source;",
    "verify": "trees differ: 4 missing at the destination, 3 not at the source,",
    "certified": "trees differ: 3 not at the source;",
}


def sent_by(words: str, source: str, destination: str, patch: pytest.MonkeyPatch) -> Json:
    """The request that a command line starts."""
    sent: list[Json] = []
    patch.setattr(transfer_commands, "_run", lambda document, console, **_: sent.append(document))
    verb, *rest = words.split()
    typed = CliRunner().invoke(app, [verb, source, destination, *rest])
    assert typed.exit_code == 0, typed.output
    [document] = sent
    return document


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("words", WORDS)
def test_a_command_works_between_each_pair_of_ends(words: str, ends: str, monkeypatch: pytest.MonkeyPatch) -> None:
    document = sent_by(WORDS[words], *ENDS[ends], monkeypatch)
    for short in (False, True):
        summary = run(fill(stack(ends, short=short)), document)
        assert (summary["error"] is None) is (words not in FOUND), summary["error"]
        assert words not in FOUND or FOUND[words] in summary["error"]["message"]
        assert summary["totals"]["listed"]["entries"]


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("words", ["copy", "sync", "move", "verify", "plan"])
def test_a_source_that_holds_nothing_is_refused_by_name_unless_it_may_be_empty(
    words: str, ends: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = fill(stack(ends), files=0)
    summary = run(one, sent_by(words, *ENDS[ends], monkeypatch))
    assert one.ended is not None
    said = summary["error"]["message"] if summary else one.ended.cause
    assert "holds nothing" in said and "--allow-empty-source" in said
    allowed = sent_by(f"{words} --allow-empty-source", *ENDS[ends], monkeypatch)
    error = run(fill(stack(ends), files=0), allowed)["error"]
    expected = {"sync": "DeleteRefused", "verify": "FailedWithItems"}  # as the destination holds more
    assert (error or {}).get("name") == expected.get(words)


def test_a_published_tree_is_published_by_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    one = publishing(run_id="v1")
    document = sent_by("copy --publish current --verify all", PUBLISHES["source"], "efs:///site", monkeypatch)
    for number in (1, 2):
        assert run(one, document)["status"] == "SUCCEEDED"
        one = one.next_run(f"v{number + 1}")
        put(one, "source", f"d/{number}", b"new")
