from __future__ import annotations

import json

import pytest

from techniques.core.json import Json
from techniques.core.request import said
from tests.techniques.parities import (
    DEEP,
    DOWN,
    NAMES,
    SALT,
    SEA,
    by_step,
    conflict,
    run,
    syndrome,
)
from tests.techniques.scene import Answer, prefers, shown


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


@pytest.mark.parametrize("main", [SALT, TWICE], ids=["in place", "anew"])
@pytest.mark.parametrize(("sides", "better"), [("21", True), ("12", False), ("22", False)])
async def test_a_full_guard_asks_a_judge(main: str, sides: str, better: Json) -> None:
    orders = list(zip("ab", sides, strict=True))
    said_so = {f"{unit}{order}": prefers(side) for unit in ("p0", "ps0") for order, side in orders}
    channel = by_step(c0=main, c1=DEEP, x0=syndrome(conflict()), s0=WHOLE, **said_so)
    played = await run("fec_0.75", channel, SEA, guard="full")
    assert played.text == (WHOLE if better else main)
    assert played.roles().count("judge") == 2


@pytest.mark.parametrize("main", [SALT, TWICE], ids=["in place", "anew"])
async def test_under_a_full_guard_nothing_is_corrected_that_no_judge_can_be_paid_for(
    main: str,
) -> None:
    channel = by_step(c0=main, c1=DEEP, x0=syndrome(conflict()), s0=WHOLE)
    played = await run("fec_0.75", channel, SEA, guard="full", cap=4)
    assert played.text == main


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
        syndrome({**conflict(), "parity": 4}),
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


async def test_an_answer_that_the_client_began_is_corrected_in_place_or_not_at_all() -> None:
    begun = SEA.with_turns(said("assistant", "Well:"))
    there = by_step(c0=SALT, c1=DEEP, x0=syndrome(conflict()))
    assert (await run("fec_0.75", there, begun)).text == WHOLE
    anew = by_step(c0=TWICE, c1=DEEP, x0=syndrome(conflict()))
    assert (await run("fec_0.75", anew, begun)).text == TWICE
