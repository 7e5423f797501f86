"""What the machine allows: open files, connections that wait, processors, the sandbox."""

from __future__ import annotations

import os
import resource
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Final

from gateway.doctor.case import Case
from gateway.doctor.finding import Finding
from gateway.wiring import sandbox_of

_FILES: Final = 4096
_BACKLOG: Final = 4096
_PORTS: Final = 20_000
_NET: Final = Path("/proc/sys/net")


async def files(case: Case) -> AsyncGenerator[Finding, None]:
    """Tell how many files and connections a process may have open."""
    del case
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= _FILES:
        yield Finding("machine", "ok", f"a process may have {soft} files open")
        return
    why = "each client and each call to a provider is one; who comes when there is none left waits"
    fix = f"ulimit -n {min(65_536, hard) if hard > 0 else 65_536}, or LimitNOFILE=65536 of its unit"
    yield Finding("machine", "warning", f"a process may have {soft} files open", why, fix)


async def kernel(case: Case) -> AsyncGenerator[Finding, None]:
    """Tell which settings of the kernel are in the way of many connections."""
    del case
    waiting = _number(_NET / "core/somaxconn")
    if waiting is not None and waiting < _BACKLOG:
        why = "clients that come at the same moment are refused beyond that"
        fix = f"sysctl -w net.core.somaxconn={_BACKLOG}"
        yield Finding("machine", "note", f"{waiting} connections may wait", why, fix)
    ports = _ports()
    if ports is not None and ports < _PORTS:
        why = "so many connections to one address of a provider, and no more"
        fix = 'sysctl -w net.ipv4.ip_local_port_range="1024 65535"'
        yield Finding("machine", "note", f"{ports} ports are there for connections", why, fix)


async def processors(case: Case) -> AsyncGenerator[Finding, None]:
    """Tell whether there are as many workers as processors."""
    workers, there = case.config.server.workers, len(os.sched_getaffinity(0))
    told = f"server.workers is {workers}, and there are {there} processors"
    if workers > there:
        why = "workers take turns then, and answers come in jerks"
        yield Finding("machine", "note", told, why, f"server.workers: {there}")
    else:
        yield Finding("machine", "ok", told)


async def sandbox(case: Case) -> AsyncGenerator[Finding, None]:
    """Tell whether what models wrote can be run, where it is to be."""
    stated = case.config.reliability.sandbox
    if stated.kind == "off":
        return
    there, reason = await sandbox_of(stated)
    if there is not None:
        yield Finding("machine", "ok", f"the sandbox ({stated.kind}) runs programs")
        return
    why = "techniques that run what models wrote go on without it"
    fix = {
        "process": "unshare -Ur true: if that fails, allow user namespaces to who runs the gateway",
        "docker": f"docker pull {stated.image}, by who runs the gateway",
    }[stated.kind]
    what = f"the sandbox ({stated.kind}) runs nothing here: {reason}"
    yield Finding("machine", "warning", what, why, fix)


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text("ascii"))
    except (OSError, ValueError):
        return None


def _ports() -> int | None:
    try:
        first, last = (_NET / "ipv4/ip_local_port_range").read_text("ascii").split()
        return int(last) - int(first) + 1
    except (OSError, ValueError):
        return None
