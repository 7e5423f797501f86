"""Makes a Python server tell on SIGUSR2 how many asyncio tasks it has; see ``bench.leaks``."""

from __future__ import annotations

import asyncio
import signal
import sys
from types import FrameType


def _tell(_number: int, _frame: FrameType | None) -> None:
    try:
        tasks = len(asyncio.all_tasks(asyncio.get_running_loop()))
    except RuntimeError:
        return
    sys.stderr.write(f"bench-tasks {tasks}\n")
    sys.stderr.flush()


signal.signal(signal.SIGUSR2, _tell)
