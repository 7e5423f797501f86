from __future__ import annotations

import pytest

from gateway.upstream.simulated.settings import MODELS, Simulation
from gateway.upstream.simulated.transport import SimulatedTransport
from techniques.core.channel import Member
from techniques.core.reply import replied
from techniques.core.request import Request, said
from techniques.parts.aside import Aside
from techniques.parts.candidates import Candidate
from techniques.parts.remarks import read_remarks, remarks_request
from techniques.parts.synthesis import Brief, synthesis_request
from techniques.parts.transcript import Fence
from techniques.testing import ScriptedChannel
from tests.gateway.upstream.simulated_calls import ask
from tests.techniques.scene import shown

QUESTION = Request("m", (said("user", "What is 17 * 23?"),))
PROSE = Request("m", (said("user", "Tell me of the sea."),))
WRITER = Member("writer", "sim-large", ScriptedChannel([]))
DRAFTS = [Candidate(0, replied("The answer is 381.")), Candidate(1, replied("The answer is 391."))]
DRAWS = 120


async def written(request: Request, *texts: str, tag: str = "0123456789abcdef") -> str:
    brief = Brief([Candidate(place, replied(text)) for place, text in enumerate(texts)])
    prompt = shown(synthesis_request(request, brief, Fence(tag), WRITER))
    return (await ask(SimulatedTransport(Simulation(seed=1)), prompt, model="sim-large")).text


async def test_the_right_draft_is_found_as_often_as_stated() -> None:
    right = 0
    for place in range(DRAWS):
        texts = ("The answer is 391.", "The answer is 381.")
        answer = await written(QUESTION, *texts, tag=f"{place:016x}")
        assert answer in texts
        right += answer == texts[0]

    half_of_errors = MODELS["sim-large"].judge_error_rate / 2
    assert right / DRAWS == pytest.approx(1 - half_of_errors, abs=0.09)


async def test_an_answer_in_prose_takes_a_sentence_of_another_draft() -> None:
    answer = await written(PROSE, "The sea is deep. It is old.", "The sea is salt.")
    assert answer in {
        "The sea is deep. It is old. The sea is salt.",
        "The sea is salt. The sea is deep.",
    }


async def test_json_is_taken_as_it_is() -> None:
    texts = ('{"deep": true}', '{"deep": false}')
    assert await written(PROSE, *texts) in texts


async def test_a_critic_remarks_on_what_is_wrong() -> None:
    aside = Aside(QUESTION, WRITER, Fence("0123456789abcdef"), "k")
    prompt = shown(remarks_request(aside, DRAFTS))
    told = (await ask(SimulatedTransport(Simulation(seed=1)), prompt, model="sim-large")).text
    assert read_remarks(told) == "- Draft A: its result does not hold."
