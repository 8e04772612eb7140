"""Serves the emulator by Granian: TLS and HTTP run in native code, on a thread that does not hold Python's lock.

Loaded by emulator_launcher.py, so it imports nothing of the project.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Connections that wait to be taken, and requests that are answered at once; more of them wait.
BACKLOG = 1_024


def serve_in_native_code(idle_seconds: float, admit: Callable[[Any, tuple[str, int]], Any]) -> None:
    """MiniStack serves by Granian in place of Hypercorn, in the same process and event loop.

    A connection that is not used for ``idle_seconds`` is closed, as S3 does, also that of a frozen function.
    ``admit`` wraps the application that is served at an address.
    """
    import hypercorn.asyncio  # type: ignore[import-not-found]
    from granian.constants import HTTPModes, Interfaces, SSLProtocols  # type: ignore[import-not-found]
    from granian.http import HTTP1Settings  # type: ignore[import-not-found]
    from granian.log import LogLevels  # type: ignore[import-not-found]
    from granian.server.embed import Server  # type: ignore[import-not-found]

    async def serve(app: Any, config: Any) -> None:
        host, _, port = config.bind[0].rpartition(":")
        server = Server(
            admit(app, (host, int(port))),
            host,
            int(port),
            interface=Interfaces.ASGI,
            http=HTTPModes.http1,
            # It also counts while a connection waits for its next request.
            http1_settings=HTTP1Settings(header_read_timeout=round(idle_seconds * 1000)),
            websockets=False,
            backlog=BACKLOG,
            log_level=LogLevels.error,
            ssl_cert=Path(config.certfile),
            ssl_key=Path(config.keyfile),
            ssl_protocol_min=SSLProtocols.tls12,
        )
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, server.stop)
        await server.serve()

    hypercorn.asyncio.serve = serve
