"""Policies are parsed once, and not again for each request that they are evaluated for.

Loaded by emulator_launcher.py, so it imports nothing of the project.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

DOCUMENTS = 1_024


def parse_policies_once() -> None:
    """A policy's text is parsed when it is first evaluated; another text is another policy."""
    from ministack.core import iam_evaluator  # type: ignore[import-not-found]

    parse = iam_evaluator.parse_policy_document
    parsed = lru_cache(DOCUMENTS)(parse)

    def parse_once(document: Any) -> Any:
        return list(parsed(document)) if isinstance(document, str) else parse(document)

    iam_evaluator.parse_policy_document = parse_once
