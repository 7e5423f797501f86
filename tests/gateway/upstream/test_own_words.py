"""What a Responses client says reaches a provider of its API also where the body is written anew.

That is so with a technique, and after a part of the conversation was left out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import orjson
import pytest

from gateway.upstream.provider import Provider, Target
from gateway.upstream.providers.anthropic import Anthropic
from gateway.upstream.providers.openai_chat import OpenAIChat
from gateway.upstream.providers.openai_responses import OpenAIResponses
from gateway.wire.openai_responses import OpenAIResponses as Clients
from techniques.core.errors import RequestRejected
from techniques.core.events import Warned
from techniques.core.json import Json
from techniques.core.request import Request

TARGET: Final = Target("m", "p", "m")


def asked(**fields: Json) -> Request:
    body = {"model": "m", "input": "hi", **fields}
    return replace(Clients().decode(body, orjson.dumps(body)).relay.decode(), relay=None)


def sent(request: Request, provider: Provider | None = None) -> Json:
    return orjson.loads((provider or OpenAIResponses()).encode(request, TARGET).body)


USER: Final = {"role": "user", "content": "a"}
NOTE: Final = {"role": "assistant", "content": "I look.", "phase": "commentary"}
LAST: Final = {"role": "assistant", "content": "Done.", "phase": "final_answer"}
CALL: Final = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
RESULT: Final = {"type": "function_call_output", "call_id": "c", "output": "b"}
CALLER: Final = {"caller": {"type": "program", "caller_id": "p"}}


def test_what_a_message_is_in_a_turn_is_told_of_each() -> None:
    items = sent(asked(input=[USER, NOTE, LAST, USER]))["input"]

    assert [item.get("phase") for item in items] == [None, "commentary", "final_answer", None]


@pytest.mark.parametrize("between", [[CALL, RESULT], [CALL]])
def test_a_phase_is_of_its_message_alone(between: list[Json]) -> None:
    items = sent(asked(input=[USER, NOTE, *between, LAST]))["input"]

    told = {item["content"]: item.get("phase") for item in items if item["type"] == "message"}
    assert told == {"a": None, "I look.": "commentary", "Done.": "final_answer"}


def test_a_phase_that_cannot_be_said_is_named() -> None:
    for provider in (OpenAIChat(), Anthropic()):
        call = provider.encode(asked(input=[USER, NOTE, USER]), TARGET)

        assert [one.code for one in call.warnings] == ["field_dropped"]
        assert call.warnings[0].detail.endswith("phase")


def test_a_call_and_its_message_are_one_turn_elsewhere() -> None:
    turns = sent(asked(input=[USER, NOTE, CALL, RESULT]), OpenAIChat())["messages"]

    assert [turn["role"] for turn in turns] == ["user", "assistant", "tool"]
    assert turns[1]["content"] == "I look."
    assert turns[1]["tool_calls"][0]["id"] == "c"


@pytest.mark.parametrize(
    "pair",
    [
        (CALL, RESULT),
        (
            {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "x"},
            {"type": "custom_tool_call_output", "call_id": "c", "output": "b"},
        ),
    ],
)
def test_who_called_a_tool_is_told(pair: tuple[dict[str, Json], ...]) -> None:
    told = [{**item, **CALLER} for item in pair]

    items = sent(asked(input=[USER, *told, USER]))["input"]

    assert items[1:3] == told


@pytest.mark.parametrize(
    "said",
    [
        {"summary": "auto"},
        {"context": "all_turns", "mode": "pro"},
        {"effort": "high", "summary": "detailed", "context": "all_turns"},
    ],
)
def test_how_to_reason_is_said_with_an_effort_and_without(said: dict[str, Json]) -> None:
    assert sent(asked(reasoning=said))["reasoning"] == said


def test_of_reasoning_only_what_is_shown_anyway_is_no_loss() -> None:
    shown = asked(reasoning={"effort": "low", "summary": "auto"})
    lost = asked(reasoning={"effort": "low", "mode": "pro"})

    assert OpenAIChat().encode(replace(shown, strict=True), TARGET).warnings == ()
    told = OpenAIChat().encode(lost, TARGET).warnings
    assert told == (Warned("field_dropped", "reasoning"),)


def test_a_tool_of_the_providers_own_can_be_insisted_on() -> None:
    choice = {"type": "mcp", "server_label": "a", "name": "b"}

    body = sent(asked(tools=[{"type": "mcp", "server_label": "a"}], tool_choice=choice))

    assert body["tool_choice"] == choice


@pytest.mark.parametrize("provider", [OpenAIChat(), Anthropic()], ids=lambda one: one.dialect)
def test_an_ask_for_a_compaction_is_refused_where_there_is_none(provider: Provider) -> None:
    with pytest.raises(RequestRejected):
        provider.encode(asked(input=[USER, {"type": "compaction_trigger"}]), TARGET)
