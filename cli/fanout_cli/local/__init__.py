"""The embedded default: the deployed product on this machine, without an AWS account.

The same template and the same state machine are built with ``sam build`` and deployed
with ``sam deploy`` to an emulator on loopback; the handlers run as real Lambda processes.
"""

from fanout_cli.local.errors import LocalRunError
from fanout_cli.local.paths import LocalPaths
from fanout_cli.local.stack import LocalStack
from fanout_cli.local.toolchain import Toolchain, find_toolchain
from fanout_cli.local.workers.worker import DataEndpoint

__all__ = ["DataEndpoint", "LocalPaths", "LocalRunError", "LocalStack", "Toolchain", "find_toolchain"]
