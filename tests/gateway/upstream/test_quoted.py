"""What Anthropic's clients quote in blocks of their own is a text to models of other providers."""

from __future__ import annotations

import orjson
import pytest

from gateway.upstream.provider import HttpCall, Provider, Target
from gateway.upstream.providers.anthropic import Anthropic
from gateway.upstream.providers.openai_chat import OpenAIChat
from gateway.upstream.providers.openai_responses import OpenAIResponses
from techniques.core.errors import RequestRejected
from techniques.core.events import Warned
from techniques.core.json import Json
from techniques.core.request import (
    Message,
    Opaque,
    Part,
    Request,
    Text,
    ToolCall,
    ToolResult,
)

PAGE: Json = [{"type": "text", "text": "It rains."}, {"type": "text", "text": "Much."}]
FOUND: Json = {
    "type": "search_result",
    "source": "https://a.test",
    "title": "Rain",
    "content": PAGE,
    "citations": {"enabled": True},
    "cache_control": {"type": "ephemeral"},
}
PAPER: Json = {
    "type": "document",
    "source": {"type": "content", "content": PAGE},
    "title": "Rain",
    "context": "a report",
}
QUOTES: list[tuple[Json, str]] = [
    (FOUND, "Rain\nhttps://a.test\n\nIt rains.\n\nMuch."),
    (PAPER, "Rain\na report\n\nIt rains.\n\nMuch."),
    ({"type": "document", "source": {"type": "content", "content": "So."}}, "So."),
    ({"type": "tool_reference", "tool_name": "look"}, "Found the tool look."),
]
PICTURE: Json = [{"type": "image", "source": {"type": "url", "url": "https://a.test/i.png"}}]
others = pytest.mark.parametrize("provider", [OpenAIChat(), OpenAIResponses()])


def _call(provider: Provider, *turns: Message) -> HttpCall:
    return provider.encode(Request("m", turns, dialect="anthropic"), Target("m", "p", "m"))


def _asked(provider: Provider, *parts: Part) -> HttpCall:
    return _call(provider, Message("user", (Text("See."), *parts)))


def _texts(value: Json) -> list[str]:
    if isinstance(value, dict):
        own = [value["text"]] if isinstance(value.get("text"), str) else []
        return own + [text for one in value.values() for text in _texts(one)]
    return [text for one in value for text in _texts(one)] if isinstance(value, list) else []


@others
@pytest.mark.parametrize(("block", "said"), QUOTES)
def test_a_block_that_wraps_texts_is_one(provider: Provider, block: Json, said: str) -> None:
    assert _texts(orjson.loads(_asked(provider, Opaque("anthropic", block)).body)) == ["See.", said]


@others
def test_what_a_tool_found_is_its_result(provider: Provider) -> None:
    call = ToolCall("c1", "look", "{}")
    found = ToolResult("c1", (Opaque("anthropic", FOUND), Text("More.")))

    sent = _call(provider, Message("assistant", (call,)), Message("tool", (found,)))

    body = orjson.loads(sent.body)
    result = (body.get("messages") or body.get("input"))[-1]
    assert result.get("role") == "tool" or result["type"] == "function_call_output"
    assert "Rain\\nhttps://a.test\\n\\nIt rains." in orjson.dumps(result).decode()


@others
@pytest.mark.parametrize("name", ["", None, 7])
def test_a_tool_without_a_name_is_refused(provider: Provider, name: Json) -> None:
    with pytest.raises(RequestRejected):
        _asked(provider, Opaque("anthropic", {"type": "tool_reference", "tool_name": name}))


@others
def test_what_is_lost_of_it_has_a_name(provider: Provider) -> None:
    warnings = _asked(provider, Opaque("anthropic", FOUND)).warnings

    assert Warned("field_dropped", "citations") in warnings


@others
@pytest.mark.parametrize("content", [PICTURE, [*PAGE, *PICTURE], [], None, 7])
def test_one_with_anything_else_in_it_is_refused(provider: Provider, content: Json) -> None:
    with pytest.raises(RequestRejected):
        _asked(provider, Opaque("anthropic", {**FOUND, "content": content}))


def test_its_own_provider_gets_the_block() -> None:
    call = _asked(Anthropic(), Opaque("anthropic", FOUND))

    assert orjson.loads(call.body)["messages"][0]["content"][1] == FOUND


@others
def test_ids_of_calls_are_as_short_as_these_apis_want_them(provider: Provider) -> None:
    ids = [f"toolu_{'x' * 80}{end}" for end in "ab"]
    calls = Message("assistant", tuple(ToolCall(one, "look", "{}") for one in ids))
    results = Message("tool", tuple(ToolResult(one, (Text("so"),)) for one in ids))

    body = orjson.loads(_call(provider, calls, results).body)

    if "messages" in body:
        called = [call["id"] for call in body["messages"][0]["tool_calls"]]
        answered = [turn["tool_call_id"] for turn in body["messages"][1:]]
    else:
        called = [item["call_id"] for item in body["input"][:2]]
        answered = [item["call_id"] for item in body["input"][2:]]
    assert called == answered
    assert len(set(called)) == 2
    assert all(len(one) <= 64 for one in called)
