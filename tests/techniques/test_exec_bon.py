from __future__ import annotations

from dataclasses import replace
from typing import Final

import anyio
import pytest
from pydantic import ValidationError

from techniques.catalog.best_of_n import Options as BestOptions
from techniques.catalog.best_of_n import best_of_n
from techniques.catalog.exec_bon import Options, exec_bon
from techniques.core.errors import UpstreamFailed
from techniques.core.events import Note, Provisional
from techniques.core.json import Json
from techniques.core.request import Request, ResponseFormat, Tool
from techniques.core.task import Ran, Sandbox
from techniques.testing import ScriptedChannel
from tests.techniques.sandboxes import UNAVAILABLE, Here, Slow
from tests.techniques.scene import (
    Answer,
    Cap,
    Played,
    Setting,
    asks,
    calls,
    channels,
    draws,
    marks,
    play,
    scripted,
    with_judge,
)

TESTS: Final = "assert double(2) == 4\nassert double(0) == 0\nassert double(-1) == -2"
WANTED: Final = "Write a function double in Python that doubles a number."
ASKED: Final = asks(f"{WANTED}\n\n```python\n{TESTS}\n```")
DOWN: Final = UpstreamFailed("down", "server", retryable=True)


def code(body: str) -> str:
    return f"Here:\n\n```python\ndef double(x):\n    return {body}\n```\n"


GOOD, OTHER, POOR, BAD = code("x + x"), code("2 * x"), code("x * x"), code("None")


async def run(
    channel: ScriptedChannel,
    request: Request = ASKED,
    sandbox: Sandbox | None = None,
    cap: Cap | None = None,
    **options: Json,
) -> Played:
    setting = Setting(Options(**options), cap=cap, sandbox=sandbox or Here())
    return await play(exec_bon, with_judge(channel), request, setting)


async def test_it_ends_with_the_first_wave_in_which_a_program_passes() -> None:
    played = await run(draws([BAD, POOR, BAD, GOOD, OTHER]))
    assert played.text == GOOD
    assert played.roles() == ["candidate"] * 4
    assert not played.warnings


async def test_of_those_that_pass_the_first_is_given() -> None:
    played = await run(draws([OTHER, GOOD]))
    assert played.text == OTHER
    assert played.roles() == ["candidate"] * 2


async def test_coverage_is_reported() -> None:
    note = (await run(draws([BAD, POOR, GOOD, OTHER]))).note("scores")
    assert (note["passed"], note["asked"], note["chosen"]) == (2, 4, 2)
    assert note["shares"] == pytest.approx([0, 2 / 3, 1, 1])


async def test_where_none_passes_the_one_that_passes_most_is_given_and_that_is_told() -> None:
    played = await run(draws([BAD, POOR] + [BAD] * 6))
    assert played.text == POOR
    assert played.roles() == ["candidate"] * 8
    assert "8" in played.warnings["tests_failed"]


async def test_an_answer_that_declines_is_no_better_than_one_that_fails() -> None:
    played = await run(draws(["I can't help with that.", *[BAD] * 7]))
    assert played.text == BAD
    assert "tests_failed" in played.warnings


async def test_tests_can_be_given_and_then_count_in_place_of_those_in_the_request() -> None:
    played = await run(draws([BAD, GOOD]), asks(WANTED), tests=TESTS)
    assert played.text == GOOD
    played = await run(draws([GOOD, POOR]), tests="assert double(3) == 9")
    assert played.text == POOR


async def test_lost_and_invalid_draws_are_not_run() -> None:
    sandbox = Here()
    played = await run(draws([DOWN, "", GOOD, OTHER]), sandbox=sandbox)
    assert played.text == GOOD
    assert len(sandbox.programs) == 2


@pytest.mark.parametrize(
    ("request_", "sandbox", "why"),
    [
        (asks(WANTED), Here(), "no tests"),
        (ASKED, None, "no sandbox"),
        (replace(ASKED, tools=(Tool("t"),)), Here(), "tool call"),
        (replace(ASKED, response_format=ResponseFormat("json_object")), Here(), "JSON"),
        (ASKED, Slow(), "could not run"),
    ],
)
async def test_where_tests_cannot_be_run_a_judge_selects(
    request_: Request, sandbox: Sandbox | None, why: str
) -> None:
    answers: list[Answer] = ['{"a": 1}'] * 2 if "JSON" in why else [BAD, GOOD]
    channel = draws(answers, lambda _request: marks())
    setting = Setting(Options(), sandbox=sandbox)
    played = await play(exec_bon, with_judge(channel), request_, setting)
    assert played.reply.text == answers[0]
    assert why in played.warnings["tests_unused"]
    assert {"candidate", "judge"} == set(played.roles())


async def test_without_tests_it_costs_no_more_than_best_of_n() -> None:
    def answer(request: Request) -> Answer:
        return marks("n04", "n05") if request.role == "judge" else request.step

    played = await run(scripted(answer), asks(WANTED))
    assert played.roles().count("candidate") <= 5
    assert len(played.asked) <= 12


async def test_answers_without_a_program_are_judged() -> None:
    played = await run(draws(["It cannot be done.", "No, really."], lambda _request: marks()))
    assert "no Python program" in played.warnings["tests_unused"]
    assert "judge" in played.roles()


async def test_an_action_is_judged_and_not_run() -> None:
    acting = calls("t", "{}")
    request = replace(ASKED, tools=(Tool("t"),))
    played = await run(draws([acting, acting], lambda _request: marks()), request)
    assert played.reply == acting


async def test_a_sandbox_that_gives_out_midway_leaves_all_answers_to_the_judge() -> None:
    class Failing(Here):
        async def run(self, program: str) -> Ran:
            return UNAVAILABLE if len(self.programs) == 2 else await super().run(program)

    played = await run(draws([BAD, POOR, GOOD, BAD], lambda _one: marks()), sandbox=Failing())
    assert played.roles() == ["candidate"] * 4 + ["judge"] * 6
    assert played.note("scores")["scores"] == [1.0] * 4


async def test_programs_of_a_wave_run_at_once_and_not_longer_than_there_is_time() -> None:
    slow = Slow(3, Ran("timeout"))
    channel = scripted(lambda _request: GOOD)
    setting = Setting(Options(), sandbox=slow, deadline=anyio.current_time() + 4)
    played = await play(exec_bon, with_judge(channel), ASKED, setting)
    assert played.text == GOOD
    assert played.roles() == ["candidate"] * 4
    assert anyio.current_time() == 4
    assert slow.running == 0
    assert "deadline_reached" in played.warnings


@pytest.mark.parametrize(("most", "roles"), [(1, ["answer"]), (3, ["candidate"] * 3)])
async def test_caps_count_draws_alone_where_nothing_is_judged(most: int, roles: list[str]) -> None:
    channel = scripted(lambda _request: BAD)
    played = await run(channel, cap=Cap(channel, most))
    assert played.roles() == roles


async def test_a_waiting_client_is_told_how_it_gets_on() -> None:
    played = await run(draws([BAD, POOR, GOOD, BAD]))
    stages = [
        one.data["stage"]
        for one in played.events
        if isinstance(one, Note) and one.topic == "progress"
    ]
    assert stages == ["sampling", "testing", "sampling", "testing"]
    assert [one.text for one in played.events if isinstance(one, Provisional)] == [BAD, POOR, GOOD]


async def test_best_of_n_asks_no_judge_where_tests_can_be_run() -> None:
    setting = Setting(BestOptions(), sandbox=Here())
    played = await play(best_of_n, with_judge(draws([BAD, POOR, GOOD, BAD])), ASKED, setting)
    assert played.text == GOOD
    assert played.roles() == ["candidate"] * 4


@pytest.mark.parametrize("sandbox", [None, Here()])
async def test_best_of_n_needs_no_tests_and_says_nothing_where_it_has_none(
    sandbox: Sandbox | None,
) -> None:
    request = ASKED if sandbox is None else asks("What would `assert double(2) == 4` do?")
    setting = Setting(BestOptions(), sandbox=sandbox)
    played = await play(best_of_n, with_judge(draws(["A", "B"])), request, setting)
    assert "judge" in played.roles()
    assert not played.warnings


async def test_best_of_n_says_so_where_tests_that_were_given_cannot_be_run() -> None:
    setting = Setting(BestOptions(tests=TESTS))
    channel = draws([GOOD, BAD], lambda _request: marks())
    played = await play(best_of_n, with_judge(channel), asks(WANTED), setting)
    assert "no sandbox" in played.warnings["tests_unused"]


async def test_without_a_judge_the_fallback_says_that_the_model_judged_itself() -> None:
    channel = draws([GOOD, BAD], lambda _request: marks())
    played = await play(exec_bon, channels(channel), asks(WANTED), Setting(Options()))
    assert {"tests_unused", "self_judged"} <= played.warnings.keys()


@pytest.mark.parametrize("options", [{"num_samples": 9}, {"tests": ""}, {"tests": "x" * 100_001}])
def test_options_have_bounds(options: dict[str, Json]) -> None:
    with pytest.raises(ValidationError):
        Options(**options)


@pytest.mark.parametrize("tests", ["def test_a(:", "x = 1", ""])
def test_tests_that_test_nothing_are_refused(tests: str) -> None:
    with pytest.raises(ValidationError):
        Options(tests=tests)
