"""The dollars and the seconds that S3 takes to restore objects from their archives."""

from __future__ import annotations

from collections.abc import Mapping

from fanout.efs.load import Work
from fanout.efs.phase_cost import Basis, PhaseCost, WorkDone
from fanout.facts import archives
from fanout.facts.units import GB
from fanout.model.books import Count
from fanout.request.parts.restore import Restore, Tier
from fanout.request.request import Request

_MONTH_DAYS = 30
# The price of a request and of a GB by archive and tier, below its name; what is not here is free.
_PRICE = {
    (archives.GLACIER, Tier.EXPEDITED): "restore_glacier_expedited",
    (archives.ARCHIVE_ACCESS, Tier.EXPEDITED): "restore_glacier_expedited",
    (archives.GLACIER, Tier.STANDARD): "restore_glacier_standard",
    (archives.DEEP_ARCHIVE, Tier.STANDARD): "restore_deep_standard",
    (archives.DEEP_ARCHIVE, Tier.BULK): "restore_deep_bulk",
}
# The archives that keep the object: what is restored is a copy, for days.
_COPIES = (archives.GLACIER, archives.DEEP_ARCHIVE)


def restoring(request: Request, work: Work, basis: Basis) -> PhaseCost:
    """The wait that is left when all else is copied, and the dollars of the restoring."""
    if not work.held:
        return PhaseCost()
    seconds = max(0.0, restore_seconds(work.held, request.restore) - basis.copy_seconds)
    return _costs(work.held, request.restore, basis.price, seconds)


def restored(request: Request, done: WorkDone, price: Mapping[str, float]) -> PhaseCost:
    """The dollars of the restores that S3 was asked for."""
    return _costs(done.asked_back, request.restore, price)


def _costs(
    archived: Mapping[str, Count], restore: Restore, price: Mapping[str, float], seconds: float | None = None
) -> PhaseCost:
    """The dollars under their name in the summary; nothing where S3 takes nothing."""
    dollars = restore_dollars(archived, restore, price)
    return PhaseCost(seconds=seconds, services={"restores": dollars} if dollars else {})


def restore_dollars(archived: Mapping[str, Count], restore: Restore, price: Mapping[str, float]) -> float:
    """The dollars of the requests, of the bytes, and of the restored copies for their days."""
    found = 0.0
    for archive, count in archived.items():
        name = _PRICE.get((archive, restore.tier))
        if name is not None:
            found += count.entries * price[name] + count.bytes / GB * price[f"{name}_gb"]
        if archive in _COPIES:
            found += count.bytes / GB * restore.days / _MONTH_DAYS * price["s3_standard_gb_month"]
    return found


def restore_seconds(archived: Mapping[str, Count], restore: Restore) -> float:
    """How long asking and waiting take: the slowest archive's time, after the last request of all."""
    asked = sum(count.entries for count in archived.values()) / archives.REQUESTS_PER_SECOND
    return asked + max((restore.seconds_from(archive) for archive in archived), default=0.0)
