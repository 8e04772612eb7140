"""The evaluation of policies: patterns as in IAM, the ids of callers, and nothing computed for each request anew.

Loaded by emulator_launcher.py, so it imports nothing of the project.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

DOCUMENTS, PATTERNS = 1_024, 4_096
_WILDCARDS = {"*": ".*", "?": "."}


def parse_policies_once() -> None:
    """A policy's text is parsed when it is first evaluated; another text is another policy."""
    from ministack.core import iam_evaluator  # type: ignore[import-not-found]

    parse = iam_evaluator.parse_policy_document
    parsed = lru_cache(DOCUMENTS)(parse)

    def parse_once(document: Any) -> Any:
        return list(parsed(document)) if isinstance(document, str) else parse(document)

    iam_evaluator.parse_policy_document = parse_once


def match_every_character() -> None:
    """``*`` and ``?`` match a line feed too, and a pattern ends where the name does, as in IAM.

    MiniStack's ``.`` stops at a line feed, so the key ``a\\nb`` is AccessDenied; and its ``$`` also matches before one
    at the end, so that a statement about ``a`` allows ``a\\n``.
    """
    from ministack.core import iam_evaluator

    @lru_cache(PATTERNS)
    def compiled(pattern: str, ignore_case: bool) -> re.Pattern[str]:
        words = "".join(_WILDCARDS.get(character) or re.escape(character) for character in pattern)
        return re.compile(rf"{words}\Z", re.DOTALL | (re.IGNORECASE if ignore_case else 0))

    iam_evaluator._fnmatch_compile = compiled


def name_callers_without_their_policies() -> None:
    """The ARN of a request's caller is that of its credential; MiniStack also gathers the caller's policies for it."""
    from ministack.core import iam_evaluator, responses, router

    resolve_account = responses._account_from_sts_session

    def caller(headers: Any, query: Any = None) -> str:
        account = responses.get_account_id()
        key = router.extract_access_key_id(headers or {}, query or {})
        found = iam_evaluator.resolve_credential(key, resolve_account(key) or account) if key else None
        return getattr(found, "principal_arn", "") or f"arn:aws:iam::{account}:root"

    iam_evaluator.request_caller_arn = caller


def name_sessions_by_the_ids_of_roles() -> None:
    """``aws:userid`` of a session of a function begins with the id of its role, as on AWS, and not with its name."""
    from ministack.services import sts  # type: ignore[import-not-found]

    register = sts.register_session

    def register_by_id(key: str, session: dict[str, Any]) -> None:
        parts = session["Arn"].split(":", 5)
        if parts[-1].startswith("assumed-role/"):
            _, role, name = parts[-1].split("/", 2)
            session = {**session, "UserId": f"{sts._role_id(f'arn:aws:iam::{parts[4]}:role/{role}')}:{name}"}
        register(key, session)

    sts.register_session = register_by_id


def know_how_a_key_is_asked_to_sign() -> None:
    """``kms:SigningAlgorithm`` and ``kms:MessageType`` of Sign and Verify, which MiniStack's conditions lack."""
    from ministack.core import iam_actions

    tags_of = iam_actions.request_tag_context

    def keys_of(service: str, action: str, body: bytes, params: Any) -> dict[str, Any]:
        found: dict[str, Any] = tags_of(service, action, body, params)
        if action in ("kms:Sign", "kms:Verify"):
            asked = json.loads(body or b"{}")
            found["kms:signingalgorithm"] = asked.get("SigningAlgorithm", "")
            found["kms:messagetype"] = asked.get("MessageType", "RAW")
        return found

    iam_actions.request_tag_context = keys_of
