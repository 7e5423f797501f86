"""Tools through both SDKs: calls, several at once, empty arguments, and whole loops."""

from __future__ import annotations

import json

import pytest
from anthropic import beta_tool
from openai.types.chat import ChatCompletionMessage

from techniques.core.json import Json
from tests.e2e.conftest import Scene
from tests.e2e.turns import MODELS, Called, Turn, streamed, whole
from tests.fakes import script

SCHEMA: Json = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
CHAT_TOOLS: list[Json] = [
    {
        "type": "function",
        "function": {"name": "weather", "description": "Tells it.", "parameters": SCHEMA},
    },
    {"type": "function", "function": {"name": "now", "parameters": {"type": "object"}}},
]
MESSAGE_TOOLS: list[Json] = [
    {"name": "weather", "description": "Tells it.", "input_schema": SCHEMA},
    {"name": "now", "input_schema": {"type": "object"}},
]
ASKED: list[Json] = [{"role": "user", "content": "What is the weather in Köln, and the time?"}]
CALLS = (Called("call_a1", "weather", '{"city": "Köln"}'), Called("call_b2", "now", "{}"))
BOTH = Turn(parts=("I will ", "look."), calls=CALLS)
ANSWER = Turn(parts=("18 °C, ", "noon."))
EXPECTED = [("call_a1", "weather", {"city": "Köln"}), ("call_b2", "now", {})]


@pytest.mark.parametrize("model", MODELS)
def test_parallel_calls_come_whole_to_a_chat_client(scene: Scene, model: str) -> None:
    scene.upstream.plays(whole(model, BOTH))

    answer = scene.chat.chat.completions.create(model=model, messages=ASKED, tools=CHAT_TOOLS)

    choice = answer.choices[0]
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content == BOTH.text
    calls = [call for call in choice.message.tool_calls or [] if call.type == "function"]
    found = [(c.id, c.function.name, json.loads(c.function.arguments)) for c in calls]
    assert found == EXPECTED


@pytest.mark.parametrize("model", MODELS)
def test_parallel_calls_stream_to_a_chat_client(scene: Scene, model: str) -> None:
    scene.upstream.plays(streamed(model, BOTH))

    with scene.chat.chat.completions.stream(
        model=model, messages=ASKED, tools=CHAT_TOOLS
    ) as stream:
        done = [event for event in stream if event.type == "tool_calls.function.arguments.done"]
        final = stream.get_final_completion()

    calls = final.choices[0].message.tool_calls or []
    assert [(c.id, c.function.name, json.loads(c.function.arguments)) for c in calls] == EXPECTED
    assert [(event.index, event.name) for event in done] == [(0, "weather"), (1, "now")]
    assert final.choices[0].finish_reason == "tool_calls"


@pytest.mark.parametrize("model", MODELS)
def test_parallel_calls_come_whole_to_a_messages_client(scene: Scene, model: str) -> None:
    scene.upstream.plays(whole(model, BOTH))

    answer = scene.messages.messages.create(
        model=model, max_tokens=99, messages=ASKED, tools=MESSAGE_TOOLS
    )

    assert answer.stop_reason == "tool_use"
    assert [block.type for block in answer.content] == ["text", "tool_use", "tool_use"]
    calls = [block for block in answer.content if block.type == "tool_use"]
    assert [(call.id, call.name, call.input) for call in calls] == EXPECTED


@pytest.mark.parametrize("model", MODELS)
def test_parallel_calls_stream_to_a_messages_client(scene: Scene, model: str) -> None:
    scene.upstream.plays(streamed(model, BOTH))

    with scene.messages.messages.stream(
        model=model, max_tokens=99, messages=ASKED, tools=MESSAGE_TOOLS
    ) as stream:
        final = stream.get_final_message()

    assert final.stop_reason == "tool_use"
    calls = [block for block in final.content if block.type == "tool_use"]
    assert [(call.id, call.name, call.input) for call in calls] == EXPECTED


@pytest.mark.parametrize("model", MODELS)
def test_a_chat_client_goes_round_the_loop(scene: Scene, model: str) -> None:
    scene.upstream.plays(streamed(model, BOTH), streamed(model, ANSWER))
    turns = list(ASKED)

    with scene.chat.chat.completions.stream(
        model=model, messages=turns, tools=CHAT_TOOLS
    ) as stream:
        said = stream.get_final_completion().choices[0].message
    turns.append(said.to_dict(mode="json"))
    turns += [
        {"role": "tool", "tool_call_id": call.id, "content": f"result of {call.function.name}"}
        for call in said.tool_calls or []
    ]
    with scene.chat.chat.completions.stream(
        model=model, messages=turns, tools=CHAT_TOOLS
    ) as stream:
        last = stream.get_final_completion().choices[0]

    assert (last.message.content, last.finish_reason) == (ANSWER.text, "stop")
    _results_came_back(scene.upstream.asked[1].body, model)


@pytest.mark.parametrize("model", MODELS)
def test_a_messages_client_goes_round_the_loop(scene: Scene, model: str) -> None:
    scene.upstream.plays(whole(model, BOTH), whole(model, ANSWER))
    turns = list(ASKED)

    said = scene.messages.messages.create(
        model=model, max_tokens=99, messages=turns, tools=MESSAGE_TOOLS
    )
    results = [
        {"type": "tool_result", "tool_use_id": call.id, "content": f"result of {call.name}"}
        for call in said.content
        if call.type == "tool_use"
    ]
    turns.append({"role": "assistant", "content": [b.to_dict() for b in said.content]})
    turns.append({"role": "user", "content": results})
    last = scene.messages.messages.create(
        model=model, max_tokens=99, messages=turns, tools=MESSAGE_TOOLS
    )

    assert [block.text for block in last.content if block.type == "text"] == [ANSWER.text]
    _results_came_back(scene.upstream.asked[1].body, model)


def _results_came_back(body: Json, model: str) -> None:
    """Check that a provider of whichever dialect got its own calls and their results."""
    if model.startswith("rs"):
        _asked, _text, *calls, first, second = body["input"]
        told = [(c["call_id"], c["name"], json.loads(c["arguments"])) for c in calls]
        assert told == EXPECTED
        results = [(r["type"], r["call_id"], r["output"]) for r in (first, second)]
        assert results == [
            ("function_call_output", "call_a1", "result of weather"),
            ("function_call_output", "call_b2", "result of now"),
        ]
        return
    if model.startswith("oa"):
        _user, said, *results = body["messages"]
        assert [call["id"] for call in said["tool_calls"]] == ["call_a1", "call_b2"]
        told = [(turn["role"], turn["tool_call_id"], turn["content"]) for turn in results]
        assert told == [
            ("tool", "call_a1", "result of weather"),
            ("tool", "call_b2", "result of now"),
        ]
        return
    _user, said, after = body["messages"]
    calls = [block for block in said["content"] if block["type"] == "tool_use"]
    assert [(c["id"], c["name"], c["input"]) for c in calls] == EXPECTED
    assert after["role"] == "user"
    assert [block["tool_use_id"] for block in after["content"]] == ["call_a1", "call_b2"]
    assert "result of weather" in str(after["content"][0]["content"])


CHOICES = [
    ("auto", {"type": "auto"}),
    ("required", {"type": "any"}),
    ("none", {"type": "none"}),
    (
        {"type": "function", "function": {"name": "now"}},
        {"type": "tool", "name": "now"},
    ),
]


@pytest.mark.parametrize(("chat", "messages"), CHOICES)
def test_every_choice_of_tools_is_translated(scene: Scene, chat: Json, messages: Json) -> None:
    scene.upstream.plays(whole("an-model", ANSWER), whole("oa-model", ANSWER))

    scene.chat.chat.completions.create(
        model="an-model", messages=ASKED, tools=CHAT_TOOLS, tool_choice=chat
    )
    scene.messages.messages.create(
        model="oa-model",
        max_tokens=9,
        messages=ASKED,
        tools=MESSAGE_TOOLS,
        tool_choice=messages,
    )

    to_anthropic, to_openai = (asked.body for asked in scene.upstream.asked)
    assert to_anthropic.get("tool_choice", {"type": "auto"}) == messages
    assert to_openai.get("tool_choice", "auto") == chat


def test_one_call_at_a_time_is_translated(scene: Scene) -> None:
    scene.upstream.plays(whole("an-model", ANSWER), whole("oa-model", ANSWER))

    scene.chat.chat.completions.create(
        model="an-model", messages=ASKED, tools=CHAT_TOOLS, parallel_tool_calls=False
    )
    scene.messages.messages.create(
        model="oa-model",
        max_tokens=9,
        messages=ASKED,
        tools=MESSAGE_TOOLS,
        tool_choice={"type": "auto", "disable_parallel_tool_use": True},
    )

    to_anthropic, to_openai = (asked.body for asked in scene.upstream.asked)
    assert to_anthropic["tool_choice"]["disable_parallel_tool_use"] is True
    assert to_openai["parallel_tool_calls"] is False


def test_the_old_functions_are_called_at_the_other_dialect(scene: Scene) -> None:
    scene.upstream.plays(whole("an-model", Turn(calls=CALLS[:1])))

    answer = scene.chat.chat.completions.create(
        model="an-model",
        messages=ASKED,
        functions=[{"name": "weather", "parameters": SCHEMA}],
        function_call="auto",
    )

    choice = answer.choices[0]
    assert choice.finish_reason == "function_call"
    assert choice.message.function_call is not None
    assert json.loads(choice.message.function_call.arguments) == {"city": "Köln"}


def test_the_simulation_calls_an_offered_tool(scene: Scene) -> None:
    answer = scene.chat.chat.completions.create(
        model="sim-small", messages=ASKED, tools=CHAT_TOOLS, tool_choice="required"
    )

    [call, *_] = answer.choices[0].message.tool_calls or []
    assert call.type == "function"
    assert call.function.name in {"weather", "now"}
    assert isinstance(json.loads(call.function.arguments), dict)


def test_the_messages_runner_runs_a_whole_loop(scene: Scene) -> None:

    scene.upstream.plays(whole("an-model", Turn(calls=CALLS[:1])), whole("an-model", ANSWER))
    seen: list[str] = []

    @beta_tool
    def weather(city: str) -> str:
        """Tell the weather.

        Args:
            city: Where.
        """
        seen.append(city)
        return "18 °C"

    runner = scene.messages.beta.messages.tool_runner(
        model="an-model", max_tokens=99, tools=[weather], messages=ASKED
    )
    last = runner.until_done()

    assert seen == ["Köln"]
    assert [block.text for block in last.content if block.type == "text"] == [ANSWER.text]


SIGNED: Json = {"google": {"thought_signature": 'Eo8B+/=\u00e9 \\ " end=='}}


@pytest.mark.parametrize("technique", ["none", "baseline", "self_consistency", "self_refine"])
@pytest.mark.parametrize("streaming", [False, True])
def test_a_signature_beside_a_call_goes_to_the_client_and_back_unchanged(
    scene: Scene, technique: str, *, streaming: bool
) -> None:
    made = script.called("weather", '{"city": "Köln"}', index=0, id="call_a1", extra_content=SIGNED)
    piece = script.sse(
        script.begin(), script.call_delta(made), script.finish("tool_calls"), script.done()
    )
    message = {"role": "assistant", "content": None, "tool_calls": [made]}
    body = script.choices({"index": 0, "message": message, "finish_reason": "tool_calls"})
    scene.upstream.chooses(lambda asked: piece if asked.body.get("stream") else body)
    headers = {"x-lockgate-technique": technique}

    if streaming:
        with scene.chat.chat.completions.stream(
            model="oa-model", messages=ASKED, tools=CHAT_TOOLS, extra_headers=headers
        ) as stream:
            said: ChatCompletionMessage = stream.get_final_completion().choices[0].message
    else:
        answer = scene.chat.chat.completions.create(
            model="oa-model", messages=ASKED, tools=CHAT_TOOLS, extra_headers=headers
        )
        said = answer.choices[0].message
    calls: Json = said.to_dict(mode="json")["tool_calls"]
    (call,) = calls
    assert call["extra_content"] == SIGNED

    scene.upstream.asked.clear()
    back: Json = {"role": "assistant", "content": None, "tool_calls": [call]}
    result: Json = {"role": "tool", "tool_call_id": call["id"], "content": "18 °C"}
    scene.chat.chat.completions.create(
        model="oa-model", messages=[*ASKED, back, result], tools=CHAT_TOOLS, extra_headers=headers
    )
    for asked in scene.upstream.asked:
        assert asked.body["messages"][1]["tool_calls"][0]["extra_content"] == SIGNED
