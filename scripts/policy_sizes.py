"""Prints a table of the rendered policies of the roles: characters, and kinds of the ledger that each may write."""

from __future__ import annotations

import json
import sys
from typing import Any

from scripts.ledger_rights import KINDS, sample_of
from tests.functions.kinds_of_runs import WORK
from tests.functions.test_roles import GIVEN
from tests.support.actions import Need
from tests.support.iam import is_allowed, statements_of
from tests.template.templates import functions


def rows() -> list[tuple[str, int, int, int]]:
    """For each function: characters of all its statements, resources that end in ``*``, kinds that it may write."""
    found = []
    for name in sorted(functions()):
        statements = statements_of(name, GIVEN)
        text = json.dumps([[one.effect, one.actions, one.resources] for one in statements], separators=(",", ":"))
        wide = sum(resource.endswith("*") for one in statements if one.effect == "Allow" for resource in one.resources)
        keys = [f"arn:aws:s3:::{WORK}/{sample_of(one)}" for one in KINDS]
        written = sum(is_allowed(Need("s3:PutObject", key), statements) for key in keys)
        found.append((name.removesuffix("Function"), len(text), wide, written))
    return found


if __name__ == "__main__":
    head = [
        "function",
        "characters",
        "allowed resources that end in *",
        f"of {len(KINDS)} kinds of the ledger it writes",
    ]
    lines: list[list[Any]] = [head, ["---"] * len(head), *map(list, rows())]
    sys.stdout.write("".join(f"| {' | '.join(map(str, one))} |\n" for one in lines))
