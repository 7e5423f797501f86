"""What reaches an Anthropic upstream, and what an Anthropic client's request becomes elsewhere."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from techniques.core.json import Json
from tests.conformance.stage import (
    ASKED,
    CHAT_TOOLS,
    MESSAGE_TOOLS,
    Stage,
)
from tests.fakes import script
from tests.fakes.script import called

PIXEL = "iVBORw0KGgo="
MARK = {"type": "ephemeral"}


def sent(stage: Stage, **fields: Json) -> Any:
    """Ask the Anthropic model in OpenAI's words and return the body that went upstream."""
    stage.upstream.plays(script.message())
    answer = stage.chat(model="an-model", **fields)
    assert answer.status == 200, answer.body
    return stage.upstream.asked[-1].body


def turns(body: Json) -> list[tuple[str, list[Json]]]:
    """Return roles and blocks of *body*'s messages; a plain text is one block."""

    def blocks(content: Json) -> list[Json]:
        return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)

    return [(turn["role"], blocks(turn["content"])) for turn in body["messages"]]


def called_twice() -> list[Json]:
    """Return a conversation with two calls in one turn, their results and a new question."""
    calls = [called("look_up", f'{{"q":"{name}"}}', id=name) for name in ("t1", "t2")]
    return [
        *ASKED,
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "t1", "content": "first result"},
        {"role": "tool", "tool_call_id": "t2", "content": "second result"},
        {"role": "user", "content": "carry on"},
    ]


@pytest.mark.case("ANT-01")
def test_results_of_parallel_calls_share_one_user_turn(stage: Stage) -> None:
    body = sent(stage, messages=called_twice(), tools=CHAT_TOOLS)

    roles = [role for role, _ in turns(body)]
    assert roles == ["user", "assistant", "user"]
    assert [block["id"] for block in turns(body)[1][1]] == ["t1", "t2"]
    results = turns(body)[2][1]
    assert [block["type"] for block in results] == ["tool_result", "tool_result", "text"]
    assert [block["tool_use_id"] for block in results[:2]] == ["t1", "t2"]
    assert results[2]["text"] == "carry on"


@pytest.mark.case("ANT-03")
def test_thinking_passes_byte_for_byte_both_ways(stage: Stage) -> None:
    thought = [
        {"type": "thinking", "thinking": "", "signature": "c2lnbmVk+/="},
        {"type": "redacted_thinking", "data": "aGlkZGVu+/="},
        {"type": "tool_use", "id": "t1", "name": "look_up", "input": {}},
    ]
    wish: dict[str, Json] = {
        "max_tokens": 3000,
        "thinking": {"type": "enabled", "budget_tokens": 1500},
    }
    stage.upstream.plays(script.message(thought, "tool_use"), script.message("noon"))

    first = stage.messages(model="an-model", tools=MESSAGE_TOOLS, **wish)
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "high at noon"}
    said = [
        *ASKED,
        {"role": "assistant", "content": first.json["content"]},
        {"role": "user", "content": [result]},
    ]
    stage.messages(model="an-model", tools=MESSAGE_TOOLS, messages=said, **wish)

    assert first.json["content"] == thought
    assert stage.upstream.asked[1].body["messages"][1]["content"] == thought


@pytest.mark.case("ANT-11")
def test_cache_marks_survive(stage: Stage) -> None:
    stage.upstream.plays(script.message())
    stage.messages(
        model="an-model",
        system=[{"type": "text", "text": "be brief", "cache_control": MARK}],
        messages=[
            {"role": "user", "content": [{"type": "text", "text": "hello", "cache_control": MARK}]}
        ],
        tools=[{**MESSAGE_TOOLS[0], "cache_control": MARK}],
    )

    body = stage.upstream.asked[0].body
    assert body["system"][0]["cache_control"] == MARK
    assert body["messages"][0]["content"][0]["cache_control"] == MARK
    assert body["tools"][0]["cache_control"] == MARK


@pytest.mark.case("ANT-11")
def test_cache_marks_of_a_chat_request_survive_translation(stage: Stage) -> None:
    system = [{"type": "text", "text": "be brief", "cache_control": MARK}]

    body = sent(stage, messages=[{"role": "system", "content": system}, *ASKED])

    assert body["system"][-1]["cache_control"] == MARK
    assert body["system"][-1]["text"] == "be brief"


@pytest.mark.case("ANT-13")
def test_an_empty_text_beside_a_call_is_no_block(stage: Stage) -> None:
    said = called_twice()
    said[1]["content"] = ""

    body = sent(stage, messages=said, tools=CHAT_TOOLS)

    assert not [
        block
        for _, blocks in turns(body)
        for block in blocks
        if block["type"] == "text" and not block["text"]
    ]
    assert [block["type"] for block in turns(body)[1][1]] == ["tool_use", "tool_use"]


@pytest.mark.case("ANT-14")
def test_no_tools_and_no_parallel_calls_agree(stage: Stage) -> None:
    body = sent(stage, tools=CHAT_TOOLS, tool_choice="none", parallel_tool_calls=False)

    assert "tools" not in body or body["tool_choice"] == {"type": "none"}


@pytest.mark.case("ANT-15")
@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ("auto", {"type": "auto"}),
        (
            {"type": "function", "function": {"name": "look_up"}},
            {"type": "tool", "name": "look_up"},
        ),
    ],
    ids=["none", "required", "auto", "named"],
)
def test_a_tool_choice_means_the_same_to_anthropic(stage: Stage, asked: Json, meant: Json) -> None:
    body = sent(stage, tools=CHAT_TOOLS, tool_choice=asked)

    assert body["tool_choice"] == meant


@pytest.mark.case("ANT-15")
@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ({"type": "none"}, "none"),
        ({"type": "any"}, "required"),
        (
            {"type": "tool", "name": "look_up"},
            {"type": "function", "function": {"name": "look_up"}},
        ),
    ],
    ids=["none", "any", "named"],
)
def test_a_tool_choice_means_the_same_to_openai(stage: Stage, asked: Json, meant: Json) -> None:
    stage.upstream.plays(script.completion())

    stage.messages(tools=MESSAGE_TOOLS, tool_choice=asked)

    assert stage.upstream.asked[0].body["tool_choice"] == meant


@pytest.mark.case("ANT-17")
def test_a_data_url_becomes_a_base64_image(stage: Stage) -> None:
    part = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}

    body = sent(stage, messages=[{"role": "user", "content": [part]}])

    source = turns(body)[0][1][0]["source"]
    assert source == {"type": "base64", "media_type": "image/png", "data": PIXEL}


@pytest.mark.case("ANT-17")
def test_images_of_messages_and_of_tool_results_stay_images(stage: Stage) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    picture = {"type": "image", "source": source}
    call = {"type": "tool_use", "id": "t1", "name": "look_up", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [picture]}
    stage.upstream.plays(script.completion())

    stage.messages(
        messages=[
            {"role": "user", "content": [picture]},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ],
        tools=MESSAGE_TOOLS,
    )

    said = stage.upstream.asked[0].body["messages"]
    urls = [
        (turn["role"], part["image_url"]["url"])
        for turn in said
        if isinstance(turn["content"], list)
        for part in turn["content"]
        if part["type"] == "image_url"
    ]
    assert urls == [("user", f"data:image/png;base64,{PIXEL}")] * 2
    tools = [turn for turn in said if turn["role"] == "tool"]
    assert [turn["tool_call_id"] for turn in tools] == ["t1"]
    assert PIXEL not in str(tools)


@pytest.mark.case("ANT-19")
def test_blank_stop_texts_are_left_out(stage: Stage) -> None:
    body = sent(stage, stop=["\n", "FIN", ""])

    assert body["stop_sequences"] == ["FIN"]


@pytest.mark.case("ANT-21")
def test_turns_of_one_role_in_a_row_lose_nothing(stage: Stage) -> None:
    said = [("user", "a"), ("user", "b"), ("assistant", "c"), ("assistant", "d"), ("user", "e")]

    body = sent(stage, messages=[{"role": role, "content": text} for role, text in said])

    assert [role for role, _ in turns(body)] == ["user", "assistant", "user"]
    texts = [block["text"] for _, blocks in turns(body) for block in blocks]
    assert "".join(texts).replace("\n", "") == "abcde"


@pytest.mark.case("ANT-22")
def test_a_later_system_turn_is_kept_and_breaks_no_alternation(stage: Stage) -> None:
    said = [
        {"role": "system", "content": "rule one"},
        {"role": "user", "content": "a"},
        {"role": "system", "content": "rule two"},
        {"role": "user", "content": "b"},
    ]

    body = sent(stage, messages=said)

    roles = [role for role, _ in turns(body)]
    assert "system" not in roles
    assert all(one != next_ for one, next_ in pairwise(roles))
    assert "rule one" in str(body)
    assert "rule two" in str(body)


@pytest.mark.case("ANT-22")
def test_a_model_with_one_system_turn_gets_one(stage: Stage) -> None:
    stage.upstream.plays(script.completion())
    said = [
        {"role": "system", "content": "rule one"},
        {"role": "developer", "content": "rule two"},
        *ASKED,
    ]

    assert stage.chat(model="oa-strict", messages=said).status == 200

    first, *rest = stage.upstream.asked[0].body["messages"]
    assert first["role"] == "system"
    assert str(first["content"]).index("rule one") < str(first["content"]).index("rule two")
    assert [turn["role"] for turn in rest] == ["user"]
