"""Refining what has a form: JSON is mended by pointers, code is parsed and run."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from techniques.catalog.harq_ir import Options, harq_ir
from techniques.core.json import Json
from techniques.core.request import Request, ResponseFormat, said
from techniques.core.task import Ran
from techniques.testing import ScriptedChannel
from tests.techniques import refining
from tests.techniques.refining import DATE, GAP, GOOD, HI, POOR, by_step
from tests.techniques.sandboxes import Here, Slow
from tests.techniques.scene import (
    Answer,
    Played,
    Setting,
    asks,
    fault,
    faults,
    play,
    prefers,
    shown,
    with_judge,
)


async def run(channel: ScriptedChannel, request: Request) -> Played:
    return await refining.run(channel, request, technique="harq_ir")


SCHEMA = {
    "type": "object",
    "properties": {"year": {"type": "integer"}, "name": {"type": "string"}},
    "required": ["year", "name"],
    "additionalProperties": False,
}
FORMED = replace(HI, response_format=ResponseFormat("json_schema", SCHEMA, "war", strict=True))
WAR = '{"year": 1916, "name": "The Great War"}'


def pointed(pointer: str, value: Json, kind: str = "wrong") -> Json:
    return {"path": pointer, "value": value, "kind": kind, "severity": "major"}


def formed(issue: Json, **answers: Answer) -> ScriptedChannel:
    return by_step({"d0": WAR, "s0": POOR, "k0": faults(issue), **answers})


@pytest.mark.parametrize("value", ["1914", 1914])
async def test_json_is_mended_where_the_critic_points(value: Json) -> None:
    played = await run(formed(pointed("/year", value)), FORMED)
    assert json.loads(played.text) == {"year": 1914, "name": "The Great War"}
    assert "refine" not in played.roles()
    critique = next(one for one in played.asked if one.role == "critique")
    assert "JSON pointer" in shown(critique)
    assert critique.response_format is not None
    assert "path" in json.dumps(critique.response_format.schema)


async def test_a_patch_that_breaks_the_schema_is_written_by_the_model_instead() -> None:
    rewritten = WAR.replace("1916", "1914")
    played = await run(formed(pointed("/year", "'14"), r0=rewritten), FORMED)
    assert played.text == rewritten
    asked = next(one for one in played.asked if one.role == "refine")
    assert 'At "/year": \'14' in asked.messages[-1].text
    assert asked.response_format == FORMED.response_format


async def test_a_rewrite_that_breaks_the_schema_is_sent_back_once_with_what_is_wrong() -> None:
    rewritten = WAR.replace("1916", "1914")
    answers: dict[str, Answer] = {"r0": '{"year": "x"}', "rr0": rewritten}
    played = await run(formed(pointed("/year", "'14"), **answers), FORMED)
    assert played.text == rewritten
    again = next(one for one in played.asked if one.step == "rr0")
    assert '"name" is a required property' in again.messages[-1].text
    stubborn = await run(formed(pointed("/year", "'14"), refine="{}"), FORMED)
    assert stubborn.text == WAR


async def test_a_pointer_to_nowhere_mends_nothing() -> None:
    played = await run(formed(pointed("/month", 7)), FORMED)
    assert played.text == WAR
    assert played.note("rounds")["ended"] == "converged"


TEST = "assert double(2) == 4"
CODED = asks(f"Write a python function double(x).\n{TEST}")
WRONG_CODE = "```python\ndef double(x):\n    return x + x + x\n```"
RIGHT_CODE = WRONG_CODE.replace(" + x + x", " + x")
SUM = fault("x + x + x", "x + x")


async def coded(channel: ScriptedChannel, bench: Here | Slow, **options: Json) -> Played:
    setting = Setting(Options(**options), sandbox=bench)
    return await play(harq_ir, with_judge(channel), CODED, setting)


async def test_code_that_passes_the_tests_needs_no_judge() -> None:
    bench = Here()
    played = await coded(by_step({"d0": RIGHT_CODE}), bench)
    assert played.roles() == ["candidate"]
    assert played.note("rounds")["ended"] == "tests_passed"
    assert len(bench.programs) == 1


async def test_what_failing_tests_say_is_mended_and_what_passes_is_taken() -> None:
    played = await coded(by_step({"d0": WRONG_CODE, "r0": RIGHT_CODE}), Here())
    assert played.text == RIGHT_CODE
    assert played.roles() == ["candidate", "critique", "refine"]
    asked = played.asked[-1].messages[-1].text
    assert "assert double(2) == 4: AssertionError" in asked
    assert played.note("rounds")["ended"] == "tests_passed"


async def test_a_loop_without_end_is_told_as_such() -> None:
    channel = by_step({"d0": WRONG_CODE, "r0": RIGHT_CODE})
    played = await coded(channel, Slow(ran=Ran("timeout")))
    asked = next(one for one in played.asked if one.step == "r0")
    assert "did not end in time" in asked.messages[-1].text


async def test_an_answer_without_code_is_sent_back() -> None:
    played = await coded(by_step({"d0": "I would add x to x.", "r0": RIGHT_CODE}), Here())
    assert played.text == RIGHT_CODE
    assert "no Python in the answer" in played.asked[-1].messages[-1].text


async def test_where_code_cannot_be_run_the_judge_decides() -> None:
    channel = by_step({"d0": WRONG_CODE, "s0": POOR, "k0": faults(SUM)})
    played = await coded(channel, Slow())
    assert played.roles()[:5] == ["candidate", "judge", "critique", "judge", "judge"]


async def test_tests_that_still_fail_leave_it_to_the_judge() -> None:
    other = WRONG_CODE.replace("x + x + x", "x * 4")
    channel = by_step({"d0": WRONG_CODE, "s0": POOR, "r0": other, "judge": prefers("tie")})
    played = await coded(channel, Here(), max_rounds=2)
    assert played.text == WRONG_CODE
    assert played.note("rounds") == {"used": 1, "accepted": 0, "ended": "rounds"}


async def test_no_score_makes_code_good_enough_that_fails_the_tests() -> None:
    other = WRONG_CODE.replace("x + x + x", "x * 4")
    channel = by_step({"d0": WRONG_CODE, "refine": other, "judge": GOOD})
    played = await coded(channel, Here(), accept="score", max_rounds=2)
    assert played.note("rounds")["ended"] == "rounds"


async def test_code_that_does_not_parse_is_written_anew_and_taken() -> None:
    draft = "```python\ndef double(x:\n```"
    played = await run(by_step({"d0": draft, "r0": RIGHT_CODE}), CODED)
    assert played.text == RIGHT_CODE
    assert (
        "does not parse" in next(one for one in played.asked if one.step == "r0").messages[-1].text
    )
    assert "judge" not in played.roles()


async def test_code_is_patched_only_if_it_still_parses() -> None:
    broken = fault("return x + x + x", "return x +")
    channel = by_step({"d0": WRONG_CODE, "s0": POOR, "k0": faults(broken), "r0": RIGHT_CODE})
    played = await run(channel, CODED)
    assert played.text == RIGHT_CODE
    patched = await run(by_step({"d0": WRONG_CODE, "s0": POOR, "k0": faults(SUM)}), CODED)
    assert patched.text == RIGHT_CODE
    assert "refine" not in patched.roles()


async def test_no_judge_overrules_that_code_does_not_parse() -> None:
    rewrite = "```python\ndef double(x:\n```"
    channel = by_step({"d0": WRONG_CODE, "s0": POOR, "k0": faults(GAP), "r0": rewrite})
    played = await run(channel, CODED)
    assert played.text == WRONG_CODE
    assert "p0a" not in [one.step for one in played.asked]


BEGUN = HI.with_turns(said("assistant", "The war"))


async def test_an_answer_that_the_client_began_is_mended_in_place_or_not_at_all() -> None:
    rest = " began in 1916."
    patched = await run(by_step({"d0": rest, "s0": POOR, "k0": faults(DATE)}), BEGUN)
    assert patched.text == " began in 1914."
    gap = by_step({"d0": rest, "s0": POOR, "k0": faults(GAP)})
    assert (await run(gap, BEGUN)).text == rest
    assert "refine" not in [one.role for one in gap.asked]
