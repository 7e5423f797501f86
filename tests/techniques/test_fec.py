from __future__ import annotations

from dataclasses import replace

import pytest

from techniques.core.errors import UpstreamFailed
from techniques.core.reply import replied
from techniques.core.request import Tool, ToolChoice
from techniques.testing import Line
from tests.techniques.parities import (
    CARDS,
    DEEP,
    DOWN,
    NAMES,
    SALT,
    SEA,
    by_step,
    checked,
    run,
)
from tests.techniques.scene import Answer, calls, channels, shown


@pytest.mark.parametrize("name", NAMES)
async def test_an_answer_that_is_worked_out_again_alike_is_given_word_for_word(name: str) -> None:
    late = Line(replied("It is 7."), after=60)
    played = await run(name, by_step(c0="Six sevens: 42.", c1="It is 42.", c2=late))
    assert played.text == "Six sevens: 42."
    assert set(played.roles()) == {"candidate"}
    assert played.note("parity") == {"by": "vote", "parities": 1, "effective_rate": 0.5}
    assert played.early == []


async def test_the_answer_and_those_who_have_not_seen_it_are_asked_at_once() -> None:
    slow = {f"c{place}": Line(replied(f"It is {place}."), after=5) for place in range(3)}
    channel = by_step(**slow)
    await run("fec_0.33", channel)
    assert channel.most_open == 3


async def test_who_works_it_out_again_does_not_see_the_answer() -> None:
    played = await run("fec_0.33", by_step(c0="It is 41.", c1="It is 42.", c2="It is 42."))
    drawn = {one.step: shown(one) for one in played.asked if one.role == "candidate"}
    assert "from the ground up" in drawn["c1"]
    assert "another way" in drawn["c2"]
    assert "ground up" not in drawn["c0"]
    assert not any("41" in text for text in drawn.values())
    assert all(text.rstrip().endswith("gives the number.") for text in drawn.values())


async def test_the_majority_is_given_and_the_line_asked_for_is_taken_out() -> None:
    right = "Seven sixes are 42.\n\nFinal answer: 42"
    played = await run("fec_0.33", by_step(c0="Final answer: 41", c1=right, c2="It is 42."))
    assert played.text == "Seven sixes are 42."
    assert played.note("parity")["by"] == "vote"


@pytest.mark.parametrize(
    ("result", "text"), [("42", "It is 42."), ("41", "It is 41."), ("40", "It is 41.")]
)
@pytest.mark.parametrize("name", ["fec_0.75", "fec_0.50"])
async def test_where_two_disagree_a_check_decides_and_else_the_answer_stays(
    name: str, result: str, text: str
) -> None:
    played = await run(name, by_step(c0="It is 41.", c1="It is 42.", v0=checked(result)))
    assert played.text == text
    assert played.roles() == ["candidate", "candidate", "verification"]
    assert played.note("parity")["by"] == ("draft" if result == "40" else "check")
    assert played.early == ["It is 41."]


@pytest.mark.parametrize("check", ["I am not sure.", checked(""), DOWN])
async def test_a_check_that_tells_nothing_leaves_the_answer(check: Answer) -> None:
    channel = by_step(c0="It is 41.", c1="It is 42.", v0=check)
    assert (await run("fec_0.50", channel)).text == "It is 41."


async def test_three_that_disagree_are_decided_by_a_check() -> None:
    channel = by_step(c0="It is 40.", c1="It is 41.", c2="It is 42.", v0=checked("It is 42."))
    played = await run("fec_0.25", channel)
    assert played.text == "It is 42."
    assert len(played.asked) == 4


async def test_an_answer_that_is_lost_gives_way_to_one_of_those_worked_out_beside() -> None:
    channel = by_step(c0=DOWN, c1="It is 42.", c2="It is 42.")
    assert (await run("fec_0.33", channel)).text == "It is 42."


async def test_a_parity_that_is_lost_lowers_nothing_but_the_redundancy() -> None:
    played = await run("fec_0.50", by_step(c0="It is 41.", c1=DOWN, v0=checked("41")))
    assert played.text == "It is 41."
    assert played.note("parity") == {"by": "check", "parities": 1, "effective_rate": 0.5}


async def test_all_lost_is_the_failure() -> None:
    with pytest.raises(UpstreamFailed, match="down"):
        await run("fec_0.75", by_step(candidate=DOWN))


async def test_a_refusal_is_the_answer() -> None:
    no = "I can't help with that."
    played = await run("fec_0.33", by_step(c0="It is 41.", c1=no, c2="It is 42."))
    assert played.text == no
    assert "refusal_kept" in played.warnings


async def test_parities_come_from_another_model_if_there_is_one() -> None:
    channel = by_step(candidate=SALT)
    models = channels(channel, pool=2)
    await run("fec_0.25", channel, SEA, models=models)
    asked = {one.step: one.model for one in channel.asked}
    assert asked.pop("c0") == "model-0"
    assert set(asked.values()) == {"model-1"}


@pytest.mark.parametrize("cap", [3, 4, 5])
async def test_there_are_as_many_parities_as_can_be_paid_and_compared(cap: int) -> None:
    played = await run("fec_0.25", by_step(candidate=SALT), SEA, cap=cap)
    assert played.text == SALT
    assert len(played.asked) == cap
    assert played.roles()[-1] == "crosscheck"


async def test_without_a_call_to_decide_there_is_a_plain_call() -> None:
    played = await run("fec_0.75", by_step(a0=SALT), SEA, cap=2)
    assert played.roles() == ["answer"]


TOOLED = replace(SEA, tools=(Tool("time"),))


async def test_a_tool_call_that_keeps_to_the_form_is_one_call() -> None:
    action = calls("time", "{}")
    played = await run("fec_0.25", by_step(d0=action), TOOLED)
    assert (played.reply, played.roles()) == (action, ["candidate"])


async def test_after_an_answer_in_words_no_parity_calls_a_tool() -> None:
    played = await run("fec_0.33", by_step(d0=SALT, candidate=DEEP), TOOLED)
    assert played.text == SALT
    assert played.asked[0].step == "d0"
    beside = [one for one in played.asked if one.step in {"c1", "c2"}]
    assert [one.tool_choice for one in beside] == [ToolChoice("none")] * 2


@pytest.mark.parametrize("name", NAMES)
def test_the_card_tells_that_json_is_left_to_a_plain_call(name: str) -> None:
    assert CARDS[name].traits.modality.json == "plain"
