"""Findings of the checks of a deployment, each with its remedy."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

DEPLOY_AGAIN = "deploy the stack again: fanout deploy --config-env SECTION"


class Severity(StrEnum):
    """How bad a finding is: a run works, works worse, or does not work."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Finding(Struct, frozen=True):
    """The result of one check; ``remedy`` is empty where nothing is to be done."""

    name: str
    level: Severity
    what: str
    remedy: str = ""


def ok(name: str, what: str) -> Finding:
    """A thing that is as it should be."""
    return Finding(name, Severity.OK, what)


def warn(name: str, what: str, remedy: str) -> Finding:
    """A thing with which a run works, but worse."""
    return Finding(name, Severity.WARN, what, remedy)


def fail(name: str, what: str, remedy: str) -> Finding:
    """A thing with which a run does not work."""
    return Finding(name, Severity.FAIL, what, remedy)
