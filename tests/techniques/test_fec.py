from __future__ import annotations

import json
from dataclasses import replace

import pytest

from techniques import catalog
from techniques.core.channel import Channels
from techniques.core.errors import UpstreamFailed
from techniques.core.json import Json
from techniques.core.registry import load
from techniques.core.reply import replied
from techniques.core.request import Request, Tool, ToolChoice
from techniques.testing import Line, ScriptedChannel
from tests.techniques.scene import (
    Answer,
    Cap,
    Played,
    Setting,
    asks,
    calls,
    channels,
    play,
    prefers,
    scripted,
    shown,
)

CARDS = load(catalog)
NAMES = ("fec_0.75", "fec_0.50", "fec_0.33", "fec_0.25")
SUM = asks("What is 6 * 7?")
SEA = asks("Tell me of the sea.")
SALT = "The sea is salt. It is 3 km deep. It is old."
DEEP = "The sea is salt and 4 km deep."
DOWN = UpstreamFailed("down", "server", retryable=True)
PLAIN: dict[str, Answer] = {
    "verification": json.dumps({"result": "", "faults": [], "doubts": []}),
    "crosscheck": json.dumps({"consistent": True, "conflicts": []}),
}


def conflict(
    main: str = "3 km deep", parity: str = "4 km deep", resolution: str = "4 km deep"
) -> dict[str, str]:
    return {"claim": "depth", "main": main, "parity": parity, "resolution": resolution}


def syndrome(*conflicts: Json, consistent: bool = False) -> str:
    return json.dumps({"consistent": consistent, "conflicts": conflicts})


def checked(result: str) -> str:
    return json.dumps({"result": result, "faults": []})


def by_step(**answers: Answer) -> ScriptedChannel:
    """Answer by step, or by role where the step is not named."""
    said = {**PLAIN, **answers}
    return scripted(lambda one: said[one.step] if one.step in said else said[one.role])


async def run(
    name: str,
    channel: ScriptedChannel,
    request: Request = SUM,
    *,
    models: Channels | None = None,
    cap: int | None = None,
    **options: Json,
) -> Played:
    card = CARDS[name]
    limit = None if cap is None else Cap(channel, cap)
    setting = Setting(card.options(**options), cap=limit)
    return await play(card.run, models or channels(channel), request, setting)


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


@pytest.mark.parametrize(("name", "made"), list(zip(NAMES, (3, 4, 5, 6), strict=True)))
async def test_what_nothing_contradicts_is_given_word_for_word(name: str, made: int) -> None:
    played = await run(name, by_step(candidate=SALT), SEA)
    assert played.text == SALT
    assert len(played.asked) == made
    rate = {3: 1 / 2, 4: 1 / 3, 5: 1 / 4, 6: 1 / 5}[made]
    assert played.note("parity") == {"by": "draft", "parities": made - 2, "effective_rate": rate}
    assert played.early == [SALT]


async def test_checks_see_the_answer_and_who_compares_sees_all() -> None:
    faulty = json.dumps({"result": "", "faults": [{"quote": "old", "why": "It is young."}]})
    channel = by_step(c0=SALT, c1=DEEP, c2="It is wet.", v0=faulty)
    played = await run("fec_0.25", channel, SEA)
    asked = {one.step: shown(one) for one in played.asked}
    assert SALT in asked["v0"]
    assert SALT in asked["v1"]
    assert all(text in asked["x0"] for text in (SALT, DEEP, "It is wet.", "It is young."))


async def test_a_conflict_is_corrected_in_place() -> None:
    played = await run("fec_0.75", by_step(c0=SALT, c1=DEEP, x0=syndrome(conflict())), SEA)
    assert played.text == "The sea is salt. It is 4 km deep. It is old."
    assert played.note("parity")["by"] == "patch"
    assert len(played.asked) == 3


TWICE = f"{SALT} It is 3 km deep."
WHOLE = "The sea is salt. It is 4 km deep. It is old."


async def test_what_cannot_be_corrected_in_place_is_written_anew() -> None:
    channel = by_step(c0=TWICE, c1=DEEP, x0=syndrome(conflict()), s0=WHOLE)
    played = await run("fec_0.75", channel, SEA)
    assert played.text == WHOLE
    assert played.note("parity")["by"] == "writing"
    writing = played.asked[-1]
    assert writing.role == "synthesis"
    assert writing.sampling.temperature == 0.2
    assert 'Where it says "3 km deep": 4 km deep' in writing.messages[-1].text


async def test_a_writer_brings_in_no_number_of_its_own() -> None:
    channel = by_step(c0=TWICE, c1=DEEP, x0=syndrome(conflict()), s0=WHOLE.replace("4 km", "5 km"))
    assert (await run("fec_0.75", channel, SEA)).text == TWICE


@pytest.mark.parametrize("winner", ["1", "2"])
async def test_a_full_guard_asks_a_judge(winner: str) -> None:
    other = "2" if winner == "1" else "1"
    sides = {"p0a": prefers(winner), "p0b": prefers(other)}
    channel = by_step(c0=TWICE, c1=DEEP, x0=syndrome(conflict()), s0=WHOLE, **sides)
    played = await run("fec_0.75", channel, SEA, guard="full")
    assert played.text == (WHOLE if winner == "2" else TWICE)


@pytest.mark.parametrize(
    "said",
    [
        syndrome(conflict(), consistent=True),
        syndrome(conflict(main="9 km deep")),
        syndrome(conflict(parity="9 km deep")),
        syndrome(conflict(parity="")),
        syndrome(conflict(resolution="")),
        syndrome(conflict(resolution="3 km deep")),
        syndrome("deep"),
        json.dumps({"consistent": False}),
    ],
)
async def test_a_conflict_that_is_none_changes_nothing(said: str) -> None:
    played = await run("fec_0.75", by_step(c0=SALT, c1=DEEP, x0=said), SEA)
    assert played.text == SALT
    assert "verification_unusable" not in played.warnings


@pytest.mark.parametrize("said", ["They disagree.", "{}", DOWN])
async def test_a_comparison_that_cannot_be_read_leaves_the_answer(said: Answer) -> None:
    played = await run("fec_0.75", by_step(c0=SALT, c1=DEEP, x0=said), SEA)
    assert played.text == SALT
    assert "verification_unusable" in played.warnings


async def test_an_answer_without_parities_is_given_as_it_is() -> None:
    played = await run("fec_0.75", by_step(c0=SALT, c1=DOWN), SEA)
    assert played.text == SALT
    assert played.note("parity") == {"by": "draft", "parities": 0, "effective_rate": 1.0}
    assert len(played.asked) == 2


async def test_a_model_may_compare_what_could_be_voted_on() -> None:
    channel = by_step(
        c0="It is 41.",
        c1="It is 42.",
        x0=syndrome(conflict("is 41", "is 42", "is 42")),
        s0="It is 42.",
    )
    played = await run("fec_0.75", channel, decode="llm")
    assert played.text == "It is 42."
    assert "crosscheck" in played.roles()


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
