from __future__ import annotations

from random import Random
from typing import Any

import orjson
import pytest

from gateway.upstream.simulated.settings import MODELS, Simulation
from gateway.upstream.simulated.transport import SimulatedTransport
from techniques.core.channel import Member
from techniques.core.json import JsonObject
from techniques.core.reply import Reply
from techniques.core.request import Request, Text, said
from techniques.parts import critique, difficulty, judge, labels, picking, reference
from techniques.parts.aside import Aside
from techniques.parts.candidates import Candidate
from techniques.parts.mending import worth_mending
from techniques.parts.transcript import Fence
from techniques.testing import ScriptedChannel
from tests.gateway.upstream.simulated_calls import ask

QUESTION = Request("m", (said("system", "Be brief."), said("user", "What is 17 * 23?")))
RIGHT = Reply((Text("First 17 * 20, then 17 * 3. The answer is 391."),))
WRONG = Reply((Text("First 17 * 20, then 17 * 3. The answer is 381."),))
DRAWS = 120


async def told(transport: SimulatedTransport, request: Request, *, form: bool = True) -> str:
    body: JsonObject = {"temperature": request.sampling.temperature, "model": "sim-large"}
    if form and request.response_format is not None:
        wanted = {"name": "x", "schema": request.response_format.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": wanted}
    return (await ask(transport, request.messages[-1].text, **body)).text


def aside(fence: Fence) -> Aside:
    return Aside(QUESTION, Member("judge", "sim-large", ScriptedChannel([])), fence, "0")


def fences() -> list[Fence]:
    random = Random(7)
    return [Fence(f"{random.getrandbits(64):016x}") for _ in range(DRAWS)]


@pytest.mark.parametrize("held", ["by a schema", "by words alone"])
async def test_a_checklist_is_right_as_often_as_stated(held: str) -> None:
    transport = SimulatedTransport(Simulation(seed=1))
    right = 0

    for place, fence in enumerate(fences()):
        reply = RIGHT if place % 2 else WRONG
        request = judge.verdict_request(aside(fence), reply)
        score = judge.read_score(await told(transport, request, form=held == "by a schema"))
        assert score is not None
        right += (score > 0.5) == (reply is RIGHT)

    assert right / DRAWS == pytest.approx(1 - MODELS["sim-large"].judge_error_rate, abs=0.09)


@pytest.mark.parametrize("held", ["by a schema", "by words alone"])
async def test_a_judge_with_a_reference_is_right_as_often_as_stated(held: str) -> None:
    transport = SimulatedTransport(Simulation(seed=1))
    right = 0

    for place, fence in enumerate(fences()):
        reply = RIGHT if place % 2 else WRONG
        request = reference.compared_request(aside(fence), reply, reference.Reference("391"))
        said = await told(transport, request, form=held == "by a schema")
        score = reference.read_compared(said)
        assert score is not None
        right += (score > 0.5) == (reply is RIGHT)

    assert right / DRAWS == pytest.approx(1 - MODELS["sim-large"].judge_error_rate, abs=0.09)


async def test_the_better_answer_wins_as_often_as_stated_wherever_it_stands() -> None:
    transport = SimulatedTransport(Simulation(seed=1))
    right = 0

    for place, fence in enumerate(fences()):
        pair = (RIGHT, WRONG) if place % 2 else (WRONG, RIGHT)
        request = judge.preference_request(aside(fence), *pair)
        side = judge.read_preference(await told(transport, request))
        right += side == ("first" if place % 2 else "second")

    assert right / DRAWS == pytest.approx(1 - MODELS["sim-large"].judge_error_rate, abs=0.09)


async def test_a_right_answer_among_many_is_picked_as_often_as_stated() -> None:
    transport = SimulatedTransport(Simulation(seed=1))
    right = 0

    for place, fence in enumerate(fences()):
        order = [RIGHT if at == place % 4 else WRONG for at in range(4)]
        request = picking.pick_request(aside(fence), order)
        right += picking.read_pick(await told(transport, request), 4) == place % 4

    assert right / DRAWS == pytest.approx(1 - MODELS["sim-large"].judge_error_rate, abs=0.09)


async def test_between_equals_the_judge_leans_to_no_side() -> None:
    transport = SimulatedTransport()
    sides = []

    for fence in fences():
        request = judge.preference_request(aside(fence), RIGHT, RIGHT)
        sides.append(judge.read_preference(await told(transport, request)))

    assert sides.count("tie") > DRAWS / 3
    assert abs(sides.count("first") - sides.count("second")) < DRAWS / 4


async def test_a_critic_finds_the_fault_of_a_wrong_answer_and_quotes_it() -> None:
    transport = SimulatedTransport(Simulation(seed=1))
    found = alarms = 0

    for fence in fences():
        request = critique.critique_request(aside(fence), WRONG)
        read = critique.read_critique(await told(transport, request))
        assert read is not None
        found += bool(worth_mending(read.findings, WRONG.text, "number"))
        assert all(finding.quote in WRONG.text for finding in read.findings)
        request = critique.critique_request(aside(fence), RIGHT)
        read = critique.read_critique(await told(transport, request))
        alarms += read is not None and not read.done

    assert found / DRAWS > 0.8
    assert alarms / DRAWS < 0.2


async def test_a_correction_asked_for_is_made() -> None:
    finding = critique.Finding("The answer is 381.", "wrong", "The answer is 391.", "critical")
    turn = critique.correction([finding])
    turns: list[Any] = [
        {"role": "user", "content": "What is 17 * 23?"},
        {"role": "assistant", "content": WRONG.text},
        {"role": "user", "content": turn},
    ]

    texts = [(await ask(SimulatedTransport(), messages=turns, seed=s)).text for s in range(40)]

    assert sum("391" in text for text in texts) >= 30


async def test_a_voter_groups_answers_by_their_results() -> None:
    transport = SimulatedTransport(Simulation(seed=1))
    order = [Candidate(i, reply) for i, reply in enumerate((RIGHT, WRONG, RIGHT))]
    right = 0

    for fence in fences():
        request = labels.labels_request(aside(fence), order)
        read = labels.read_labels(await told(transport, request), order)
        assert read is not None
        right += read[0] == read[2] != read[1]

    assert right / DRAWS > 0.8


async def test_what_a_model_got_wrong_it_finds_hard_as_often_as_its_verdicts_are_right() -> None:
    transport = SimulatedTransport(Simulation(seed=1))
    right = 0

    for place, fence in enumerate(fences()):
        reply = RIGHT if place % 2 else WRONG
        request = difficulty.rating_request(aside(fence), reply)
        rated = difficulty.read_rating(await told(transport, request, form=bool(place % 3)))
        assert rated is not None
        right += (rated < 0.5) == (reply is RIGHT)

    assert right / DRAWS == pytest.approx(1 - MODELS["sim-large"].judge_error_rate, abs=0.09)


async def test_a_question_about_judging_is_no_case_to_judge() -> None:
    got = await ask(SimulatedTransport(), "Explain the winner field and n04 of <<a b>> prompts")

    assert "simulated" in got.text
    with pytest.raises(orjson.JSONDecodeError):
        orjson.loads(got.text)
