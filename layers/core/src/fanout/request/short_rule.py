"""Which runs may go the short way: one function carries them through the states that follow the plan."""

from __future__ import annotations

from fanout.request.request import Request


def may_go_short(request: Request) -> bool:
    """Whether one function may carry out the run from the listing on, as far as that is small.

    | not                                              | because                                                  |
    |--------------------------------------------------|----------------------------------------------------------|
    | with a certificate; of mode move or verify       | who proves is another function than who copies           |
    | between two mounts                               | a function sees one of them                              |
    | in a window; that brings back what is held       | a state waits, and no function does                      |
    | a version is published, or published again       | the link is switched by the function that owns versions  |
    """
    course = request.course
    proves = bool(request.certificate) or course.deletes_proven or course.compares
    waits = bool(request.limits.window) or request.brings_back
    return not (proves or waits or request.between_mounts or request.publish is not None or course.goes_back)
