"""The manifest of a script: how it is written, and what it names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fanout.model.path_rules import parents_of
from tests.adversary.lab import LISTS, Lab
from tests.adversary.script import INSIDE_S3, MOUNT_TO_S3, Script


def put_manifest(script: Script, lab: Lab) -> None:
    """Write the manifest where the script's request names one."""
    if "manifest" not in script.options:
        return
    paths = sorted(spec.path for spec in script.source)
    rows = [json.dumps({"path": path, "phase": "verify"} if _is_of_verification(script) else path) for path in paths]
    if script.seed % 3 == 0:
        rows.insert(1, '"\\ud800x"')
    lab.truth.put(LISTS, "list.jsonl", "".join(f"{row}\n" for row in rows).encode())


def named(script: Script, options: Mapping[str, Any]) -> frozenset[str] | None:
    """The paths that the manifest names, and directories above them where it may; ``None`` without a manifest."""
    if "manifest" not in options:
        return None
    paths = [spec.path for spec in script.source]
    above = [parent for path in paths for parent in parents_of(path)] if _is_of_verification(script) else []
    return frozenset((*paths, *above))


def _is_of_verification(script: Script) -> bool:
    """Whether the manifest is a verification's, which on a mount names the directories above too."""
    return script.seed % 5 == 1 and script.direction not in (MOUNT_TO_S3, INSIDE_S3)
