"""Ports for servers that want to be told theirs, or to come back at the same one."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Final

_RANGE: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_FIRST: Final = 10_240
_FEWEST: Final = 10_000


def free_port() -> int:
    """Return a port of the loopback address that is this process's until it ends.

    The machine gives it to nobody who asks for any port, nor to a connection: those lie above. No
    other process that asks here gets it. A server may so leave it and come back.

    Raises:
        OSError: All are taken.
    """
    above = int(_RANGE.read_text().split()[0]) if _RANGE.exists() else 32_768
    ports = range(_FIRST, max(above, _FIRST + _FEWEST))
    for step in range(len(ports)):
        port = ports[(os.getpid() * 97 + step) % len(ports)]
        if _is_claimed(port):
            return port
    raise OSError("There is no free port.")


def _is_claimed(port: int) -> bool:
    """Take *port* for as long as this process lives; tell whether it was to be had."""
    with socket.socket(socket.AF_UNIX) as claim, suppress(OSError):
        claim.bind(f"\0lockgate-port-{port}")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
        claim.detach()  # open as long as the process
        return True
    return False
