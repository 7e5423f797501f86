"""What one provider did by itself is told to another's model as text, or left out by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import orjson
import pytest

from gateway.surfaces.spoken import DIALECTS
from gateway.upstream.provider import Provider, Target
from gateway.upstream.providers.anthropic import Anthropic
from gateway.upstream.providers.openai_chat import OpenAIChat
from gateway.upstream.providers.openai_responses import OpenAIResponses
from techniques.core.errors import RequestRejected
from techniques.core.events import Warned
from techniques.core.json import Json
from techniques.core.request import Message, Opaque, Request, said

TARGET: Final = Target("m", "p", "m")
PROVIDERS: Final[tuple[Provider, ...]] = (OpenAIChat(), OpenAIResponses(), Anthropic())
SECRET: Final = "QUJD" * 60
ITEMS: Final[list[tuple[dict[str, Json], list[str]]]] = [
    ({"type": "web_search_call", "action": {"type": "search", "query": "Eiger"}}, ["Eiger"]),
    (
        {
            "type": "code_interpreter_call",
            "container_id": "cntr_1",
            "code": "print(1 + 1)",
            "outputs": [{"type": "logs", "logs": "2 and more"}],
        },
        ["print(1 + 1)", "2 and more"],
    ),
    (
        {"type": "mcp_call", "name": "look_up", "arguments": '{"q":"x"}', "output": "found it"},
        ["look_up", "found it"],
    ),
    (
        {"type": "file_search_call", "queries": ["a b"], "results": [{"text": "c d"}]},
        ["a b", "c d"],
    ),
    ({"type": "local_shell_call", "call_id": "c", "action": {"command": ["ls"]}}, ["ls"]),
    ({"type": "local_shell_call_output", "call_id": "c", "output": "a.txt"}, ["a.txt"]),
    ({"type": "shell_call_output", "output": [{"stdout": "b.txt"}]}, ["b.txt"]),
    ({"type": "from_the_future", "said": "some words"}, ["some words"]),
    ({"type": "image_generation_call", "result": SECRET, "revised_prompt": "a cat"}, ["a cat"]),
]
BLOCKS: Final[list[tuple[dict[str, Json], list[str]]]] = [
    (
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "Eiger"}},
        ["web_search", "Eiger"],
    ),
    (
        {
            "type": "web_search_tool_result",
            "tool_use_id": "s",
            "content": [
                {
                    "type": "web_search_result",
                    "title": "The Eiger",
                    "url": "https://a.test/eiger?a=b",
                    "encrypted_content": "short",
                }
            ],
        },
        ["The Eiger", "https://a.test/eiger?a=b"],
    ),
    (
        {"type": "code_execution_tool_result", "content": {"stdout": "42", "return_code": 0}},
        ["42"],
    ),
    ({"type": "compaction", "content": "They spoke of hills."}, ["They spoke of hills."]),
]
EMPTY: Final[list[Json]] = [
    {"type": "web_search_call", "id": "w", "status": "completed"},
    {"type": "image_generation_call", "id": "i", "result": SECRET},
    {"type": "mcp_list_tools", "server_label": "a", "tools": [{"name": "b"}]},
    {"type": "reasoning_of_the_future", "encrypted_content": "gAAA"},
]


def _asked(client: str, item: Json, **more: Json) -> Request:
    """Return a conversation in which *item* stands, as a client of its API sends it."""
    if client == "openai_responses":
        body: Json = {"input": [said_(), item, {"role": "assistant", "content": "b"}, said_()]}
    else:
        told = {"type": "text", "text": "b"}
        turns = [said_(), {"role": "assistant", "content": [item, told]}, said_()]
        body = {"messages": turns, "max_tokens": 64}
    body |= {"model": "m", **more}
    return DIALECTS[client].decode(body, repr(body).encode()).relay.decode()


def said_() -> dict[str, Json]:
    return {"role": "user", "content": "a"}


CASES = [("openai_responses", *case) for case in ITEMS] + [("anthropic", *case) for case in BLOCKS]


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda one: one.dialect)
@pytest.mark.parametrize(("client", "item", "words"), CASES, ids=lambda one: str(one)[:40])
def test_what_can_be_read_is_told_as_text(
    provider: Provider, client: str, item: dict[str, Json], words: list[str]
) -> None:
    if provider.dialect == client:
        pytest.skip("its own")
    call = provider.encode(_asked(client, item), TARGET)

    told = str(orjson.loads(call.body))
    assert all(word in told for word in (*words, f"[{item['type']}]"))
    assert SECRET not in told
    assert "short" not in told
    assert call.warnings == (Warned("hosted_call_as_text", item["type"]),)


@pytest.mark.parametrize("provider", [OpenAIChat(), Anthropic()], ids=lambda one: one.dialect)
@pytest.mark.parametrize("item", EMPTY, ids=lambda one: one["type"])
def test_what_no_model_can_read_is_left_out_by_name(provider: Provider, item: Json) -> None:
    call = provider.encode(_asked("openai_responses", item), TARGET)

    assert item["type"] not in str(orjson.loads(call.body))
    assert call.warnings == (Warned("hosted_call_dropped", item["type"]),)


@pytest.mark.parametrize("provider", [OpenAIChat(), Anthropic()], ids=lambda one: one.dialect)
@pytest.mark.parametrize("item", [ITEMS[0][0], EMPTY[0]], ids=lambda one: str(one)[:40])
def test_a_strict_client_is_refused(provider: Provider, item: Json) -> None:
    with pytest.raises(RequestRejected):
        provider.encode(replace(_asked("openai_responses", item), strict=True), TARGET)


@pytest.mark.parametrize("provider", [OpenAIChat(), Anthropic()], ids=lambda one: one.dialect)
def test_without_what_was_said_before_a_model_is_not_asked(provider: Provider) -> None:
    item = {"type": "compaction", "id": "c", "encrypted_content": "gAAA"}

    with pytest.raises(RequestRejected, match="compaction"):
        provider.encode(_asked("openai_responses", item), TARGET)


def test_where_nothing_else_was_said_there_is_nothing_to_ask() -> None:
    turn = Message("assistant", (Opaque("openai_responses", EMPTY[0]),))

    with pytest.raises(RequestRejected):
        OpenAIChat().encode(Request("m", (turn,), dialect="openai_responses"), TARGET)


def test_the_answer_to_a_call_of_ones_own_is_said_by_the_user() -> None:
    call = OpenAIChat().encode(_asked("openai_responses", ITEMS[5][0]), TARGET)

    turns = orjson.loads(call.body)["messages"]
    assert [turn["role"] for turn in turns] == ["user", "user", "assistant", "user"]
    assert "a.txt" in turns[1]["content"]


def test_what_a_user_shows_is_refused_where_it_cannot_be_said() -> None:
    video = Opaque("openai_chat", {"type": "video_url", "video_url": {"url": "https://a.test/b"}})
    asked = Request("m", (Message("user", (video,)),), dialect="openai_chat")

    for provider in (OpenAIResponses(), Anthropic()):
        with pytest.raises(RequestRejected, match="video_url"):
            provider.encode(asked, TARGET)


def test_reasoning_among_the_parts_of_an_answer_is_not_said_as_text() -> None:
    thought = Opaque("openai_chat", {"type": "thinking", "thinking": "Hm, let me see."})
    turn = Message("assistant", (thought, *said("assistant", "b").parts))
    asked = Request("m", (said("user", "a"), turn, said("user", "c")), dialect="openai_chat")

    call = Anthropic().encode(asked, TARGET)

    assert "Hm" not in str(orjson.loads(call.body))
    assert call.warnings == (Warned("thinking_dropped", "messages"),)


def test_what_is_nested_deeper_than_anybody_reads_is_left_out() -> None:
    deep: Json = "the end"
    for _ in range(900):
        deep = {"a": deep}
    item = {"type": "mcp_call", "name": "look_up", "output": deep}

    call = OpenAIChat().encode(_asked("openai_responses", item), TARGET)

    assert "look_up" in str(orjson.loads(call.body))
    assert "the end" not in str(orjson.loads(call.body))


def test_its_own_provider_gets_all_of_it_as_it_was() -> None:
    for client, item, _ in CASES:
        provider = next(one for one in PROVIDERS if one.dialect == client)
        call = provider.encode(_asked(client, item), TARGET)

        assert item in _everything(orjson.loads(call.body))
        assert call.warnings == ()


def _everything(value: Json) -> list[Json]:
    inner = value.values() if isinstance(value, dict) else value
    if not isinstance(value, dict | list):
        return []
    return [value, *(deep for one in inner for deep in _everything(one))]
