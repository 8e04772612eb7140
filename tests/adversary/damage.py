"""What a script does to the ledger of an earlier run."""

from __future__ import annotations

from tests.adversary.lab import Lab
from tests.adversary.rates import BODIES, NOT_VALID
from tests.adversary.script import Change


def damage(lab: Lab, change: Change) -> None:
    """An object of a run's ledger is gone, cut short, or has a byte that is another; or its limits are not valid."""
    with lab.conductor.paused():
        store = lab.store.plain
        if change.what == NOT_VALID:
            store.put(f"runs/{change.path}/{NOT_VALID}", BODIES[change.seed % len(BODIES)])
            lab.conductor.told[f"ledger: {change.what}"] += 1
            return
        keys = [key for key in store.list("runs/r1/") if key.removeprefix("runs/r1/").startswith(change.path)]
        if not keys:
            return
        key = keys[change.seed % len(keys)]
        data = store.get(key)
        if change.what == "lose":
            store.remove([key])
        elif change.what == "cut":
            store.put(key, data[: len(data) // 2])
        elif data:
            at = change.seed % len(data)
            store.put(key, data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :])
        lab.conductor.told[f"ledger: {change.what}"] += 1
