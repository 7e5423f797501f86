from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from techniques.core.reply import Reply, replied
from techniques.core.task import Ran
from techniques.parts.code_scoring import UNVERIFIED, Runner
from techniques.parts.measuring import Workload
from techniques.parts.programs import Suite

TESTS = Suite("assert double(2) == 4\n")
PROGRAM = replied("```python\ndef double(x):\n    return 2 * x\n```")
WORK = Workload("double", "def arguments(size):\n    return (size,)")
PASSED = Ran("ok", "tag 1 1\n")
HALF = Ran("ok", "tag 1 2\n")


@dataclass
class Told:
    """A sandbox that gives *runs* in turn, whatever the program."""

    runs: list[Ran]
    programs: list[str] = field(default_factory=list)

    async def run(self, program: str) -> Ran:
        self.programs.append(program)
        return self.runs[len(self.programs) - 1]


def timed(*rows: tuple[int, float]) -> Ran:
    return Ran("ok", "".join(f"tag {size} {seconds}\n" for size, seconds in rows))


LINEAR = timed((10, 0.1), (20, 0.2), (30, 0.3), (40, 0.4))


@pytest.mark.parametrize(
    ("ran", "score"),
    [
        (PASSED, 1.0),
        (HALF, 0.0),
        (Ran("ok", "tag 0 0\n"), 0.0),
        (Ran("ok", ""), 0.0),
        (Ran("failed", "tag 1 1\n"), 0.0),
        (Ran("timeout"), 0.0),
        (Ran("unavailable"), UNVERIFIED),
    ],
)
async def test_a_program_is_right_if_it_passes_all_its_tests(ran: Ran, score: float) -> None:
    assert await Runner(Told([ran]), "tag").code_score(PROGRAM, TESTS) == score


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        (PROGRAM, UNVERIFIED),
        (replied("```python\ndef double(x:\n```"), 0.0),
        (replied("```python\nx = \0\n```"), 0.0),
        (replied("I cannot."), 0.0),
        (replied(""), 0.0),
    ],
)
async def test_what_cannot_be_run_has_half_a_score_if_it_is_a_program(
    reply: Reply, score: float
) -> None:
    assert await Runner(None, "tag").code_score(reply, TESTS) == score
    assert await Runner(Told([]), "tag").code_score(reply, None) == score


async def test_for_who_decides_by_it_what_was_not_run_is_neither_right_nor_wrong() -> None:
    assert await Runner(None, "tag").passed(PROGRAM, TESTS) is None
    assert await Runner(Told([Ran("unavailable")]), "tag").passed(PROGRAM, TESTS) is None
    assert await Runner(Told([]), "tag").passed(replied("no"), TESTS) is False


@pytest.mark.parametrize(
    ("runs", "score"),
    [
        ([PASSED, LINEAR], 0.97),
        ([PASSED, timed((10, 0.1), (20, 0.4), (30, 0.9), (40, 1.6))], 0.85),
        ([PASSED, timed((10, 0.1), (20, 0.2))], 0.7),
        ([PASSED, Ran("unavailable")], 0.7),
        ([HALF, LINEAR], 0.0),
        ([Ran("unavailable")], 0.35),
    ],
)
async def test_a_right_program_is_worth_more_the_less_its_time_grows(
    runs: list[Ran], score: float
) -> None:
    sandbox = Told(runs)
    found = await Runner(sandbox, "tag").complexity_score(PROGRAM, TESTS, WORK)

    assert found == pytest.approx(score)


async def test_a_wrong_program_is_not_timed() -> None:
    sandbox = Told([HALF])
    await Runner(sandbox, "tag").complexity_score(PROGRAM, TESTS, WORK)

    assert len(sandbox.programs) == 1


async def test_a_program_is_not_timed_where_nothing_runs() -> None:
    assert await Runner(None, "tag").complexity_score(PROGRAM, TESTS, WORK) == pytest.approx(0.35)
