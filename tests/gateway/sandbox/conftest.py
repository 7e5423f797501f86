from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.sandbox import Limits, ProcessSandbox

SMALL = Limits(seconds=20, memory=128 * 2**20, disk=2**20, kept=4096, flood=2**18)
SHORT = replace(SMALL, seconds=0.5)
"""For programs that never end; a busy machine may need longer to start one that shall."""


@pytest.fixture
def anyio_backend() -> str:
    """Real processes need a real clock."""
    return "asyncio"


@pytest.fixture
async def walled() -> ProcessSandbox:
    """Return a sandbox with walls, where the kernel puts any up."""
    sandbox = ProcessSandbox(SMALL)
    probe = await sandbox.run("")
    if probe.ended == "unavailable":
        pytest.skip(f"this kernel puts up no walls: {probe.err}")
    return sandbox


@pytest.fixture
def impatient(walled: ProcessSandbox) -> ProcessSandbox:
    """Return a sandbox with walls, and with little time."""
    return ProcessSandbox(SHORT)


@pytest.fixture
def trusting() -> ProcessSandbox:
    """Return a sandbox without walls."""
    return ProcessSandbox(SMALL, trusted=True)
