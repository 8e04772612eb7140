"""The embedded default: the deployed product on this machine, without an AWS account.

``sam build`` and ``sam deploy`` put the same template and the same state machine on an emulator on loopback. The
handlers run as real Lambda processes.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fanout_cli.local.errors import LocalRunError
    from fanout_cli.local.paths import LocalPaths
    from fanout_cli.local.stack import LocalStack
    from fanout_cli.local.toolchain import Toolchain, find_toolchain

__all__ = ["LocalPaths", "LocalRunError", "LocalStack", "Toolchain", "find_toolchain"]
_HOMES = {
    "LocalPaths": "paths",
    "LocalRunError": "errors",
    "LocalStack": "stack",
    "Toolchain": "toolchain",
    "find_toolchain": "toolchain",
}


def __getattr__(name: str) -> Any:
    """A name when it is first asked for: the clients and the emulator take long to import."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
