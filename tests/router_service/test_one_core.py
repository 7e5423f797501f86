"""Decisions keep to one core: threads of a product wait for each other on a busy machine."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

MULTIPLIES = """
import os
import router_service.routers.semknn
import numpy
square = numpy.ones((600, 600), dtype=numpy.float32)
square @ square
print(len(os.listdir("/proc/self/task")))
"""


def threads(**variables: str) -> int:
    kept = {name: it for name, it in os.environ.items() if "_NUM_THREADS" not in name}
    told = subprocess.run(
        [sys.executable, "-c", MULTIPLIES],
        env={**kept, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(told.stdout)


def test_it_takes_one_core_and_more_where_that_is_said() -> None:
    if (os.cpu_count() or 1) < 2:
        pytest.skip("there is but one core")

    assert threads() == 1
    assert threads(OPENBLAS_NUM_THREADS="2") == 2
