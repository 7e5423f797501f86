from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from techniques.catalog.genselect import Options, genselect
from techniques.core.errors import UpstreamFailed
from techniques.core.events import Provisional
from techniques.core.json import Json
from techniques.core.reply import replied
from techniques.core.request import Request, ResponseFormat, Tool
from techniques.parts.aside import Aside
from techniques.parts.picking import pick_request, read_pick
from techniques.parts.transcript import Fence
from techniques.testing import ScriptedChannel
from tests.techniques.scene import (
    Answer,
    Cap,
    Played,
    Setting,
    asks,
    calls,
    channels,
    draws,
    picks,
    play,
    prefers,
    scripted,
    shown,
    with_judge,
)

HI = asks("hi")
DOWN = UpstreamFailed("down", "server", retryable=True)


async def run(
    channel: ScriptedChannel, request: Request = HI, cap: Cap | None = None, **options: Json
) -> Played:
    setting = Setting(Options(**options), cap=cap)
    return await play(genselect, with_judge(channel), request, setting)


def numbered(request: Request) -> dict[str, int]:
    """Which number the judge sees before each answer."""
    found = re.findall(r"answer (\d+)>>\n(.*)\n", shown(request))
    return {text: int(number) for number, text in found}


def picking(*wanted: str, winner: str = "tie") -> Callable[[Request], Answer]:
    """Pick the first, then the second of *wanted*; compare two in favour of *winner*."""

    def judge(request: Request) -> Answer:
        numbers = numbered(request)
        if request.step in {"p0a", "p0b"}:
            return prefers(str(numbers.get(winner, "tie")))
        return picks(numbers[wanted[int(request.step[1])]])

    return judge


async def test_what_is_picked_in_both_orders_is_the_answer() -> None:
    played = await run(draws("ABCD", picking("C", "C")))
    assert played.text == "C"
    assert played.roles() == ["candidate"] * 4 + ["judge"] * 2
    assert played.note("choice")["chosen"] == 2


async def test_the_judge_sees_the_answers_in_opposite_orders() -> None:
    played = await run(draws("ABCD", picking("C", "C")))
    one, other = (numbered(asked) for asked in played.asked if asked.role == "judge")
    assert one.keys() == set("ABCD")
    assert {text: 5 - number for text, number in one.items()} == other


async def test_the_order_is_drawn_anew_for_each_request() -> None:
    orders = set()
    for seed in range(8):
        channel = draws("ABCD", picking("C", "C"))
        played = await play(genselect, with_judge(channel), HI, Setting(Options(), seed))
        first = next(asked for asked in played.asked if asked.step == "g0")
        orders.add(tuple(numbered(first)))
    assert len(orders) > 2


@pytest.mark.parametrize(("winner", "chosen"), [("B", "B"), ("D", "D"), ("neither", "B")])
async def test_two_picks_are_settled_side_by_side(winner: str, chosen: str) -> None:
    played = await run(draws("ABCD", picking("D", "B", winner=winner)))
    assert played.text == chosen
    assert played.roles() == ["candidate"] * 4 + ["judge"] * 4


@pytest.mark.parametrize("lost", ["g0", "g1"])
async def test_one_pick_that_can_be_read_is_enough(lost: str) -> None:
    def judge(request: Request) -> Answer:
        return "The third!" if request.step == lost else picks(numbered(request)["C"])

    played = await run(draws("ABCD", judge))
    assert played.text == "C"
    assert played.warnings["judge_unparsable"] == lost


@pytest.mark.parametrize("verdict", [DOWN, "Hm."])
async def test_without_any_pick_it_is_what_most_agree_on(verdict: Answer) -> None:
    played = await run(draws(["41", "42", "42", "43"], lambda _request: verdict), asks())
    assert played.text == "42"


@pytest.mark.parametrize(
    ("answers", "request_"),
    [
        (["So 42.", "It is 42.", "42", "= 42"], asks()),
        (["The same."] * 4, HI),
        ([calls("t", '{"a": 1}'), calls("t", '{"a":1}')] * 2, asks(tools=(Tool("t"),))),
    ],
)
async def test_where_there_is_no_choice_no_judge_is_asked(
    answers: list[Answer], request_: Request
) -> None:
    played = await run(draws(answers), request_)
    assert played.roles() == ["candidate"] * 4


async def test_a_lone_survivor_is_the_answer_without_a_judge() -> None:
    played = await run(draws([DOWN, "", "C", DOWN]))
    assert played.text == "C"
    assert played.roles() == ["candidate"] * 4
    assert played.note("choice")["lost"] == {"empty": 1, "failed": 2}


async def test_a_refusal_is_not_shown_to_the_judge_and_a_third_of_them_is_kept() -> None:
    no = "I can't help with that."
    played = await run(draws(["A", no, "C", "D"], picking("C", "C")))
    assert played.text == "C"
    assert not any(no in shown(asked) for asked in played.asked if asked.role == "judge")
    assert (await run(draws(["A", no, no, "D"]))).text == no


async def test_tool_calls_are_committed_word_for_word() -> None:
    acting = calls("time", '{"zone": "UTC"}', "call_7")

    def judge(request: Request) -> Answer:
        return picks(1 + shown(request).split("answer 1>>")[1].count("answer 2>>\n(calls"))

    request = asks("hi", tools=(Tool("time"),))
    played = await run(draws(["noon", acting], judge), request, num_samples=2)
    assert played.reply == acting


async def test_json_that_breaks_the_schema_is_not_chosen_from() -> None:
    schema = {"type": "object", "required": ["n"]}
    request = asks(response_format=ResponseFormat("json_schema", schema, strict=True))
    answers: list[Answer] = ["{}", '{"n": 1}', '{"n": 2}', "no"]
    played = await run(draws(answers, picking('{"n": 2}', '{"n": 2}')), request)
    assert played.text == '{"n": 2}'
    assert all(numbered(asked).keys() < set(answers) for asked in played.asked[4:])


@pytest.mark.parametrize(
    ("most", "roles"),
    [
        (3, ["answer"]),
        (4, ["candidate"] * 2 + ["judge"] * 2),
        (5, ["candidate"] * 3 + ["judge"] * 2),
        (6, ["candidate"] * 4 + ["judge"] * 2),
    ],
)
async def test_caps_leave_room_for_both_picks(most: int, roles: list[str]) -> None:
    channel = draws("ABCD", lambda one: "A" if one.role == "answer" else picks(1))
    played = await run(channel, cap=Cap(channel, most))
    assert played.roles() == roles
    assert "cap_reached" in played.warnings


async def test_the_first_answer_is_shown_while_the_judge_thinks() -> None:
    played = await run(draws("ABCD", picking("C", "C")))
    assert [event for event in played.events if isinstance(event, Provisional)] == [
        Provisional("A")
    ]


async def test_samples_can_come_from_all_models() -> None:
    channel = draws("ABCD", lambda one: picks(1) if "best" in shown(one) else prefers("tie"))
    models = channels(channel, pool=2)
    played = await play(genselect, models, HI, Setting(Options(pool="all")))
    drawn = [one.model for one in played.asked if one.role == "candidate"]
    assert sorted(drawn) == ["model-0", "model-0", "model-1", "model-1"]


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ('{"reason": "x", "best": 3}', 2),
        ('{"best": "2"}', 1),
        ('{"best": 0}', None),
        ('{"best": 5}', None),
        ('{"best": true}', None),
        ('{"best": 1.0}', None),
        ("3", None),
        ("", None),
    ],
)
def test_a_pick_counts_only_if_it_names_an_answer(text: str, index: int | None) -> None:
    assert read_pick(text, 4) == index


def test_many_long_answers_are_shown_shortened() -> None:
    member = channels(scripted(lambda _request: "")).primary
    aside = Aside(HI, member, Fence("tag"), "g0")
    text = shown(pick_request(aside, [replied("x" * 10**6)] * 6))
    assert len(text) < 60_000
    assert text.count("<<end tag>>") >= 7


async def test_code_that_does_not_parse_is_not_shown_to_the_judge() -> None:
    broken, whole = "```python\ndef f(:\n```", "```python\ndef f():\n    pass\n```"
    played = await run(draws([broken, whole, broken, broken]), asks("Write a Python function f."))
    assert played.text == whole
    assert "judge" not in played.roles()
