from __future__ import annotations

import pytest

from gateway.sandbox import Limits, ProcessSandbox

QUICK = Limits(seconds=0.5, memory=128 * 2**20, disk=2**20, kept=4096, flood=2**18)


@pytest.fixture
def anyio_backend() -> str:
    """Real processes need a real clock."""
    return "asyncio"


@pytest.fixture
async def walled() -> ProcessSandbox:
    """Return a sandbox with walls, where the kernel puts any up."""
    sandbox = ProcessSandbox(QUICK)
    probe = await sandbox.run("")
    if probe.ended == "unavailable":
        pytest.skip(f"this kernel puts up no walls: {probe.err}")
    return sandbox


@pytest.fixture
def trusting() -> ProcessSandbox:
    """Return a sandbox without walls."""
    return ProcessSandbox(QUICK, trusted=True)
