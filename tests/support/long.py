"""Whether tests run what takes minutes too: ``FANOUT_LONG=1``. ``tests/commands.py`` lists it."""

from __future__ import annotations

import os

LONG = "FANOUT_LONG" in os.environ
