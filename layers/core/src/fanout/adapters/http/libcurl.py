"""pycurl, imported as cheaply as can be."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

__all__ = ["pycurl"]


def _pycurl() -> Any:
    """pycurl without asyncio, which its package imports for a class that is not used here: 13 ms of a cold start."""
    name = "pycurl.async_multi"
    if "pycurl" in sys.modules or "asyncio" in sys.modules:
        import pycurl

        return pycurl
    stand_in = ModuleType(name)
    stand_in.AsyncCurlMulti = None  # type: ignore[attr-defined]
    sys.modules[name] = stand_in
    try:
        import pycurl
    finally:
        del sys.modules[name]
    return pycurl


pycurl = _pycurl()
