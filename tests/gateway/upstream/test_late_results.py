"""Results of tools stand behind their calls, wherever the client has put them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.upstream.results import together
from techniques.core.json import Json
from techniques.core.request import Image, Message, Role, Text, Tool, ToolCall, ToolResult, said
from tests.gateway.upstream.anthropic_calls import asked
from tests.gateway.upstream.anthropic_calls import sent as sent_to_anthropic
from tests.gateway.upstream.openai_chat_calls import turns

USER = said("user", "Hi")
SYSTEM = said("developer", "Be brief.")
OTHERWISE = Message("tool", (ToolResult("a", (Text("other"),)),))
SPOKEN = said("assistant", "I look.")


def calls(*ids: str) -> Message:
    return Message("assistant", tuple(ToolCall(one, "f", "{}") for one in ids))


def results(*ids: str) -> Message:
    return Message("tool", tuple(ToolResult(one, (Text(one),)) for one in ids))


@pytest.mark.parametrize(
    ("told", "sent"),
    [
        ((USER, calls("a"), USER, results("a")), (USER, USER, calls("a"), results("a"))),
        ((calls("a"), SYSTEM, results("a")), (SYSTEM, calls("a"), results("a"))),
        (
            (calls("a", "b"), results("a"), USER, results("b"), USER),
            (USER, calls("a", "b"), results("a", "b"), USER),
        ),
        (
            (calls("a"), USER, SPOKEN, results("a"), calls("a"), USER, results("a")),
            (USER, SPOKEN, calls("a"), results("a"), USER, calls("a"), results("a")),
        ),
        (
            (calls("a"), USER, Message("user", (*results("a").parts, Text("And?")))),
            (USER, calls("a"), results("a"), said("user", "And?")),
        ),
        (
            (calls("a"), USER, calls("b"), results("a"), results("b")),
            (USER, calls("a"), results("a"), calls("b"), results("b")),
        ),
        (
            (calls("a"), USER, calls("b"), results("a", "b"), USER),
            (USER, calls("a"), results("a"), calls("b"), results("b"), USER),
        ),
        (
            (calls("a"), results("a"), results("a"), calls("b"), results("a", "b")),
            (calls("a"), results("a"), calls("b"), results("b")),
        ),
    ],
)
def test_what_stands_between_a_call_and_its_results_is_said_before(
    told: tuple[Message, ...], sent: tuple[Message, ...]
) -> None:
    assert tuple(together(told)) == sent


@pytest.mark.parametrize(
    "told",
    [
        (USER, calls("a", "b"), results("b", "a"), USER),
        (USER, calls("a", "b"), results("b"), results("a"), USER),
        (USER, calls("a"), results("a"), OTHERWISE),
        (calls("a"), results("a"), Message("user", ()), calls("a"), results("a")),
        (USER, results("nobody"), results("nobody"), USER),
        (USER, calls("a"), USER, Message("user", ())),
        (calls("a"), Message("user", (*results("a").parts, Text("And?"))), calls("a")),
    ],
)
def test_what_stands_behind_its_call_and_what_has_none_stays(told: tuple[Message, ...]) -> None:
    assert together(told) is told


BESIDE: frozenset[Role] = frozenset({"user", "tool", "developer"})


@pytest.mark.parametrize(
    ("told", "sent"),
    [
        ((USER, calls("a"), USER, SYSTEM, results("a")), None),
        ((calls("a", "b"), results("b"), USER, results("a"), SPOKEN), None),
        ((calls("a"), USER, Message("user", (*results("a").parts, Text("And?"))), USER), None),
        (
            (calls("a"), USER, SPOKEN, results("a")),
            (USER, SPOKEN, calls("a"), results("a")),
        ),
        (
            (calls("a"), USER, calls("b"), results("a"), USER, results("b")),
            (USER, calls("a"), results("a"), USER, calls("b"), results("b")),
        ),
    ],
)
def test_turns_of_some_roles_may_stand_between(
    told: tuple[Message, ...], sent: tuple[Message, ...] | None
) -> None:
    assert tuple(together(told, BESIDE)) == (sent or told)


def test_the_provider_is_sent_them_so() -> None:
    picture = Image(data="iVBORw0KGgo=", media_type="image/png")
    seen = Message("tool", (ToolResult("a", (Text("sun"), picture)),))

    sent = turns(USER, calls("a"), USER, seen, dialect="openai_responses")

    assert [turn["role"] for turn in sent] == ["user", "user", "assistant", "tool", "user"]
    assert (sent[3]["tool_call_id"], sent[3]["content"]) == ("a", "sun")


def sent_own_to_anthropic(*told: Message, dialect: str) -> Json:
    return sent_to_anthropic(replace(asked(*told, tools=(Tool("f"),)), dialect=dialect))["messages"]


def test_so_is_anthropic() -> None:
    told = (USER, calls("a"), results("a"), calls("b"), SPOKEN, USER, results("a", "b"))

    body = sent_to_anthropic(asked(*told, tools=(Tool("f"),)))

    kinds = [
        (turn["role"], [block["type"] for block in turn["content"]]) for turn in body["messages"]
    ]
    assert kinds == [
        ("user", ["text"]),
        ("assistant", ["tool_use"]),
        ("user", ["tool_result"]),
        ("assistant", ["text"]),
        ("user", ["text"]),
        ("assistant", ["tool_use"]),
        ("user", ["tool_result"]),
    ]


@pytest.mark.parametrize(
    ("sent", "dialect"), [(turns, "openai_chat"), (sent_own_to_anthropic, "anthropic")]
)
def test_what_a_client_of_the_own_api_says_stays_as_it_is(sent: Any, dialect: str) -> None:
    """For a technique it is written anew; what the provider thinks of it is its own affair."""
    told = (USER, calls("a"), SPOKEN, results("a"), USER, results("a"))

    roles = [turn["role"] for turn in sent(*told, dialect=dialect)]

    plain = [message.role for message in told]
    merged = ["user", "assistant", "user"]
    assert roles == (plain if dialect == "openai_chat" else merged)


@given(st.lists(st.sampled_from([USER, SYSTEM, SPOKEN, "call", "result"]), max_size=12))
def test_no_call_waits_for_its_result_past_another_turn(steps: list[Message | str]) -> None:
    told, made, given_ = [], 0, 0
    for step in steps:
        if step == "call":
            told.append(calls(f"c{made}"))
            made += 1
        elif step == "result" and given_ < made:
            told.append(results(f"c{given_}"))
            given_ += 1
        elif isinstance(step, Message):
            told.append(step)

    sent = list(together(told))

    parts = [part for message in sent for part in message.parts]
    assert sorted(map(str, parts)) == sorted(str(p) for message in told for p in message.parts)
    for message, after in pairwise(sent):
        wanted = [part.id for part in message.parts if isinstance(part, ToolCall)]
        if wanted and int(wanted[0][1:]) < given_:
            assert [p.call_id for p in after.parts if isinstance(p, ToolResult)] == wanted
