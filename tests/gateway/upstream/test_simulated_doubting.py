"""How sure the simulation is of its answers, and that it says so when asked."""

from __future__ import annotations

import re

import pytest

from gateway.upstream.simulated.grading import is_right
from gateway.upstream.simulated.settings import MODELS, Simulation
from gateway.upstream.simulated.solving import without_cue
from gateway.upstream.simulated.transport import SimulatedTransport
from techniques.core.json import Json, JsonObject
from techniques.parts.answers import Expected
from techniques.parts.confidence import ASK, CHECK
from techniques.parts.cue import cue
from tests.gateway.upstream.simulated_calls import Got, ask

QUESTION = "What is 17 * 23?"
CUE = cue(Expected("number", "number")) or ""
DRAWS = 120


async def check(
    transport: SimulatedTransport, answer: str, question: str = QUESTION, **body: Json
) -> Got:
    turns: list[JsonObject] = [
        {"role": "user", "content": question},
        {"role": "assistant", "content": answer},
        {"role": "user", "content": CHECK},
    ]
    wanted: JsonObject = {
        "max_tokens": 1,
        "logprobs": True,
        "top_logprobs": 5,
        "model": "sim-large",
    }
    return await ask(transport, **{"messages": turns, **wanted, **body})


def told(got: Got) -> dict[str, float]:
    first = got.body["choices"][0]["logprobs"]["content"][0]
    return {entry["token"]: entry["logprob"] for entry in first["top_logprobs"]}


async def test_a_check_is_right_as_often_as_stated_and_its_digit_the_likelier() -> None:
    transport = SimulatedTransport(Simulation(seed=1))
    right = 0

    for place in range(DRAWS):
        got = await check(transport, "It is 391." if place % 2 else "It is 381.")
        odds = told(got)
        assert got.text == max(odds, key=lambda token: odds[token])
        assert odds.keys() == {"0", "1"}
        right += got.text == str(place % 2)

    assert right / DRAWS == pytest.approx(1 - MODELS["sim-large"].judge_error_rate, abs=0.09)


async def test_a_check_looks_at_the_question_before_it_without_its_cues() -> None:
    got = await check(SimulatedTransport(), "It is 391.", QUESTION + CUE + ASK, temperature=0)

    assert got.text in {"0", "1"}


async def test_without_alternatives_asked_for_a_check_gives_none() -> None:
    got = await check(SimulatedTransport(), "It is 391.", top_logprobs=0)

    assert told(got) == {}


async def test_a_check_with_nothing_to_check_is_a_question_like_any() -> None:
    got = await ask(SimulatedTransport(), CHECK)

    assert got.text not in {"0", "1"}


async def test_confidence_is_stated_when_asked_for_and_higher_of_right_answers() -> None:
    transport = SimulatedTransport(Simulation(seed=1))
    stated: dict[bool, list[int]] = {True: [], False: []}

    for _ in range(DRAWS):
        text = (await ask(transport, QUESTION + CUE + ASK)).text
        found = re.search(r"Final answer: (.+)\n\nConfidence: (\d+)$", text)
        assert found is not None
        stated[is_right(QUESTION, found[1])].append(int(found[2]))

    means = {right: sum(values) / len(values) for right, values in stated.items()}
    assert means[True] > means[False] + 5
    assert max(stated[False]) > min(stated[True])


async def test_nobody_who_does_not_ask_is_told_a_confidence() -> None:
    assert "Confidence" not in (await ask(SimulatedTransport(), QUESTION + CUE)).text


async def test_a_stock_answer_states_confidence_too() -> None:
    text = (await ask(SimulatedTransport(), "Tell me of the sea." + ASK)).text

    assert re.search(r"about sea\b.*\nConfidence: \d+$", text, re.DOTALL)


def test_all_cues_are_taken_off_a_question() -> None:
    assert without_cue(QUESTION + CUE + ASK).strip() == QUESTION
