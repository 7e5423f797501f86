"""Tool calls, however an upstream spells them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import pytest

from techniques.core.json import Json
from tests.conformance.stage import ASKED, CHAT_TOOLS, MESSAGE_TOOLS, Stage, Streamed
from tests.fakes import script
from tests.fakes.script import call_delta, called, done, finish, sse

ARGUMENTS = '{"q":"tide"}'


def calls_of(answer: Streamed) -> dict[int, tuple[str, str, str]]:
    """Return id, name and arguments of each call, put together by index as an SDK does it."""
    calls: dict[int, tuple[str, str, str]] = {}
    for delta in answer.deltas:
        for piece in delta.get("tool_calls") or []:
            known = calls.get(piece["index"], ("", "", ""))
            function = piece.get("function", {})
            calls[piece["index"]] = (
                known[0] or piece.get("id") or "",
                known[1] or function.get("name") or "",
                known[2] + (function.get("arguments") or ""),
            )
    return calls


def streamed(stage: Stage, *deltas: bytes, reason: str = "tool_calls") -> Streamed:
    """Stream *deltas* to a chat client."""
    stage.upstream.plays(sse(script.begin(), *deltas, finish(reason), done()))
    return stage.chat_stream(tools=CHAT_TOOLS)


@pytest.mark.case("TOOL-01")
def test_a_call_without_an_index_gets_one(stage: Stage) -> None:
    first = call_delta(called("look_up", '{"q":', id="c9"))
    rest = call_delta({"function": {"arguments": '"tide"}'}})

    answer = streamed(stage, first, rest)

    pieces = [piece for delta in answer.deltas for piece in delta.get("tool_calls", [])]
    assert [piece["index"] for piece in pieces] == [0] * len(pieces)
    assert calls_of(answer) == {0: ("c9", "look_up", ARGUMENTS)}


@pytest.mark.case("TOOL-03")
def test_calls_with_one_index_and_two_ids_are_two(stage: Stage) -> None:
    first = call_delta(called("look_up", ARGUMENTS, index=0, id="c1"))
    second = call_delta(called("add_note", '{"n":"2"}', index=0, id="c2"))

    answer = streamed(stage, first, second)

    assert calls_of(answer) == {
        0: ("c1", "look_up", ARGUMENTS),
        1: ("c2", "add_note", '{"n":"2"}'),
    }


@pytest.mark.case("TOOL-05")
def test_a_call_without_parameters_has_an_empty_object_for_input(stage: Stage) -> None:
    said = {"role": "assistant", "content": None, "tool_calls": [called("look_up", "", id="c1")]}
    stage.upstream.plays(*[script.completion(message=said, reason="tool_calls")] * 2)

    chat = stage.chat(tools=CHAT_TOOLS)
    message = stage.messages(tools=MESSAGE_TOOLS)

    assert chat.status == message.status == 200
    function = chat.json["choices"][0]["message"]["tool_calls"][0]["function"]
    assert function["arguments"] in {"", "{}"}
    assert message.json["content"][0]["type"] == "tool_use"
    assert message.json["content"][0]["input"] == {}


@pytest.mark.case("TOOL-06")
def test_arguments_given_as_an_object_become_text(stage: Stage) -> None:
    calls = [called("look_up", {"q": "tide"}, id="c1")]
    said = {"role": "assistant", "content": "", "tool_calls": calls}
    stage.upstream.plays(script.completion(message=said, reason="tool_calls"))

    answer = stage.chat(tools=CHAT_TOOLS)

    arguments = answer.json["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]
    assert isinstance(arguments, str)
    assert json.loads(arguments) == {"q": "tide"}


@pytest.mark.case("TOOL-07")
def test_a_call_in_one_delta_has_its_input_in_a_message_stream(stage: Stage) -> None:
    whole = call_delta(called("look_up", ARGUMENTS, index=0, id="c1"))
    stage.upstream.plays(sse(script.begin(), whole, finish("tool_calls"), done()))

    answer = stage.messages_stream(tools=MESSAGE_TOOLS)

    blocks = [told for told in answer.said if told["type"].startswith("content_block")]
    assert blocks[0]["content_block"] == {
        "type": "tool_use",
        "id": "c1",
        "name": "look_up",
        "input": {},
    }
    deltas = [told["delta"] for told in blocks if told["type"] == "content_block_delta"]
    assert {delta["type"] for delta in deltas} == {"input_json_delta"}
    assert "".join(delta["partial_json"] for delta in deltas) == ARGUMENTS
    assert blocks[-1]["type"] == "content_block_stop"
    assert answer.said[-2]["delta"]["stop_reason"] == "tool_use"


@pytest.mark.case("TOOL-08")
def test_a_finish_of_stop_after_a_call_is_told_as_tool_calls(stage: Stage) -> None:
    whole = call_delta(called("look_up", ARGUMENTS, index=0, id="c1"))

    answer = streamed(stage, whole, reason="stop")

    assert answer.finishes == ["tool_calls"]
    assert calls_of(answer) == {0: ("c1", "look_up", ARGUMENTS)}


@pytest.mark.case("TOOL-10")
def test_legacy_functions_pass_both_ways(stage: Stage) -> None:
    functions = [{"name": "look_up", "parameters": {"type": "object"}}]
    call = {"function_call": {"name": "look_up", "arguments": ARGUMENTS}}
    stage.upstream.plays(sse(script.begin(), script.chunk(call, "function_call"), done()))

    answer = stage.chat_stream(functions=functions)

    assert stage.upstream.asked[0].body["functions"] == functions
    calls = [delta["function_call"] for delta in answer.deltas if "function_call" in delta]
    assert calls[0]["name"] == "look_up"
    assert "".join(call.get("arguments", "") for call in calls) == ARGUMENTS
    assert answer.finishes == ["function_call"]


def history(call_id: str) -> Sequence[Json]:
    """Return a conversation in which a tool was called."""
    call = called("look_up", "{}", id=call_id)
    return [
        *ASKED,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call_id, "content": "high at noon"},
    ]


@pytest.mark.case("TOOL-12")
def test_ids_that_anthropic_refuses_are_spelt_anew_and_alike(stage: Stage) -> None:
    stage.upstream.plays(script.message(), script.message())

    for _ in range(2):
        assert (
            stage.chat(
                model="an-model", messages=history("functions.look_up:0"), tools=CHAT_TOOLS
            ).status
            == 200
        )

    ids = []
    for asked in stage.upstream.asked:
        _user, assistant, results = asked.body["messages"]
        assert results["content"][0]["tool_use_id"] == assistant["content"][0]["id"]
        ids.append(assistant["content"][0]["id"])
    assert re.fullmatch(r"[a-zA-Z0-9_-]+", ids[0])
    assert ids[0] == ids[1]
