"""Rules of requests that move: what a move proves, and what cannot be moved."""

from __future__ import annotations

from fanout.model.errors import InvalidRequest
from fanout.request.options import Overwrite, Symlinks, Verify
from fanout.request.request import Request


def check_move(request: Request) -> None:
    """Raise ``InvalidRequest`` for what a move cannot prove, or must not delete."""
    if not request.course.deletes_proven:
        return
    refused: tuple[tuple[str, bool, str, str], ...] = (
        ("verify", request.verify is Verify.COPIED, "it does not compare what was unchanged", "all, or content"),
        (
            "overwrite",
            request.overwrite is not Overwrite.ALWAYS,
            "what stays at the destination is no copy of the source's",
            "always",
        ),
        (
            "symlinks",
            request.symlinks is Symlinks.FOLLOW,
            "what a symlink leads to is copied under the symlink's name, and has another name itself",
            "keep, or skip",
        ),
    )
    for field, is_wrong, problem, allowed in refused:
        if is_wrong:
            raise InvalidRequest(field, problem, f"with mode move: {allowed}")
