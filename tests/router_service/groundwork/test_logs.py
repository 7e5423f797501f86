"""The log of a process whose log nobody takes any more."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.architecture.source import ROOT
from tests.patience import PATIENCE_S

LOGS = """
import logging, sys
import structlog
from router_service.groundwork.logs import set_up_logging

set_up_logging()
sys.stdin.read()
for number in range(300):
    structlog.get_logger().warning("told." * 20, number=number)
    logging.getLogger("other").warning("told " * 20)
print("went on")
"""


@pytest.mark.parametrize("opened", [os.pipe, pty.openpty], ids=["pipe", "terminal"])
def test_nothing_ends_because_its_log_cannot_be_written(
    opened: Callable[[], tuple[int, int]],
) -> None:
    reads, writes = opened()
    with subprocess.Popen(
        [sys.executable, "-c", LOGS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=writes,
        cwd=ROOT,
        env={"PATH": os.defpath},  # with PYTHONUNBUFFERED nothing would be left for the end
        text=True,
    ) as process:
        os.close(writes)
        os.close(reads)
        said, _ = process.communicate(timeout=PATIENCE_S)

    assert (said, process.returncode) == ("went on\n", 0)
