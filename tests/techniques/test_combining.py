from __future__ import annotations

from dataclasses import replace

import pytest

from techniques.core.capabilities import Capabilities
from techniques.core.channel import Channels, Member
from techniques.core.errors import UpstreamFailed
from techniques.core.events import Provisional
from techniques.core.reply import replied
from techniques.core.request import Image, Message, Request, Text, Tool, said
from techniques.parts.candidates import Candidate
from techniques.parts.cue import LastLine
from techniques.phases.combining import Combining
from tests.techniques.drafts import (
    BOTH,
    CHEAP,
    DEEP,
    SALT,
    SEA,
    NoOptions,
    combine,
    combining,
    drawn,
)
from tests.techniques.scene import (
    Answer,
    Cap,
    Setting,
    asks,
    calls,
    channels,
    play,
    scripted,
    shown,
)

DRAFTS = drawn(DEEP, SALT)
SEEING, BLIND = Capabilities(), Capabilities(vision=False)
PICTURE = Request("m", (Message("user", (Text("Tell me of this sea."), Image(url="u"))),))


def scored(*scores: float | None) -> list[Candidate]:
    texts = (DEEP, SALT, BOTH)[: len(scores)]
    return [replace(one, score=score) for one, score in zip(drawn(*texts), scores, strict=True)]


async def test_one_answer_is_written_from_several() -> None:
    played = await combine(DRAFTS)
    assert played.text == BOTH
    assert played.roles() == ["synthesis"]
    assert [one.step for one in played.asked] == ["s0"]
    assert played.note("combined") == {"by": "writing", "best": 0, "of": 2}
    assert played.note("synthesis") == {"guard": "cheap", "broke": None}


async def test_the_best_so_far_can_be_seen_before_the_answer_is_written() -> None:
    played = await combine(drawn(DEEP, SALT, weights=(0.2, 1)), settings=Combining(dominance=0))
    assert Provisional(SALT) in played.events


async def test_the_only_candidate_is_the_answer_word_for_word() -> None:
    (alone,) = drawn(replace(replied(DEEP), id="r1", model="x"))
    played = await combine([alone])
    assert played.reply == alone.reply
    assert not played.asked


@pytest.mark.parametrize(
    ("ask", "answers"),
    [
        ("What is 6 * 7?", ("It is 41.", "I say 42.", "So 42.")),
        ("Which?\nA) a lake\nB) a sea\nC) a pond", ("A) a lake", "The answer is B", "B")),
        ("Is the sea salt?", ("No.", "Yes, it is.", "Yes.")),
        ("What is the capital of France?", ("Lyon", "It is Paris", "It is Paris.")),
    ],
)
async def test_answers_that_can_be_compared_are_voted_on_and_never_written(
    ask: str, answers: tuple[str, ...]
) -> None:
    request = asks(ask)
    played = await combine(drawn(*answers, request=request), request=request)
    assert played.text in answers[1:]
    assert not played.asked
    assert played.note("combined")["by"] == "vote"


async def test_a_vote_goes_by_weight() -> None:
    request = asks()
    candidates = drawn("41", "42", "41", request=request, weights=(0.3, 0.9, 0.3))
    assert (await combine(candidates, request=request)).text == "42"


async def test_a_split_vote_is_told() -> None:
    request = asks()
    played = await combine(drawn("41", "42", request=request), request=request)
    assert played.text == "41"
    assert "no_consensus" in played.warnings


async def test_tool_calls_are_voted_on_and_stay_as_they_are() -> None:
    request = replace(SEA, tools=(Tool("dive"),))
    given = {"a": '{"m": 1}', "b": '{"m": 2}', "c": '{"m":2}'}
    answers = [calls("dive", arguments, name) for name, arguments in given.items()]
    played = await combine(drawn(*answers, request=request), request=request)
    assert played.reply == answers[1]
    assert not played.asked


async def test_text_beside_fewer_tool_calls_is_written_without_them() -> None:
    request = replace(SEA, tools=(Tool("dive"),))
    played = await combine(drawn(DEEP, SALT, calls("dive", "{}"), request=request), request=request)
    assert played.text == BOTH
    assert "dive" not in shown(played.asked[0])


async def test_candidates_that_say_the_same_need_no_writing() -> None:
    played = await combine(drawn("The sea is salt.", "the sea is salt"))
    assert played.text == "the sea is salt"
    assert not played.asked
    assert played.note("combined")["by"] == "agreement"


async def test_one_that_weighs_far_more_is_the_answer() -> None:
    played = await combine(drawn(DEEP, SALT, weights=(0.4, 0.9)))
    assert played.text == SALT
    assert played.note("combined")["by"] == "dominance"
    assert (await combine(drawn(DEEP, SALT, weights=(0.5, 0.9)))).text == BOTH


async def test_one_that_is_judged_far_better_is_the_answer() -> None:
    by_score = replace(CHEAP, by_score=True)
    heavier = [replace(one, weight=0.9 - one.place / 10) for one in scored(0.9, 0.4, 0.3)]
    assert (await combine(heavier, settings=by_score)).text == DEEP
    assert (await combine(scored(0.9, 0.5, 0.3), settings=by_score)).text == BOTH


async def test_what_was_not_judged_is_not_much_worse() -> None:
    by_score = replace(CHEAP, by_score=True)
    assert (await combine(scored(0.9, None), settings=by_score)).text == BOTH
    assert (await combine(scored(None, None), settings=by_score)).text == BOTH


async def test_no_answer_need_dominate() -> None:
    settings = replace(CHEAP, dominance=0)
    assert (await combine(drawn(DEEP, SALT, weights=(0.01, 0.9)), settings=settings)).text == BOTH


async def test_the_writer_sees_the_weightiest_first() -> None:
    settings = replace(CHEAP, dominance=0)
    played = await combine(drawn(DEEP, SALT, weights=(0.3, 0.9)), settings=settings)
    text = shown(played.asked[0])
    assert text.index(SALT) < text.index(DEEP)
    assert "draft A (strong support)" in text


async def test_the_order_can_be_left_to_chance() -> None:
    settings = replace(CHEAP, shuffled=True)
    orders = set()
    for seed in range(8):
        channel = scripted(lambda _request: BOTH)
        setting = Setting(NoOptions(), seed)
        models = Channels(Member("m", "model", channel), (Member("m", "model", channel),))
        await play(combining(DRAFTS, settings), models, SEA, setting)
        text = shown(channel.asked[0])
        orders.add(text.index(SALT) < text.index(DEEP))
    assert orders == {True, False}


async def test_a_refusal_among_many_is_not_shown_to_the_writer() -> None:
    refusal = Candidate(2, replied("I can't help with that."), refusal=True)
    played = await combine([*DRAFTS, refusal])
    assert played.text == BOTH
    assert "can't help" not in shown(played.asked[0])


async def test_where_all_decline_it_is_declined() -> None:
    refusals = [Candidate(place, replied("I can't do that."), refusal=True) for place in range(2)]
    assert (await combine(refusals)).text == "I can't do that."


async def test_an_answer_whose_beginning_is_given_is_not_written_anew() -> None:
    request = replace(SEA, messages=(*SEA.messages, said("assistant", "The sea")))
    played = await combine(DRAFTS, request=request)
    assert played.text == DEEP
    assert "not_combined" in played.warnings
    assert played.note("combined")["by"] == "unwritable"


def models(*abilities: Capabilities) -> Channels:
    channel = scripted(lambda _request: BOTH)
    members = tuple(
        Member(f"m{place}", f"model-{place}", channel, able) for place, able in enumerate(abilities)
    )
    return Channels(members[0], members)


def capped(most: int) -> tuple[Channels, Setting]:
    channel = scripted(lambda _request: BOTH)
    return channels(channel), Setting(NoOptions(), cap=Cap(channel, most))


@pytest.mark.parametrize("wanted", [False, True])
async def test_a_model_that_sees_writes_of_pictures(*, wanted: bool) -> None:
    pool = models(BLIND, SEEING)
    settings = replace(CHEAP, writer=pool.primary if wanted else None)
    played = await play(combining(DRAFTS, settings), pool, PICTURE, Setting(NoOptions()))
    assert played.text == BOTH
    assert [one.model for one in played.asked] == ["model-1"]


async def test_where_no_model_sees_the_best_is_the_answer() -> None:
    played = await play(combining(DRAFTS), models(BLIND, BLIND), PICTURE, Setting(NoOptions()))
    assert played.text == DEEP
    assert "not_combined" in played.warnings


async def test_where_no_call_is_left_the_best_is_the_answer() -> None:
    pool, setting = capped(0)
    played = await play(combining(drawn(DEEP, SALT, weights=(0.6, 0.9))), pool, SEA, setting)
    assert played.text == SALT
    assert "cap_reached" in played.warnings


async def test_the_model_that_is_wanted_writes() -> None:
    pool = models(SEEING, SEEING)
    settings = replace(CHEAP, writer=pool.pool[1])
    played = await play(combining(DRAFTS, settings), pool, SEA, Setting(NoOptions()))
    assert [one.model for one in played.asked] == ["model-1"]


async def test_where_nothing_tells_which_is_best_it_can_be_the_one_of_middle_length() -> None:
    candidates = drawn(SALT + " It is old.", SALT, "Salt.")
    down = UpstreamFailed("down")
    assert (await combine(candidates, down)).text == SALT + " It is old."
    assert (await combine(candidates, down, settings=replace(CHEAP, middle=True))).text == SALT
    weighed = [replace(one, weight=0.6 + one.place / 10) for one in candidates]
    assert (await combine(weighed, down, settings=replace(CHEAP, middle=True))).text == "Salt."


async def test_the_best_is_one_of_what_most_conclude() -> None:
    candidates = drawn(
        "It is deep.\nAnswer: no", "Well.\nAnswer: yes", "So.\nAnswer: yes", weights=(1, 0.9, 0.9)
    )
    played = await combine(candidates, UpstreamFailed("down"))
    assert played.text == "So.\nAnswer: yes"


async def test_a_line_that_was_asked_for_is_seen_by_nobody() -> None:
    settings = replace(CHEAP, line=LastLine("State it."))
    candidates = drawn(f"{DEEP}\nFinal answer: deep", f"{SALT}\nFinal answer: salt")
    played = await combine(candidates, UpstreamFailed("down"), settings=settings)
    assert played.text == DEEP
    assert "Final answer" not in shown(played.asked[0])


@pytest.mark.parametrize("said_so", ['{"remarks": ["A is one-sided."]}', "Hm."])
async def test_a_critic_is_heard_first_if_it_can_be_understood(said_so: str) -> None:
    def answer(request: Request) -> Answer:
        return said_so if request.role == "critique" else BOTH

    played = await combine(DRAFTS, answer, settings=replace(CHEAP, critique=True))
    assert played.text == BOTH
    assert [one.step for one in played.asked] == ["ks0", "s0"]
    heard = "A is one-sided." in shown(played.asked[1])
    assert heard == ("critique_unusable" not in played.warnings) == (said_so != "Hm.")


async def test_a_critic_that_cannot_be_paid_is_left_out() -> None:
    pool, setting = capped(1)
    played = await play(combining(DRAFTS, replace(CHEAP, critique=True)), pool, SEA, setting)
    assert (played.text, played.roles()) == (BOTH, ["synthesis"])
