from __future__ import annotations

from dataclasses import replace

import pytest

from pricing.usage import Usage
from techniques.catalog import self_consistency as voting
from techniques.catalog.self_consistency import self_consistency
from techniques.catalog.self_refine import Options, self_refine
from techniques.core.errors import UpstreamFailed
from techniques.core.reply import Reply
from techniques.core.request import (
    Opaque,
    Request,
    Sampling,
    Text,
    Thinking,
    ThinkingWish,
    ToolCall,
)
from techniques.parts.room import wider
from tests.techniques.scene import (
    Answer,
    Cap,
    Played,
    Setting,
    asks,
    channels,
    faults,
    play,
    scripted,
    sensible,
)

SPENT = Reply((Thinking("Hm, hm."),), "length", usage=Usage(9, 500))
LIMITED = asks(sampling=Sampling(max_output_tokens=300))


def test_a_reply_that_thought_and_said_nothing_needs_twice_the_room() -> None:
    request = replace(LIMITED, thinking=ThinkingWish("on", 200), step="c1")

    assert wider(request, SPENT) == replace(
        request,
        sampling=Sampling(max_output_tokens=600),
        thinking=ThinkingWish("on", 400),
        step="c1m",
    )


def test_where_no_limit_was_set_the_providers_own_was_met() -> None:
    again = wider(asks(), SPENT)

    assert again is not None
    assert again.sampling.max_output_tokens == 1000
    assert wider(asks(), replace(SPENT, usage=None)) is None


def test_what_a_provider_wants_back_of_its_thinking_is_no_answer() -> None:
    details = Opaque("openai_chat", {"reasoning_details": [{}]}, thinking=True)

    assert wider(LIMITED, replace(SPENT, parts=(details,))) is not None


@pytest.mark.parametrize(
    "reply",
    [
        replace(SPENT, finish_reason="stop"),
        replace(SPENT, parts=(Thinking("Hm."), Text("It is"))),
        replace(SPENT, parts=(ToolCall("t1", "f", ""),)),
        replace(SPENT, finish_reason="content_filter"),
    ],
)
def test_a_reply_that_ended_otherwise_needs_no_more_room(reply: Reply) -> None:
    assert wider(LIMITED, reply) is None


def thinker(*, at_first: set[str], again: Answer = "It is 42.") -> dict[str, Answer]:
    return {**dict.fromkeys(at_first, SPENT), **{f"{step}m": again for step in at_first}}


async def voted(answers: dict[str, Answer], cap: int | None = None) -> Played:
    def answer(request: Request) -> Answer:
        return answers.get(request.step, "It is 42.")

    channel = scripted(answer)
    setting = Setting(voting.Options(), cap=Cap(channel, cap) if cap else None)
    return await play(self_consistency, channels(channel), LIMITED, setting)


async def test_a_draw_that_ran_out_of_room_is_made_once_more_with_twice_as_much() -> None:
    played = await voted(thinker(at_first={"c1"}))

    limits = {request.step: request.sampling.max_output_tokens for request in played.asked}
    assert (limits["c1"], limits["c1m"]) == (300, 600)
    assert played.note("more_room") == {"step": "c1", "max_tokens": 600}
    assert played.note("votes")["lost"] == {}
    assert played.text == "It is 42."


async def test_a_draw_is_made_once_more_only_once() -> None:
    played = await voted(thinker(at_first={"c1"}, again=SPENT))

    assert [r.step for r in played.asked if r.step.startswith("c1")] == ["c1", "c1m"]
    assert played.note("votes")["lost"] == {"empty": 1}


async def test_where_more_room_fails_the_draw_is_lost_as_it_was() -> None:
    played = await voted(thinker(at_first={"c1"}, again=UpstreamFailed("down")))

    assert played.note("votes")["lost"] == {"empty": 1}


async def test_caps_leave_no_call_for_more_room() -> None:
    played = await voted(thinker(at_first={"c0", "c1", "c2"}), cap=4)

    assert len(played.asked) == 4
    assert played.text == "It is 42."


async def test_a_draft_and_a_critique_get_more_room_too() -> None:
    answers: dict[str, Answer] = {"d0": SPENT, "d0m": "It is 41.", "k0": SPENT, "k0m": faults()}

    def answer(request: Request) -> Answer:
        return answers[request.step] if request.step in answers else sensible(request)

    channel = scripted(answer)
    played = await play(self_refine, channels(channel), LIMITED, Setting(Options()))

    assert [request.step for request in played.asked] == ["d0", "d0m", "k0", "k0m"]
    assert played.text == "It is 41."
