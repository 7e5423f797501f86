"""Programs are scored by really running them."""

from __future__ import annotations

from secrets import token_hex

import pytest

from gateway.sandbox import Limits, ProcessSandbox
from techniques.core.reply import Reply, replied
from techniques.parts.code_scoring import Runner
from techniques.parts.growth import growth
from techniques.parts.measuring import Workload, timing, timings
from techniques.parts.programs import Suite, trial

TESTS = Suite("assert total([1, 2, 3]) == 6\nassert total([]) == 0\n")
NUMBERS = """
import random
def arguments(size):
    dice = random.Random(size)
    return ([dice.randrange(10**6) for _ in range(size)],)
"""
ONCE = "def f(xs):\n    return sum(xs)\n"
SORTING = "def f(xs):\n    return sorted(xs)\n"
PAIRS = "def f(xs):\n    return sum(1 for x in xs for y in xs)\n"
FIRST = "def f(xs):\n    return xs[0]\n"


@pytest.fixture
def sandbox() -> ProcessSandbox:
    return ProcessSandbox(Limits(seconds=50), trusted=True)


def program(code: str) -> Reply:
    return replied(f"```python\n{code}\n```")


@pytest.mark.parametrize(
    ("code", "score"),
    [
        ("def total(xs):\n    return sum(xs)", 1.0),
        ("def total(xs):\n    return xs[0] + xs[1] + xs[2]", 0.0),
        ("def total(xs):\n    raise SystemExit(0)", 0.0),
        ("import os\nos._exit(0)", 0.0),
        ("print('tag 2 2')\ndef total(xs):\n    return 0", 0.0),
        ("import os\nos.write(1, b'tag 2 2\\n')\nos._exit(0)", 0.0),
        ("import sys\nsys.modules['__main__'].passes = lambda *_: True", 0.0),
        (
            "import threading\nthreading.Thread(target=threading.Event().wait).start()\n"
            "def total(xs):\n    return sum(xs)",
            1.0,
        ),
    ],
)
async def test_a_program_is_scored_by_its_tests(
    sandbox: ProcessSandbox, code: str, score: float
) -> None:
    assert await Runner(sandbox, "tag").code_score(program(code), TESTS) == score


async def test_a_program_is_scored_behind_walls(walled: ProcessSandbox) -> None:
    runner = Runner(walled, "tag")
    ending = "import os\nos.write(1, open('program.py').read()[:9].encode())\nos._exit(0)"

    assert await runner.code_score(program("def total(xs):\n    return sum(xs)"), TESTS) == 1
    assert await runner.code_score(program("def total(xs):\n    return 6"), TESTS) == 0
    assert await runner.code_score(program(ending), TESTS) == 0


async def test_a_program_that_uses_up_its_time_in_its_tests_is_stopped() -> None:
    sandbox = ProcessSandbox(Limits(seconds=1), trusted=True)
    tests = Suite("assert total([])")
    code = "def total(xs):\n    while True: pass"
    ran = await sandbox.run(trial([code], tests, "tag"))

    assert ran.ended == "timeout"


@pytest.mark.parametrize(
    ("code", "orders"),
    [
        (FIRST, {"1", "log n"}),
        (ONCE, {"n", "n log n"}),
        (SORTING, {"n", "n log n"}),
        (PAIRS, {"n^2"}),
    ],
    ids=["first", "once", "sorting", "pairs"],
)
async def test_the_order_of_growth_is_measured(
    sandbox: ProcessSandbox, code: str, orders: set[str]
) -> None:
    token = token_hex(8)
    ran = await sandbox.run(timing([code], Workload("f", NUMBERS), token))
    found = growth(timings(ran, token))

    assert found is not None, ran
    assert found.order in orders


async def test_a_function_that_changes_what_it_gets_gets_something_new_each_time(
    sandbox: ProcessSandbox,
) -> None:
    code = "def f(xs):\n    assert xs\n    xs.clear()\n"
    workload = Workload("f", "def arguments(size):\n    return ([0] * size,)", 256, 256)
    kept = await sandbox.run(timing([code], workload, "tag"))
    renewed = Workload(workload.function, workload.arguments, 256, 256, changes=True)
    ran = await sandbox.run(timing([code], renewed, "tag"))

    assert timings(kept, "tag") == []
    assert len(timings(ran, "tag")) >= 4


async def test_what_was_timed_before_the_time_was_up_counts() -> None:
    sandbox = ProcessSandbox(Limits(seconds=4), trusted=True)
    code = "import time\ndef f(xs):\n    t = time.thread_time() + len(xs) ** 3 / 1e7\n"
    code += "    while time.thread_time() < t: pass\n"
    ran = await sandbox.run(timing([code], Workload("f", NUMBERS), "tag"))

    assert ran.ended == "timeout"
    assert timings(ran, "tag")
