from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from techniques.core.json import Json
from techniques.core.request import Request, ResponseFormat
from techniques.testing import ScriptedChannel
from tests.techniques import refining
from tests.techniques.refining import (
    DATE,
    DRAFT,
    GAP,
    GOOD,
    HI,
    MENDED,
    POOR,
    STOP,
    by_step,
    never_content,
    poor,
)
from tests.techniques.scene import (
    Answer,
    Played,
    asks,
    fault,
    faults,
    prefers,
    scripted,
    shown,
)

LENSES = {
    "correctness": "statements and result are right",
    "completeness": "everything that was asked for",
    "logic": "each step follows",
    "clarity": "only as it is meant",
    "constraints": "all limits that were set",
}


async def run(channel: ScriptedChannel, request: Request = HI, **options: Json) -> Played:
    return await refining.run(channel, request, technique="turbo", **options)


def gaps(step: str, count: int = 1) -> str:
    """A critique of so many things that are missing, none the same as in another step."""
    return faults(
        *(fault("", f"Add {step} {place} {place + 1}", "missing") for place in range(count))
    )


def going_on(count: int = 1, *, rejects: tuple[str, ...] = ()) -> Callable[[Request], Answer]:
    """Find *count* new gaps each time, and prefer what fills them but in rounds of *rejects*."""

    def answer(request: Request) -> Answer:
        pair = "answer 2>>" in shown(request)
        match request.role:
            case "critique":
                return gaps(request.step, count)
            case "judge" if pair and request.step[1:-1] in rejects:
                return prefers("tie")
            case "judge" if pair:
                return prefers("2" if request.step.endswith("a") else "1")
            case "judge":
                return POOR
            case _:
                return f"{DRAFT} Then came {request.step}."

    return answer


def passed_on(played: Played) -> list[int]:
    """How many corrections each rewrite was asked for."""
    asked = [one.messages[-1].text for one in played.asked if one.role == "refine"]
    return [text.count("(missing)") for text in asked]


def lenses(played: Played) -> list[str]:
    """What each critique was told to look at."""
    asked = [shown(one) for one in played.asked if one.role == "critique"]
    return [
        next((name for name, words in LENSES.items() if words in text), "none") for text in asked
    ]


async def test_a_draft_that_scores_well_is_left_as_it_is() -> None:
    played = await run(by_step({"d0": DRAFT, "s0": GOOD}))
    assert played.text == DRAFT
    assert played.roles() == ["candidate", "judge"]


async def test_the_critic_looks_at_one_thing_after_another_correctness_first() -> None:
    played = await run(scripted(going_on()), max_iterations=6)
    assert lenses(played) == ["correctness", "completeness", "logic", "clarity", "correctness"]


async def test_limits_are_looked_at_where_the_request_sets_some() -> None:
    formed = replace(HI, response_format=ResponseFormat("json_object"))
    worded = asks("Tell me of the war in one word.")

    def answer(request: Request) -> Answer:
        if request.role in {"candidate", "refine"}:
            return f'{{"a": "{request.step}"}}'
        if request.role == "critique" and "JSON pointer" in shown(request):
            issue = {"path": f"/{request.step}", "value": "1", "kind": "missing"}
            return faults({**issue, "severity": "major"})
        return going_on()(request)

    for request in (formed, worded):
        assert "constraints" in lenses(await run(scripted(answer), request, max_iterations=6))


async def test_iterations_include_the_draft_and_the_worst_case_is_eighteen_calls() -> None:
    played = await run(scripted(never_content))
    assert played.note("rounds") == {"used": 4, "accepted": 4, "ended": "rounds"}
    assert len(played.asked) == 18


@pytest.mark.parametrize(
    ("alpha", "found", "most", "passed"),
    [
        (0.5, 1, 5, 1),
        (0.5, 4, 5, 2),
        (0.5, 5, 5, 3),
        (1.0, 5, 5, 5),
        (1.0, 5, 2, 2),
        (0.01, 5, 5, 1),
    ],
)
async def test_a_share_of_the_faults_is_passed_on_and_at_least_one(
    alpha: float, found: int, most: int, passed: int
) -> None:
    channel = scripted(going_on(found))
    played = await run(channel, alpha=alpha, max_corrections=most, max_iterations=2)
    assert passed_on(played) == [passed]


async def test_the_gravest_faults_are_passed_on() -> None:
    both = faults(fault("was long", "lasted"), fault("in 1916", "in 1914", severity="critical"))
    played = await run(poor({"k0": both}), max_iterations=2)
    assert played.text == MENDED


async def test_a_rejection_halves_the_share_and_a_success_raises_it_again() -> None:
    channel = scripted(going_on(5, rejects=("0",)))
    played = await run(channel, alpha=1.0, max_corrections=5, max_iterations=5)
    assert passed_on(played) == [5, 3, 3, 4]


async def test_the_share_never_rises_above_what_it_was() -> None:
    played = await run(scripted(going_on(5)), alpha=0.4, max_corrections=5, max_iterations=4)
    assert passed_on(played) == [2, 2, 2]


async def test_minor_faults_are_let_be() -> None:
    trifle = faults(fault("was long", "lasted", severity="minor"))
    played = await run(poor({"k0": trifle}))
    assert played.text == DRAFT
    assert played.note("rounds")["ended"] == "converged"
    assert (await run(poor({"k0": trifle}), severity_floor="minor")).text != DRAFT


async def test_two_rejections_in_a_row_are_the_end() -> None:
    played = await run(scripted(going_on(rejects=("0", "1"))))
    assert played.note("rounds") == {"used": 2, "accepted": 0, "ended": "rejected_twice"}


async def test_a_fault_that_was_damped_away_may_be_found_again() -> None:
    end = fault("", "Say when it ended, and how.", "missing")
    cost = fault("", "Tell us whom it hurt most.", "missing")
    played = await run(poor({"critique": faults(end, cost), "refine": f"{DRAFT} It ended."}))
    assert passed_on(played)[0] == 1
    first, second = [one.messages[-1].text for one in played.asked if one.role == "refine"][:2]
    assert "when it ended" in first
    assert "whom it hurt" in second


async def test_the_critic_does_not_see_what_earlier_critiques_said() -> None:
    played = await run(poor({"k0": faults(DATE), "k1": STOP}))
    second = [shown(one) for one in played.asked if one.role == "critique"][1]
    assert "settled>>\nin 1916\n<<end" in second
    assert second.count("in 1914") == 1


async def test_what_critics_see_nothing_wrong_with_costs_no_rewrite() -> None:
    played = await run(poor({"critique": faults(GAP, decision="stop")}))
    assert played.roles() == ["candidate", "judge", "critique"]
