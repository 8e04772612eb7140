"""The reference to a run's ledger, which the states hand on."""

from __future__ import annotations

from fanout.ledger.ledger import Ledger
from fanout.model.document import Json
from fanout.request.options import Compare
from fanout.request.plan import Plan


def run_reference(plan: Plan, ledger: Ledger, bucket: str) -> Json:
    """The reference to a run's ledger.

    ``apart`` is the mode of a run whose ends no function sees both of; ``digests`` names the end that is read before
    the other one, where such a run compares by checksum.
    ``publishes`` is there where the run publishes a version: its mode. ``moves`` is there in a move.
    ``sealed`` is there in a run that is to be certified: below which prefix it seals (``ledger.sealing``).
    ``window`` is there where the request names one: each task is held to it before it reads anything.
    """
    request = plan.request
    apart = request.mode.value if request.between_mounts else ""
    digests = "destination" if apart and request.course.writes and request.compare is Compare.CHECKSUM else ""
    window = {"window": request.limits.window} if request.limits.window else {}
    publishes = {"publishes": request.mode.value} if plan.publishes else {}
    moves = {"moves": True} if plan.moves else {}
    prefix = sealed_prefix(plan, ledger)
    sealed = {"sealed": prefix} if prefix else {}
    place = {"id": ledger.run_id, "bucket": bucket, "prefix": ledger.prefix}
    return {**place, "apart": apart, "digests": digests, **window, **publishes, **moves, **sealed}


def sealed_prefix(plan: Plan, ledger: Ledger) -> str:
    """Below which prefix the run seals: its proof, which is the whole run where it only compares; empty for none."""
    if not plan.request.certificate:
        return ""
    return (ledger if plan.request.course.compares else ledger.verification()).prefix
