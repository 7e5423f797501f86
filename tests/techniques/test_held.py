from __future__ import annotations

from dataclasses import replace

import pytest

from techniques.core.channel import ask
from techniques.core.json import Json
from techniques.core.reply import replied
from techniques.core.request import Image, Message, Request, Text, ThinkingWish, said
from techniques.core.task import Unlimited
from techniques.parts.answers import expect
from techniques.parts.confidence import ASK
from techniques.parts.cue import cue, cued
from techniques.phases.held import Held, Prepaid, holding
from tests.techniques.scene import Cap, asks, channels, scripted, tokens

QUESTION = replace(
    asks("What is 6 * 7?"), messages=(said("system", "Be brief."), said("user", "What is 6 * 7?"))
)
AT_HAND = tokens("It is ", 0.9, "42", 0.8)
CUE = cue(expect(QUESTION)) or ""


def first(request: Request, role: str = "candidate", step: str = "c0") -> Request:
    return replace(request, role=role, step=step, model="other")


def sampled(**changes: Json) -> Request:
    return replace(QUESTION, sampling=replace(QUESTION.sampling, **changes))


def held() -> Held:
    return Held(QUESTION, AT_HAND)


@pytest.mark.parametrize(
    ("role", "step"), [("candidate", "c0"), ("candidate", "d0"), ("answer", "a0")]
)
def test_who_asks_the_question_first_is_given_the_answer(role: str, step: str) -> None:
    taken = held().taken(first(QUESTION, role, step))

    assert taken == replace(AT_HAND, logprobs=None)


def test_it_is_given_once() -> None:
    at_hand = held()

    assert at_hand.taken(first(QUESTION)) is not None
    assert at_hand.taken(first(QUESTION, "answer", "a0")) is None


def test_probabilities_are_given_to_who_asks_for_them() -> None:
    assert held().taken(first(sampled(logprobs=True))) == AT_HAND


@pytest.mark.parametrize("added", [CUE, ASK])
def test_a_wish_for_a_last_line_asks_for_no_other_answer(added: str) -> None:
    assert held().taken(first(cued(QUESTION, added))) is not None


@pytest.mark.parametrize(
    "other",
    [
        first(QUESTION, step="c1"),
        first(QUESTION, step="c10"),
        first(QUESTION, role="judge", step="j0"),
        first(sampled(temperature=0.7)),
        first(sampled(seed=3)),
        first(sampled(n=2)),
        first(replace(QUESTION, thinking=ThinkingWish(effort="high"))),
        first(cued(QUESTION, "\n\nThink step by step.")),
        first(QUESTION.with_turns(said("assistant", "43"), said("user", "Wrong."))),
        first(replace(QUESTION, messages=QUESTION.messages[1:])),
    ],
)
def test_who_asks_something_else_is_not_given_it(other: Request) -> None:
    assert held().taken(other) is None


def test_parts_that_have_no_hash_are_compared_all_the_same() -> None:
    picture = Image(url="https://example.com/a.png", cache={"type": "ephemeral"})
    question = replace(QUESTION, messages=(Message("user", (Text("Look."), picture)),))
    asked = cued(question, "\n\nLook twice.")

    assert Held(question, AT_HAND).taken(first(asked)) is None
    assert Held(question, AT_HAND).taken(first(question)) is not None


async def test_only_the_first_model_gives_it_and_no_call_is_made() -> None:
    channel = scripted(lambda _request: "called")
    pool = holding(channels(channel, pool=2), held()).pool

    texts = [(await ask(member, first(QUESTION))).text for member in pool[::-1]]

    assert texts == ["called", "It is 42"]
    assert len(channel.asked) == 1


async def test_a_call_after_it_is_made() -> None:
    channel = scripted(lambda _request: "called")
    primary = holding(channels(channel), held()).primary

    texts = [(await ask(primary, first(QUESTION))).text for _ in range(2)]

    assert texts == ["It is 42", "called"]


def test_what_is_at_hand_is_paid_for() -> None:
    at_hand = held()
    channel = scripted(lambda _request: "x")
    prepaid = Prepaid(Cap(channel, 1), at_hand)

    assert [prepaid.affordable(calls) for calls in (1, 2, 3)] == [1, 2, 2]
    at_hand.taken(first(QUESTION))
    assert [prepaid.affordable(calls) for calls in (1, 2)] == [1, 1]


def test_without_caps_there_is_no_more_than_was_asked_about() -> None:
    assert Prepaid(Unlimited(), Held(QUESTION, replied("x"))).affordable(3) == 3
