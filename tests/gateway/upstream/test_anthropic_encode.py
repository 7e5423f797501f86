from __future__ import annotations

import re
from dataclasses import replace

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.upstream.providers.anthropic.parts import tool_id
from techniques.core.json import JsonObject
from techniques.core.request import (
    Audio,
    Document,
    Image,
    Message,
    Opaque,
    RedactedThinking,
    Refusal,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    said,
)
from techniques.core.signatures import marked
from tests.gateway.upstream.anthropic_calls import HI, asked, refused, sent, warnings
from tests.gateway.upstream.anthropic_samples import ANTHROPIC, TARGET

MARK = {"type": "ephemeral"}


def call(*ids: str) -> Message:
    return Message("assistant", tuple(ToolCall(i, "f", f'{{"x":"{i}"}}') for i in ids))


def result(call_id: str, text: str = "r") -> Message:
    return Message("tool", (ToolResult(call_id, (Text(text),)),))


def test_a_plain_request_names_the_model_and_a_limit() -> None:
    encoded = ANTHROPIC.encode(asked(stream=True), TARGET)

    assert encoded.path == "/v1/messages"
    assert encoded.headers["anthropic-version"] == "2023-06-01"
    assert orjson.loads(encoded.body) == {
        "model": "claude-example-1",
        "max_tokens": 4096,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
        "stream": True,
    }
    assert encoded.warnings == ()


def test_results_of_tools_come_first_in_one_user_turn_in_the_order_of_the_calls() -> None:
    """ANT-01."""
    request = asked(HI, call("t1", "t2"), result("t2"), said("user", "go on"), result("t1"))
    messages = sent(request)["messages"]

    assert [turn["role"] for turn in messages] == ["user", "assistant", "user"]
    assert [(block["type"], block.get("tool_use_id")) for block in messages[2]["content"]] == [
        ("tool_result", "t1"),
        ("tool_result", "t2"),
        ("text", None),
    ]


def test_neighbours_of_one_role_become_one_turn() -> None:
    """ANT-21."""
    roles: tuple[Role, ...] = ("user", "user", "assistant", "assistant", "user")
    turns = [said(role, text) for role, text in zip(roles, "abcde", strict=True)]
    messages = sent(asked(*turns))["messages"]

    assert [turn["role"] for turn in messages] == ["user", "assistant", "user"]
    assert [block["text"] for turn in messages for block in turn["content"]] == list("abcde")


def test_instructions_are_collected_wherever_they_stand() -> None:
    """ANT-22, ANT-11."""
    first = Message("system", (Text("S1", cache=MARK),))
    request = asked(first, said("user", "a"), said("developer", "S2"), said("user", "b"))
    body = sent(request)

    assert body["system"] == [
        {"type": "text", "text": "S1", "cache_control": MARK},
        {"type": "text", "text": "S2"},
    ]
    assert [turn["role"] for turn in body["messages"]] == ["user"]


def test_instructions_alone_are_sent_as_the_users() -> None:
    encoded = ANTHROPIC.encode(asked(said("system", "Say hi.")), TARGET)
    body = orjson.loads(encoded.body)

    assert "system" not in body
    assert body["messages"][0]["content"] == [{"type": "text", "text": "Say hi."}]
    assert ("system_sent_as_user", "messages") in warnings(encoded)


def test_nothing_to_answer_is_refused() -> None:
    assert refused(asked(said("user", " "))) == "messages"


@pytest.mark.parametrize("text", ["", "\n\n "])
def test_text_that_is_blank_is_not_sent(text: str) -> None:
    """ANT-13."""
    turn = Message("assistant", (Text(text), ToolCall("t1", "f", "{}")))
    messages = sent(asked(HI, turn, result("t1")))["messages"]

    assert [block["type"] for block in messages[1]["content"]] == ["tool_use"]


def test_an_answer_to_go_on_with_ends_without_white_space() -> None:
    assert sent(asked(HI, said("assistant", "So: ")))["messages"][1]["content"] == [
        {"type": "text", "text": "So:"}
    ]


def test_foreign_call_ids_become_valid_ones_that_agree() -> None:
    """TOOL-12."""
    request = asked(HI, call("functions.f:0"), result("functions.f:0"))
    messages = sent(request)["messages"]
    own = messages[1]["content"][0]["id"]

    assert re.fullmatch(r"[a-zA-Z0-9_-]+", own)
    assert messages[2]["content"][0]["tool_use_id"] == own
    assert sent(request)["messages"] == messages


@given(st.sets(st.text(max_size=60), min_size=2, max_size=20))
def test_call_ids_that_differ_stay_different(ids: set[str]) -> None:
    mapped = {tool_id(own) for own in ids}

    assert len(mapped) == len(ids)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]+", own) for own in mapped)


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ("", {}),
        ("  ", {}),
        ('{"x": 1}', {"x": 1}),
        ('{"x": ', {"INVALID_JSON": '{"x": '}),
        ("[1]", {"INVALID_JSON": "[1]"}),
        ('{"x":' * 300 + "1" + "}" * 300, {"INVALID_JSON": '{"x":' * 300 + "1" + "}" * 300}),
    ],
)
def test_arguments_are_sent_as_an_object(arguments: str, value: JsonObject) -> None:
    """TOOL-05."""
    turn = Message("assistant", (ToolCall("t1", "f", arguments),))

    assert sent(asked(HI, turn, result("t1")))["messages"][1]["content"][0]["input"] == value


@pytest.mark.parametrize(
    ("image", "source"),
    [
        (
            Image(url="data:image/png;base64,iVBORw0="),
            {"type": "base64", "media_type": "image/png", "data": "iVBORw0="},
        ),
        (
            Image(data="iVBORw0=", media_type="image/webp"),
            {"type": "base64", "media_type": "image/webp", "data": "iVBORw0="},
        ),
        (
            Image(url="https://pictures.example/a.png"),
            {"type": "url", "url": "https://pictures.example/a.png"},
        ),
    ],
)
def test_images_keep_their_kind_of_source(image: Image, source: JsonObject) -> None:
    """ANT-17: also inside the result of a tool."""
    user = Message("user", (image,))
    tool = Message("tool", (ToolResult("t1", (image,), is_error=True),))
    messages = sent(asked(user, call("t1"), tool))["messages"]

    assert messages[0]["content"] == [{"type": "image", "source": source}]
    assert messages[2]["content"][0]["content"] == [{"type": "image", "source": source}]
    assert messages[2]["content"][0]["is_error"] is True


@pytest.mark.parametrize(
    ("document", "source"),
    [
        (
            Document(data="JVBERi0=", media_type="application/pdf"),
            {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="},
        ),
        (
            Document(data="data:application/pdf;base64,JVBERi0="),
            {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="},
        ),
        (
            Document(data="aGVsbG8=", media_type="text/plain"),
            {"type": "text", "media_type": "text/plain", "data": "hello"},
        ),
        (Document(text="hello"), {"type": "text", "media_type": "text/plain", "data": "hello"}),
        (
            Document(url="https://x.example/a.pdf"),
            {"type": "url", "url": "https://x.example/a.pdf"},
        ),
    ],
)
def test_documents_keep_their_kind_of_source(document: Document, source: JsonObject) -> None:
    message = Message("user", (replace(document, name="a.pdf"),))

    assert sent(asked(message))["messages"][0]["content"] == [
        {"type": "document", "source": source, "title": "a.pdf"}
    ]


@pytest.mark.parametrize(
    ("part", "param"),
    [
        (Audio("UklGRg==", "wav"), "input_audio"),
        (Image(file_id="file-1"), "file_id"),
        (Opaque("openai_chat", {"type": "novel"}), "messages"),
    ],
)
def test_what_cannot_be_said_at_all_is_refused_by_name(part: Audio, param: str) -> None:
    """PAR-03."""
    assert refused(asked(Message("user", (part,)))) == param


def test_a_refusal_goes_back_as_text() -> None:
    turn = Message("assistant", (Refusal("I cannot."),))

    assert sent(asked(HI, turn, HI))["messages"][1]["content"] == [
        {"type": "text", "text": "I cannot."}
    ]


@pytest.mark.parametrize("dialect", ["anthropic", "openai_responses"])
def test_signed_thinking_goes_back_byte_for_byte_to_its_maker(dialect: str) -> None:
    """ANT-03: through a client of whichever dialect that can keep it."""
    turn = Message("assistant", (Thinking("", "c2ln"), RedactedThinking("b3A="), Text("x")))
    request = asked(HI, turn, HI, dialect=dialect)

    assert sent(request)["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "b3A="},
        {"type": "text", "text": "x"},
    ]


@pytest.mark.parametrize("signature", [None, "", marked("Z0FB")])
def test_foreign_and_unsigned_thinking_is_left_out_with_one_warning(signature: str | None) -> None:
    turn = Message("assistant", (Thinking("why", signature), Thinking("why", signature), Text("x")))

    for dialect in ("anthropic", "openai_chat", "openai_responses"):
        encoded = ANTHROPIC.encode(asked(HI, turn, HI, dialect=dialect), TARGET)
        content = orjson.loads(encoded.body)["messages"][1]["content"]
        assert content == [{"type": "text", "text": "x"}]
        assert [warned.code for warned in encoded.warnings] == ["thinking_dropped"]
