from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random

import pytest

from gateway.upstream.simulated.settings import MODELS, Simulation
from gateway.upstream.simulated.transport import SimulatedTransport
from techniques.core.channel import Member
from techniques.core.json import JsonObject
from techniques.core.reply import replied
from techniques.core.request import Request, said
from techniques.parts import parities, verification
from techniques.parts.aside import Aside
from techniques.parts.transcript import Fence
from techniques.parts.verification import Fact
from techniques.testing import ScriptedChannel
from tests.gateway.upstream.simulated_calls import ask

ASKED = "What is 17 * 23?"
RIGHT = replied("First 17 * 20, then 17 * 3. The answer is 391.")
WRONG = replied("First 17 * 20, then 17 * 3. The answer is 381.")
KNOWN = [Fact(ASKED, "The answer is 391.")]
DRAWS = 120
held = pytest.mark.parametrize("form", ["by a schema", "by words alone"])


async def told(request: Request, form: str = "by a schema") -> str:
    body: JsonObject = {"temperature": request.sampling.temperature, "model": "sim-large"}
    if form == "by a schema" and request.response_format is not None:
        wanted = {"name": "x", "schema": request.response_format.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": wanted}
    transport = SimulatedTransport(Simulation(seed=1))
    return (await ask(transport, request.messages[-1].text, **body)).text


def asides(count: int = DRAWS, question: str = ASKED) -> Iterator[Aside]:
    """Yield asides that differ only in their fence: the draws of the simulation go by the words."""
    random = Random(7)
    member = Member("m", "sim-large", ScriptedChannel([]))
    for _ in range(count):
        fence = Fence(f"{random.getrandbits(64):016x}")
        yield Aside(Request("m", (said("user", question),)), member, fence, "0")


@held
async def test_a_plan_asks_for_what_the_model_knows_about(form: str) -> None:
    (aside,) = asides(1)
    plan = await told(verification.plan_request(aside, RIGHT, 3), form)
    assert verification.read_plan(plan, 3) == [ASKED]
    (open_ended,) = asides(1, "Describe the sea.")
    plan = await told(verification.plan_request(open_ended, RIGHT, 3), form)
    assert verification.read_plan(plan, 3) == []


@held
async def test_a_fact_is_found_out_as_well_as_any_answer(form: str) -> None:
    found = [
        verification.read_fact(await told(verification.question_request(aside, ASKED), form))
        for aside in asides()
    ]
    assert found.count("The answer is 391.") / DRAWS > 0.8
    (aside,) = asides(1)
    unknown = await told(verification.question_request(aside, "What is the sea?"), form)
    assert verification.read_fact(unknown) is None


@held
async def test_a_contradiction_is_seen_as_often_as_stated_and_never_where_there_is_none(
    form: str,
) -> None:
    found = alarms = 0
    for aside in asides():
        for draft in (WRONG, RIGHT):
            said_so = await told(verification.comparison_request(aside, draft, KNOWN), form)
            read = verification.read_contradictions(said_so, KNOWN)
            assert read is not None
            found += draft is WRONG and bool(read)
            alarms += draft is RIGHT and bool(read)
    rate = MODELS["sim-large"].judge_error_rate
    assert found / DRAWS == pytest.approx(1 - rate, abs=0.09)
    assert alarms == 0


@held
@pytest.mark.parametrize("parity", [RIGHT.text, '{"result": "391", "faults": []}'])
async def test_a_conflict_is_resolved_as_often_as_stated(form: str, parity: str) -> None:
    mended = 0
    for aside in asides():
        said_so = await told(parities.syndrome_request(aside, WRONG, [parity]), form)
        read = parities.read_conflicts(said_so, [parity])
        assert read is not None
        mended += bool(read) and "391" in read[0].fix
    rate = MODELS["sim-large"].judge_error_rate
    assert mended / DRAWS == pytest.approx(1 - rate, abs=0.09)


@held
async def test_answers_with_one_result_are_consistent(form: str) -> None:
    (aside,) = asides(1)
    said_so = await told(parities.syndrome_request(aside, WRONG, [WRONG.text]), form)
    assert json.loads(said_so)["consistent"] is True


@held
async def test_a_check_works_the_task_out_itself(form: str) -> None:
    results = [
        parities.read_result(await told(parities.check_request(aside, WRONG), form))
        for aside in asides()
    ]
    assert results.count("391") / DRAWS > 0.8


@held
async def test_doubts_name_the_result(form: str) -> None:
    (aside,) = asides(1)
    doubts = json.loads(await told(parities.doubt_request(aside, WRONG), form))["doubts"]
    assert [doubt["claim"] for doubt in doubts] == ["The answer is 381."]


async def test_a_question_about_checking_is_no_case_to_check() -> None:
    text = "<<abcdef question>>\nWhat is 6 * 7?\n<<end abcdef>>\nWhat do n04 and winner mean?"
    got = await ask(SimulatedTransport(), text)
    assert got.status == 200
    with pytest.raises(json.JSONDecodeError):
        json.loads(got.text)
