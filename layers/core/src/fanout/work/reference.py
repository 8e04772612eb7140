"""The reference to a run's ledger, which the states hand on."""

from __future__ import annotations

from fanout.ledger.ledger import Ledger
from fanout.model.document import Json
from fanout.request.plan import Plan


def run_reference(plan: Plan, ledger: Ledger, bucket: str) -> Json:
    """The reference to a run's ledger; ``apart`` is the mode of a run whose ends no function sees both of.

    ``window`` is there where the request names one: each task is held to it before it reads anything.
    """
    reference = {"id": ledger.run_id, "bucket": bucket, "prefix": ledger.prefix}
    if plan.request.limits.window:
        reference["window"] = plan.request.limits.window
    apart = plan.request.mode.value if plan.request.between_mounts else ""
    return {**reference, "apart": apart}
