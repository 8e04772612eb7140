"""Notes whose the objects will be that a run writes to a bucket of another account; a run is never refused for it.

| Object Ownership of the bucket        | written without ``object_acl`` | with it                        |
|---------------------------------------|--------------------------------|--------------------------------|
| BucketOwnerEnforced                   | the bucket's account owns      | the same                       |
| BucketOwnerPreferred                  | the writer owns: noted         | the bucket's account owns      |
| ObjectWriter, also where none is set  | the writer owns: noted         | the writer owns, both may read |
| denied, or not answered, or a new one | not known: noted               | one of these                   |

So nobody is asked with it. The writer is the account of the role that is assumed, at both ends, or the stack's.

Source: docs.aws.amazon.com/AmazonS3/latest/userguide/about-object-ownership.html.
"""

from __future__ import annotations

from fanout.model.errors import FanoutError
from fanout.request.plan import Plan
from fanout.request.request import Request
from fanout.work.context import Context, StackFacts

_WRITER_S = "the objects of {bucket} will belong to account {writer}, which writes them: its Object Ownership is {said}"
_NOT_KNOWN = "whether the objects of {bucket} will belong to account {writer}, which writes them, is not known ({said})"
_ADVICE = (
    "give --object-acl bucket-owner-full-control, in a request object_acl: bucket-owner-full-control, or have the"
    " bucket's owner set Object Ownership to BucketOwnerEnforced"
)
_NOTES = {"BucketOwnerEnforced": "", "BucketOwnerPreferred": _WRITER_S, "ObjectWriter": _WRITER_S}


def notes_of_owners(plan: Plan, context: Context) -> list[str]:
    """A note where the bucket's account will not own what the run writes, or where that is not known."""
    writer = _writer_elsewhere(plan.request, context.stack.facts)
    if not writer:
        return []
    try:
        said = context.ends.ownership(plan)
        note = _NOTES.get(said, _NOT_KNOWN)
    except FanoutError as error:
        said, note = f"{type(error).__name__}: {error}", _NOT_KNOWN
    bucket = plan.request.destination.bucket
    return [f"{note.format(bucket=bucket, writer=writer, said=said)}; {_ADVICE}"] if note else []


def _writer_elsewhere(request: Request, deployed: StackFacts) -> str:
    """The account that writes to a bucket which may be another one's, and gives its owner no rights; else empty."""
    brings = request.course.copies or request.course.plans
    if not (brings and request.destination.is_keyed) or request.objects.acl:
        return ""
    role, _ = request.assumed
    writer = role.split(":")[4] if role else deployed.account_id
    owner = request.destination_bucket.expected_owner or ("" if role else writer)
    return writer if writer != owner else ""
