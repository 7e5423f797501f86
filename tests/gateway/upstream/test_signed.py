"""Signatures of tool calls go to hosts that read them; what insists on one gets one."""

from __future__ import annotations

from collections.abc import Sequence

import orjson
import pytest

from gateway.upstream.families import thinks_of
from gateway.upstream.provider import HttpCall, Provider, Target
from gateway.upstream.providers.anthropic import Anthropic
from gateway.upstream.providers.openai_chat import OpenAIChat
from gateway.upstream.providers.openai_responses import OpenAIResponses
from gateway.wire.openai_chat import OpenAIChat as Chat
from techniques.core.errors import RequestRejected
from techniques.core.events import Warned
from techniques.core.json import Json
from techniques.core.request import Message, Request, Text, ToolCall, ToolResult, said

GOOGLE = "https://generativelanguage.googleapis.com/v1beta/openai"
UNSIGNED: Json = {"google": {"thought_signature": "skip_thought_signature_validator"}}
SIGNED: Json = {"google": {"thought_signature": "c2ln"}}
MISSING = Warned("signature_missing", "messages")
DROPPED = {
    Warned("field_dropped", "extra_content"),
    Warned("field_dropped", "messages.extra_content"),
}


def target(model: str, address: str = GOOGLE) -> Target:
    return Target(model, "p", model, thinks=thinks_of(model, "openai_chat", address))


def looping(*extras: Json, dialect: str = "anthropic", strict: bool = False) -> Request:
    calls = [ToolCall(f"c{at}", "f", "{}", extra=extra) for at, extra in enumerate(extras)]
    results = [ToolResult(call.id, (Text("ok"),)) for call in calls]
    turns = (said("user", "hi"), Message("assistant", (*calls,)), Message("tool", (*results,)))
    return Request("m", turns, dialect=dialect, strict=strict)


def extras(call: HttpCall) -> Sequence[Json]:
    turns = orjson.loads(call.body)["messages"]
    return [made.get("extra_content") for turn in turns for made in turn.get("tool_calls", ())]


@pytest.mark.parametrize("model", ["gemini-3-pro-preview", "google/gemini-3-flash", "gemini-9-pro"])
@pytest.mark.parametrize("dialect", ["anthropic", "openai_chat", ""])
def test_the_first_call_of_a_step_that_has_no_signature_gets_what_stands_for_one(
    model: str, dialect: str
) -> None:
    call = OpenAIChat().encode(looping({}, {}, dialect=dialect), target(model))

    assert extras(call) == [UNSIGNED, None]
    assert call.warnings == (MISSING,)


@pytest.mark.parametrize("dialect", ["anthropic", "openai_responses", "ollama", "openai_chat"])
def test_a_signature_goes_back_as_it_came(dialect: str) -> None:
    asked = looping({"extra_content": SIGNED}, {}, dialect=dialect)
    call = OpenAIChat().encode(asked, target("gemini-3-pro"))

    assert extras(call) == [SIGNED, None]
    assert call.warnings == ()


@pytest.mark.parametrize(
    ("model", "address"),
    [
        ("gemini-2.5-flash", GOOGLE),
        ("gpt-5.2", "https://api.openai.com/v1"),
        ("gemini-3-pro", "https://proxy.test/v1"),
        ("google/gemini-3-pro", "https://openrouter.ai/api/v1"),
    ],
)
def test_nothing_is_made_up_for_models_that_do_not_insist(model: str, address: str) -> None:
    call = OpenAIChat().encode(looping({}, {}), target(model, address))

    assert extras(call) == [None, None]
    assert call.warnings == ()


def test_a_strict_client_is_refused_what_would_go_without() -> None:
    with pytest.raises(RequestRejected) as error:
        OpenAIChat().encode(looping({}, strict=True), target("gemini-3-pro"))

    assert error.value.code == "signature_missing"


@pytest.mark.parametrize("dialect", ["anthropic", "openai_responses", "ollama"])
@pytest.mark.parametrize("provider", [Anthropic(), OpenAIChat(), OpenAIResponses()])
def test_no_other_model_gets_a_signature(provider: Provider, dialect: str) -> None:
    call = provider.encode(
        looping({"extra_content": SIGNED}, dialect=dialect), Target("m", "p", "m")
    )

    assert b"c2ln" not in call.body
    assert set(call.warnings) & DROPPED


def test_of_a_relayed_body_nothing_else_is_changed() -> None:
    calls = [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}, "x": 1}]
    turns: list[Json] = [
        {"role": "user", "content": "hi", "y": 2},
        {"role": "assistant", "content": None, "tool_calls": [*calls, *calls], "z": 3},
        {"role": "tool", "tool_call_id": "a", "content": "ok"},
    ]
    body: Json = {"model": "gemini-3-pro", "messages": turns, "w": 4}
    relay = Chat().decode(body, raw := orjson.dumps(body)).relay
    insists, other = target("gemini-3-pro"), target("gemini-3-pro", "https://proxy.test/v1")

    changed = OpenAIChat().encode(Request("m", relay=relay), insists)
    same = OpenAIChat().encode(Request("m", relay=relay), other)

    body["messages"][1]["tool_calls"][0] = {**calls[0], "extra_content": UNSIGNED}
    assert orjson.loads(changed.body) == body
    assert changed.warnings == (MISSING,)
    assert same.body == raw
    assert same.warnings == ()


def test_a_relayed_body_whose_signatures_came_along_is_the_clients_own_bytes() -> None:
    made = {"id": "a", "function": {"name": "f", "arguments": "{}"}, "extra_content": SIGNED}
    turns: list[Json] = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "tool_calls": [made]},
        {"role": "tool", "tool_call_id": "a", "content": "ok"},
    ]
    raw = orjson.dumps({"messages": turns, "model": "gemini-3-pro"}, option=orjson.OPT_INDENT_2)
    relay = Chat().decode(orjson.loads(raw), raw).relay

    assert OpenAIChat().encode(Request("m", relay=relay), target("gemini-3-pro")).body == raw
