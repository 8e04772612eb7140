"""The user that a connection on loopback comes from, as the kernel says it (man 7 sock_diag).

Loaded by emulator_launcher.py, so it imports nothing of the project. A name in /proc/net/tcp says the same, but reading
that file takes milliseconds and grows with the machine's connections; asking for one connection takes 8 us.
"""

from __future__ import annotations

import os
import socket
import struct

Address = tuple[str, int]

_SOCK_DIAG, _BY_FAMILY, _REQUEST = 4, 20, 1
_HEADER = struct.Struct("=IHHII")
_ASKED = struct.Struct("=BBBBI")
_CONNECTION = struct.Struct("!HH4s12x4s12x")
_ANY_INTERFACE_AND_COOKIE = struct.pack("=I8s", 0, b"\xff" * 8)
_STATE_AT, _UID_AT = 1, 64
_ESTABLISHED = 1
_WAIT_SECONDS = 2.0


def owner(peer: Address, server: Address) -> int | None:
    """The user whose socket ``peer`` is of an open connection to ``server``; ``None`` if the kernel knows none.

    A socket that its process has closed belongs to nobody: the kernel would name root. It is not an open connection.
    """
    ends = _CONNECTION.pack(peer[1], server[1], socket.inet_aton(peer[0]), socket.inet_aton(server[0]))
    asked = _ASKED.pack(socket.AF_INET, socket.IPPROTO_TCP, 0, 0, 0xFFFFFFFF) + ends + _ANY_INTERFACE_AND_COOKIE
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
            kernel.settimeout(_WAIT_SECONDS)
            kernel.send(_HEADER.pack(_HEADER.size + len(asked), _BY_FAMILY, _REQUEST, 1, 0) + asked)
            answer = kernel.recv(4096)
    except (AttributeError, OSError):  # no Linux, or one without it
        return None
    _, kind, *_ = _HEADER.unpack_from(answer)
    message = answer[_HEADER.size :]
    if kind != _BY_FAMILY or message[_STATE_AT] != _ESTABLISHED:
        return None
    found: int = struct.unpack_from("=I", message, _UID_AT)[0]
    return found


def is_own(peer: Address, server: Address) -> bool:
    """Whether the connection comes from a process of this process's user."""
    return owner(peer, server) == os.geteuid()


def is_told() -> bool:
    """Whether this machine tells the user of a connection."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
    ):
        return is_own(client.getsockname(), server.getsockname())
