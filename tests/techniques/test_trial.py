from __future__ import annotations

from typing import Final

import anyio
import pytest

from techniques.core.reply import replied
from techniques.core.task import Sandbox, Task
from techniques.parts.candidates import Candidate
from techniques.parts.programs import Suite
from techniques.phases.attempt import Attempt, begin
from techniques.phases.trial import Trial, Trials, sound, suite_for, tried
from tests.techniques.sandboxes import Here, Slow
from tests.techniques.scene import asks, channels, draws

ASKED: Final = asks("Write f in Python.\n```python\nassert f(1) == 2\n```")
GOOD: Final = replied("```python\ndef f(x):\n    return x + 1\n```")
BAD: Final = replied("```python\ndef f(x):\n    return x\n```")
BROKEN: Final = replied("```python\ndef f(:\n```")


def attempt(sandbox: Sandbox | None, deadline: float | None = None) -> Attempt:
    task = Task(ASKED, None, deadline=deadline, sandbox=sandbox)
    return begin(task, channels(draws([])), "any")


async def test_an_answer_is_tried_against_the_tests_of_the_request() -> None:
    assert (await tried(attempt(Here()), GOOD)).passed is True
    assert (await tried(attempt(Here()), BAD)).passed is False
    assert await tried(attempt(None), BROKEN) == Trial(parses=False)


async def test_a_trial_takes_no_longer_than_there_is_time() -> None:
    slow = Slow(60)
    late = attempt(slow, deadline=anyio.current_time() + 2)

    assert (await tried(late, GOOD)).passed is None

    assert late.late
    assert slow.running == 0
    assert anyio.current_time() == 2


async def test_what_the_deadline_cut_off_passes_nothing_and_tests_still_count() -> None:
    late = attempt(Slow(60), deadline=anyio.current_time() + 2)
    trials = Trials(late, suite_for(late, None, needed=True))
    candidates = [Candidate(place, GOOD) for place in range(2)]

    await trials.run(candidates)

    assert trials.tests is not None
    assert trials.best(candidates) == candidates[0]
    assert trials.result() == {"passed": 0, "shares": []}


async def test_nothing_is_run_without_tests_or_answers() -> None:
    sandbox = Here()

    await Trials(attempt(sandbox), None).run([Candidate(0, GOOD)])
    await Trials(attempt(sandbox), Suite("assert f(1) == 2")).run([])

    assert not sandbox.programs


@pytest.mark.parametrize(
    ("question", "is_sound"), [("Write f in Python.", False), ("What is wrong here?", True)]
)
def test_code_must_parse_where_code_is_asked_for(question: str, *, is_sound: bool) -> None:
    task = Task(asks(question), None)
    assert sound(begin(task, channels(draws([])), "any"), BROKEN) == is_sound
    assert sound(begin(task, channels(draws([])), "any"), GOOD)
