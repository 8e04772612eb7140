"""Certificates: drawn, and judged. One is issued of two equal trees, and of nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from tests.adversary.differences import differs
from tests.adversary.scope import Finding, Record, Scope


def certify(draw: Random, options: dict[str, Any]) -> None:
    """Draw a certificate, where a request that compares both whole trees may ask for one."""
    chance, by_content = draw.random(), draw.random() < 0.3
    if chance > 0.4 or options.get("verify") != "all" or "manifest" in options or options.get("mode") == "move":
        return
    options["certificate"] = True
    if by_content:
        options["verify"] = "content"


def judge_certificate(record: Record, scope: Scope) -> Iterator[Finding]:
    """A green run that was asked for a certificate has one, and what rested while it ran is equal at both ends."""
    summary, status = record.result.summary, record.result.status
    if summary is None or not record.options.get("certificate"):
        return
    issued = summary["certificate"] is not None
    if issued != (status == "SUCCEEDED"):
        yield Finding("certificate", f"run {record.run} ended {status}, and {'has' if issued else 'lacks'} one")
    if not issued:
        return
    tree = record.window[-1]
    for path, version in tree.items():
        rested = all(path in one and one[path] == version for one in record.window)
        if not rested or path in record.touched or not scope.holds(path, version, tree):
            continue
        there = record.after.get(path)
        what = "is not there" if there is None else differs(version, there, record.options.get("verify") == "content")
        if what:
            yield Finding("certificate", f"run {record.run} has one, and {path!r} {what}")
