from __future__ import annotations

import orjson
import pytest

from gateway.wire.anthropic import AnthropicMessages
from techniques.core.errors import RequestRejected
from techniques.core.json import Json, JsonObject
from techniques.core.request import (
    Document,
    Image,
    Message,
    Opaque,
    Part,
    RedactedThinking,
    Request,
    ResponseFormat,
    Sampling,
    Text,
    Thinking,
    ThinkingWish,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    said,
)

DIALECT = AnthropicMessages()
MARK = {"type": "ephemeral", "ttl": "1h"}


def body(**fields: Json) -> JsonObject:
    return {
        "model": "an-model",
        "max_tokens": 64,
        "messages": [{"role": "user", "content": "hi"}],
        **fields,
    }


def decoded(**fields: Json) -> Request:
    asked = body(**fields)
    return DIALECT.decode(asked, orjson.dumps(asked)).relay.decode()


def user(*blocks: Json) -> JsonObject:
    return {"role": "user", "content": list(blocks)}


def part(block: Json) -> Part:
    return decoded(messages=[user(block)]).messages[0].parts[0]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"messages": ["hi"]}, "messages.0"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages.0.role"),
        ({"messages": [{"role": [], "content": "x"}]}, "messages.0.role"),
        ({"messages": [{"role": "user"}]}, "messages.0.content"),
        ({"messages": [user("x")]}, "messages.0.content.0"),
        ({"messages": [user({"text": "x"})]}, "messages.0.content.0.type"),
        ({"messages": [user({"type": "text"})]}, "messages.0.content.0.text"),
        ({"messages": [user({"type": "image"})]}, "messages.0.content.0.source"),
        ({"messages": [user({"type": "tool_use", "id": "t"})]}, "messages.0.content.0.name"),
        ({"system": 5}, "system"),
        ({"tools": {}}, "tools"),
        ({"tools": [{"input_schema": {}}]}, "tools.0.name"),
        ({"tool_choice": "auto"}, "tool_choice"),
        ({"tool_choice": {"type": "some"}}, "tool_choice.type"),
        ({"tool_choice": {"type": "tool"}}, "tool_choice.name"),
        ({"temperature": "hot"}, "temperature"),
        ({"top_k": 0.5}, "top_k"),
        ({"stop_sequences": [5]}, "stop_sequences.0"),
        ({"thinking": {"type": "enabled", "budget_tokens": "x"}}, "budget_tokens"),
        ({"output_config": 5}, "output_config"),
        ({"output_config": {"effort": 5}}, "output_config.effort"),
        ({"output_config": {"format": {"type": "xml"}}}, "output_config.format.type"),
        ({"metadata": "x"}, "metadata"),
    ],
)
def test_a_body_of_the_wrong_type_is_rejected_by_its_path(fields: JsonObject, param: str) -> None:
    with pytest.raises(RequestRejected) as rejected:
        decoded(**fields)

    assert rejected.value.param == param


def test_system_comes_first_with_its_cache_marks() -> None:
    """ANT-11."""
    block = {"type": "text", "text": "sys", "cache_control": MARK}

    assert decoded(system=[block]).messages == (
        Message("system", (Text("sys", MARK),)),
        said("user", "hi"),
    )
    assert decoded(system="sys").messages[0] == said("system", "sys")


@pytest.mark.parametrize(
    ("block", "neutral"),
    [
        ({"type": "text", "text": "a", "cache_control": MARK}, Text("a", MARK)),
        ({"type": "text", "text": "a", "later": 1}, Text("a", extra={"later": 1})),
        (
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "a/b", "data": "aa"},
            },
            Image(data="aa", media_type="a/b"),
        ),
        ({"type": "image", "source": {"type": "url", "url": "https://x"}}, Image(url="https://x")),
        ({"type": "image", "source": {"type": "file", "file_id": "f"}}, Image(file_id="f")),
        (
            {
                "type": "document",
                "title": "T",
                "citations": {"enabled": True},
                "source": {"type": "base64", "media_type": "application/pdf", "data": "aa"},
            },
            Document(
                data="aa",
                media_type="application/pdf",
                name="T",
                extra={"citations": {"enabled": True}},
            ),
        ),
        (
            {
                "type": "document",
                "source": {"type": "text", "media_type": "a/b", "data": "a"},
            },
            Document(text="a", media_type="a/b"),
        ),
        ({"type": "document", "source": {"type": "url", "url": "u"}}, Document(url="u")),
        ({"type": "thinking", "thinking": "", "signature": "c2ln"}, Thinking("", "c2ln")),
        ({"type": "redacted_thinking", "data": "b3A="}, RedactedThinking("b3A=")),
        (
            {"type": "tool_use", "id": "t1", "name": "f", "input": {"x": [1]}, "caller": {}},
            ToolCall("t1", "f", '{"x":[1]}', extra={"caller": {}}),
        ),
        ({"type": "tool_use", "id": "t1", "name": "f", "input": {}}, ToolCall("t1", "f", "{}")),
    ],
)
def test_blocks_become_parts(block: JsonObject, neutral: Part) -> None:
    """ANT-03, ANT-17."""
    assert part(block) == neutral


@pytest.mark.parametrize(
    "block",
    [
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
        {"type": "search_result", "source": "x", "title": "t", "content": []},
        {"type": "container_upload", "file_id": "f"},
        {"type": "image", "source": {"type": "later"}},
        {"type": "document", "source": {"type": "content", "content": []}},
        {"type": "mcp_tool_use", "later": 1},
    ],
)
def test_blocks_that_only_this_dialect_knows_are_kept_as_they_came(block: JsonObject) -> None:
    assert part(block) == Opaque("anthropic", block)


def test_results_of_tools_stand_in_a_turn_of_their_own_before_the_rest() -> None:
    """ANT-17: images in them stay images."""
    picture = {"type": "image", "source": {"type": "url", "url": "https://x"}}
    results = [
        {"type": "tool_result", "tool_use_id": "t1", "content": "r1", "is_error": True},
        {"type": "tool_result", "tool_use_id": "t2", "content": [picture], "cache_control": MARK},
        {"type": "tool_result", "tool_use_id": "t3"},
    ]
    turns = decoded(messages=[user(*results, {"type": "text", "text": "go on"})]).messages

    assert turns == (
        Message(
            "tool",
            (
                ToolResult("t1", (Text("r1"),), is_error=True),
                ToolResult("t2", (Image(url="https://x"),), cache=MARK),
                ToolResult("t3", ()),
            ),
        ),
        said("user", "go on"),
    )
    assert [turn.role for turn in decoded(messages=[user(*results)]).messages] == ["tool"]


def test_tools_keep_schema_strictness_and_cache_mark() -> None:
    """ANT-11."""
    schema = {"type": "object"}
    own = {"name": "f", "input_schema": schema, "strict": True, "cache_control": MARK}
    search = {"type": "web_search_20250305", "name": "web_search", "max_uses": 2}

    assert decoded(tools=[own, search, {"type": "custom", "name": "g", "later": 1}]).tools == (
        Tool("f", parameters=schema, strict=True, cache=MARK),
        Opaque("anthropic", search),
        Tool("g", extra={"later": 1}),
    )


@pytest.mark.parametrize(
    ("choice", "neutral"),
    [
        ({"type": "auto"}, ToolChoice("auto")),
        (
            {"type": "any", "disable_parallel_tool_use": True},
            ToolChoice("required", parallel=False),
        ),
        ({"type": "auto", "disable_parallel_tool_use": False}, ToolChoice("auto", parallel=True)),
        ({"type": "none"}, ToolChoice("none")),
        ({"type": "tool", "name": "f"}, ToolChoice("named", "f")),
    ],
)
def test_tool_choices_keep_their_mode(choice: JsonObject, neutral: ToolChoice) -> None:
    """ANT-15."""
    assert decoded(tool_choice=choice).tool_choice == neutral


@pytest.mark.parametrize(
    ("fields", "wish"),
    [
        ({}, None),
        ({"thinking": {"type": "enabled", "budget_tokens": 2000}}, ThinkingWish("on", 2000)),
        ({"thinking": {"type": "disabled"}}, ThinkingWish("off")),
        ({"output_config": {"effort": "max"}}, ThinkingWish(effort="max")),
        (
            {
                "thinking": {"type": "adaptive", "display": "omitted"},
                "output_config": {"effort": "low"},
            },
            ThinkingWish("adaptive", None, "low", {"display": "omitted"}),
        ),
    ],
)
def test_wishes_for_reasoning_are_read(fields: JsonObject, wish: ThinkingWish | None) -> None:
    assert decoded(**fields).thinking == wish


@pytest.mark.parametrize("field", ["output_config", "output_format"])
def test_a_schema_for_the_answer_is_read_in_both_places(field: str) -> None:
    form = {"type": "json_schema", "schema": {"type": "object"}}
    value = {"format": form} if field == "output_config" else form

    assert decoded(**{field: value}).response_format == ResponseFormat(
        "json_schema", {"type": "object"}
    )


def test_sampling_and_user_are_read() -> None:
    request = decoded(
        temperature=1, top_p=0.5, top_k=3, stop_sequences=["END"], metadata={"user_id": "u"}
    )

    assert request.sampling == Sampling(1, 0.5, 3, 64, ("END",))
    assert request.user == "u"
    assert not request.extra


def test_everything_else_is_kept_for_its_own_dialect() -> None:
    extra: JsonObject = {
        "service_tier": "auto",
        "mcp_servers": [{}],
        "container": "c",
        "context_management": {},
        "later": None,
        "thinking": {"type": "between_tools"},
        "output_config": {"later": 1},
        "metadata": {"later": 2},
    }

    assert decoded(**extra).extra == extra
