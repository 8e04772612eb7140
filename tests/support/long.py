"""Whether tests run what takes minutes too: ``FANOUT_LONG=1``. CONTRIBUTING.md lists what that is."""

from __future__ import annotations

import os

LONG = "FANOUT_LONG" in os.environ
