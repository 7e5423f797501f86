"""The program that times another one on inputs of several sizes, and what it told."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from pricing.record import record
from techniques.core.task import Ran

_LEAST_S: Final = 0.002  # of the smallest size: what is shorter drowns in noise
_ROUNDS: Final = 3  # of which the median is told
_STEPS: Final = (1, 1.5, 2, 3, 4, 6, 8)  # sizes, as multiples of the smallest
_PATIENCE_S: Final = 4.0  # at work, after which no further size is begun


@record(frozen=True, slots=True)
class Workload:
    """What a program is timed on.

    ``arguments`` is Python that defines ``arguments(size)``, which returns the arguments, a tuple,
    of one call of ``function``. ``changes``: the function changes them, so each call needs new
    ones. Timed is the first of the sizes ``smallest``, twice that ... ``largest`` that takes long
    enough, and up to eight times as much.
    """

    function: str
    arguments: str
    smallest: int = 16
    largest: int = 2**13
    changes: bool = False


def timing(program: Sequence[str], workload: Workload, token: str) -> str:
    """Return the program that times *program*; each line that tells a time begins with *token*.

    Time is that of the thread on the processor: others on the machine do not add to it.
    """
    values = (
        *(tuple(program), workload.arguments, workload.function, workload.changes),
        *(workload.smallest, workload.largest, _STEPS, _LEAST_S, _ROUNDS, _PATIENCE_S, token),
    )
    return _TIMING.format(values=values)


def timings(ran: Ran, token: str) -> list[tuple[int, float]]:
    """Return the sizes that were timed, with seconds. One that was stopped told some, too."""
    told = re.finditer(rf"^{re.escape(token)} (\d{{1,9}}) (\d+\.\d+)$", ran.out, re.MULTILINE)
    return [(int(size), float(seconds)) for size, seconds in (line.groups() for line in told)]


_TIMING: Final = """\
import contextlib
import gc
import io
import statistics
import sys
import time
import types

(
    PROGRAM, ARGUMENTS, FUNCTION, CHANGES,
    SMALLEST, LARGEST, STEPS, LEAST, ROUNDS, PATIENCE, TOKEN,
) = {values!r}
MOST_CALLS = 2**17

clock = time.thread_time
began = clock()
answers = sys.stdout
module = types.ModuleType("solution")
sys.modules["solution"] = module
names = vars(module)


def seconds(given, size, calls):
    if not CHANGES:
        start = clock()
        for _ in range(calls):
            function(*given)
        return clock() - start
    total = 0.0
    for _ in range(calls):
        given = arguments(size)
        start = clock()
        function(*given)
        total += clock() - start
    return total


def typical(size, calls):
    given = arguments(size)
    return statistics.median(seconds(given, size, calls) for _ in range(ROUNDS))


with contextlib.redirect_stdout(io.StringIO()):
    for piece in PROGRAM:
        with contextlib.suppress(BaseException):
            exec(compile(piece, "solution.py", "exec"), names)
    exec(compile(ARGUMENTS, "arguments.py", "exec"), names)
    function, arguments = names[FUNCTION], names["arguments"]
    gc.disable()
    smallest, calls = SMALLEST, 1
    while smallest < LARGEST and typical(smallest, 1) < LEAST:
        smallest *= 2
    while calls < MOST_CALLS and typical(smallest, calls) < LEAST:
        calls *= 2
    for step in STEPS:
        if clock() - began > PATIENCE:
            break
        size = int(step * smallest)
        print(TOKEN, size, f"{{typical(size, calls):.9f}}", file=answers, flush=True)
"""
