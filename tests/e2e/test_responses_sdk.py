"""The OpenAI SDK on the Responses surface: what it sends, and what it makes of every answer."""

from __future__ import annotations

import base64
import json

import openai
import pytest
from openai.lib.streaming.responses import ResponseTextDeltaEvent
from openai.types.responses import Response, ResponseFunctionToolCall, ResponseStreamEvent
from pydantic import BaseModel, TypeAdapter

from techniques.core.json import Json
from tests.e2e.conftest import Scene
from tests.e2e.turns import MODELS, Called, Turn, streamed, whole

ASKED: list[Json] = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": "Say hello to Zoë."},
]
GREETING = Turn(parts=("Hel", "lo, Z", "oë \u2028✓"))
THOUGHT = Turn(parts=("Yes",), thought="Let me see.")
PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"0" * 16).decode()
SCHEMA: Json = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
TOOLS: list[Json] = [
    {"type": "function", "name": "weather", "description": "It.", "parameters": SCHEMA},
    {"type": "function", "name": "now", "parameters": {"type": "object"}, "strict": False},
]
CALLS = (Called("call_a1", "weather", '{"city": "Köln"}'), Called("call_b2", "now", "{}"))
BOTH = Turn(parts=("I will ", "look."), calls=CALLS)
EVENTS: TypeAdapter[Json] = TypeAdapter(ResponseStreamEvent)
TRANSLATED = ("oa-model", "an-model")
"""Models whose providers do not speak this API."""
OPEN = ["response.created", "response.in_progress"]
TRANSLATED = ("oa-model", "an-model")
"""Models whose provider speaks another dialect; what one of this dialect says is passed on."""


class Place(BaseModel):
    """A place."""

    name: str
    people: int


@pytest.mark.parametrize("model", TRANSLATED)
def test_a_response_comes_whole(scene: Scene, model: str) -> None:
    scene.upstream.plays(whole(model, GREETING))

    answer = scene.chat.responses.create(model=model, input=ASKED, instructions="Speak up.")

    Response.model_validate(answer.to_dict())
    assert (answer.output_text, answer.status, answer.object) == (
        GREETING.text,
        "completed",
        "response",
    )
    assert answer.id.startswith("resp_")
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (12, 4)
    assert answer.usage.total_tokens == 16
    assert answer._request_id


@pytest.mark.parametrize("model", TRANSLATED)
def test_instructions_stand_in_front_and_what_was_asked_is_told_again(
    scene: Scene, model: str
) -> None:
    scene.upstream.plays(whole(model, GREETING))

    answer = scene.chat.responses.create(
        model=model, input=ASKED, instructions="Speak up.", metadata={"a": "b"}, store=True
    )

    assert (answer.instructions, answer.metadata) == ("Speak up.", {"a": "b"})
    assert answer.to_dict()["store"] is False
    [asked] = scene.upstream.asked
    sent = json.dumps(asked.body)
    assert sent.index("Speak up.") < sent.index("Be brief.") < sent.index("Say hello")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("turn", [GREETING, THOUGHT, BOTH], ids=["text", "thought", "calls"])
def test_every_event_of_a_stream_is_of_its_type(scene: Scene, model: str, turn: Turn) -> None:
    scene.upstream.plays(streamed(model, turn))

    with scene.chat.responses.create(model=model, input="a", tools=TOOLS, stream=True) as stream:
        events = [EVENTS.validate_python(event.to_dict()) for event in stream]

    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert [event.type for event in events[:2]] == OPEN
    assert events[-1].type == "response.completed"
    assert events[-1].response.output_text == turn.text


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("turn", [GREETING, THOUGHT, BOTH], ids=["text", "thought", "calls"])
def test_a_stream_folds_into_what_a_whole_answer_says(scene: Scene, model: str, turn: Turn) -> None:
    scene.upstream.plays(streamed(model, turn), whole(model, turn))

    with scene.chat.responses.stream(model=model, input="a", tools=TOOLS) as stream:
        texts = [one.delta for one in stream if isinstance(one, ResponseTextDeltaEvent)]
        final = stream.get_final_response()
    answer = scene.chat.responses.create(model=model, input="a", tools=TOOLS)

    assert "".join(texts) == final.output_text == answer.output_text == turn.text
    assert [_said(item.to_dict()) for item in final.output] == [
        _said(item.to_dict()) for item in answer.output
    ]
    assert final.usage == answer.usage


def _said(item: Json) -> Json:
    """Return what an item says, without its name and what the SDK's helpers add."""
    for part in item.get("content") or ():
        part.pop("parsed", None)
    if "arguments" in item:
        item["arguments"] = json.loads(item["arguments"])
    return {name: item[name] for name in item if name not in {"id", "parsed_arguments"}}


@pytest.mark.parametrize("model", MODELS)
def test_tools_are_called_and_their_results_go_back(scene: Scene, model: str) -> None:
    scene.upstream.plays(whole(model, BOTH), whole(model, GREETING))

    first = scene.chat.responses.create(model=model, input=ASKED, tools=TOOLS)
    calls = [item for item in first.output if isinstance(item, ResponseFunctionToolCall)]
    results: list[Json] = [
        {"type": "function_call_output", "call_id": call.call_id, "output": f"r-{call.name}"}
        for call in calls
    ]
    history: list[Json] = [*ASKED, *(item.to_dict() for item in first.output), *results]
    second = scene.chat.responses.create(model=model, input=history, tools=TOOLS)

    found = [(call.call_id, call.name, json.loads(call.arguments)) for call in calls]
    assert found == [("call_a1", "weather", {"city": "Köln"}), ("call_b2", "now", {})]
    assert second.output_text == GREETING.text
    sent = json.dumps(scene.upstream.asked[1].body)
    for word in ("call_a1", "call_b2", "r-weather", "r-now", "I will look."):
        assert word in sent


def test_signed_reasoning_goes_back_to_its_maker_byte_for_byte(scene: Scene) -> None:
    turn = Turn(parts=("a",), thought="Let me see.", calls=CALLS)
    for play in (streamed, whole):
        scene.upstream.forget()
        scene.upstream.plays(play("an-model", turn), whole("an-model", GREETING))
        asked: Json = {"model": "an-model", "input": "a", "tools": TOOLS}
        if play is streamed:
            with scene.chat.responses.stream(**asked) as stream:
                answer: Response = stream.get_final_response()
        else:
            answer = scene.chat.responses.create(**asked)
        history: list[Json] = [{"role": "user", "content": "a"}]
        history += [item.to_dict(exclude_none=True) for item in answer.output]
        history += [
            {"type": "function_call_output", "call_id": call.id, "output": "r"} for call in CALLS
        ]
        for item in history:
            item.pop("parsed_arguments", None)
        scene.chat.responses.create(
            model="an-model", input=history, tools=TOOLS, reasoning={"effort": "low"}
        )

        thinking = scene.upstream.asked[1].body["messages"][1]["content"][0]
        assert thinking == {
            "type": "thinking",
            "thinking": turn.thought,
            "signature": turn.signature,
        }


@pytest.mark.parametrize("model", MODELS)
def test_a_model_is_parsed_whole_and_streamed(scene: Scene, model: str) -> None:
    spelled = Turn(parts=('{"name": "Kö', 'ln", "people"', ": 1087000}"))
    scene.upstream.plays(whole(model, spelled), streamed(model, spelled))
    expected = Place(name="Köln", people=1087000)

    answer = scene.chat.responses.parse(model=model, input="a", text_format=Place)
    with scene.chat.responses.stream(model=model, input="a", text_format=Place) as stream:
        final = stream.get_final_response()

    assert answer.output_parsed == final.output_parsed == expected
    for asked in scene.upstream.asked:
        assert '"people"' in json.dumps(asked.body)


@pytest.mark.parametrize("model", TRANSLATED)
def test_pictures_go_in_the_words_of_the_provider(scene: Scene, model: str) -> None:
    scene.upstream.plays(whole(model, GREETING))
    image = {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "auto"}
    text = {"type": "input_text", "text": "What is it?"}

    turns: list[Json] = [{"role": "user", "content": [text, image]}]

    scene.chat.responses.create(model=model, input=turns)

    [asked] = scene.upstream.asked
    [turn] = asked.body["messages"]
    shown = turn["content"][1]
    if model.startswith("oa"):
        url = f"data:image/png;base64,{PIXEL}"
        assert shown == {"type": "image_url", "image_url": {"url": url}}
    else:
        source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
        assert shown == {"type": "image", "source": source}


@pytest.mark.parametrize("model", MODELS)
def test_a_cut_answer_is_incomplete_and_says_why(scene: Scene, model: str) -> None:
    cut = Turn(parts=("Hel",), cut=True)
    scene.upstream.plays(whole(model, cut), streamed(model, cut))

    answer = scene.chat.responses.create(model=model, input="a", max_output_tokens=16)
    with scene.chat.responses.create(model=model, input="a", stream=True) as stream:
        *_, last = stream

    assert last.type == "response.incomplete"
    for told in (answer, last.response):
        assert (told.status, told.output_text) == ("incomplete", "Hel")
        assert told.incomplete_details is not None
        assert told.incomplete_details.reason == "max_output_tokens"
        assert told.usage is not None
        assert told.usage.output_tokens == 4


async def test_the_asynchronous_client_reads_whole_and_streamed_answers(scene: Scene) -> None:
    async with scene.async_chat() as client:
        for model in MODELS:
            scene.upstream.plays(
                whole(model, GREETING), streamed(model, GREETING), streamed(model, GREETING)
            )
            answer = await client.responses.create(model=model, input=ASKED)
            async with client.responses.stream(model=model, input=ASKED) as stream:
                final = await stream.get_final_response()
            async with client.responses.with_streaming_response.create(
                model=model, input=ASKED, stream=True
            ) as raw:
                lines = [line async for line in raw.iter_lines()]

            assert answer.output_text == final.output_text == GREETING.text
            assert lines[0] == "event: response.created"
            assert not any("[DONE]" in line for line in lines)


def test_the_simulation_answers_whole_and_streamed_alike(scene: Scene) -> None:
    asked: Json = {
        "model": "sim-large",
        "input": "What is 17 * 23?",
        "temperature": 0,
        "top_logprobs": 2,
        "include": ["message.output_text.logprobs"],
    }

    answer = scene.chat.responses.create(**asked)
    with scene.chat.responses.stream(**asked) as stream:
        final = stream.get_final_response()

    assert answer.output_text
    assert answer.output_text == final.output_text
    for told in (answer, final):
        [message] = told.output
        assert message.type == "message"
        [part] = message.content
        assert part.type == "output_text"
        assert part.logprobs
        assert all(token.logprob <= 0 for token in part.logprobs)


@pytest.mark.parametrize("model", TRANSLATED)
@pytest.mark.parametrize("tool", [{"type": "web_search"}, {"type": "code_interpreter"}])
def test_a_tool_of_openais_own_is_refused_by_its_name(scene: Scene, model: str, tool: Json) -> None:
    with pytest.raises(openai.BadRequestError, match=tool["type"]) as refused:
        scene.chat.responses.create(model=model, input="a", tools=[tool])

    assert (refused.value.code, refused.value.param) == ("unsupported_tool", "tools")


@pytest.mark.parametrize("model", TRANSLATED)
def test_a_tool_that_takes_text_is_offered_as_a_function(scene: Scene, model: str) -> None:
    call = Called("call_1", "patch", '{"input": "*** Begin"}')
    scene.upstream.plays(whole(model, Turn(calls=(call,))))

    raw = scene.chat.responses.with_raw_response.create(
        model=model, input="a", tools=[{"type": "custom", "name": "patch"}]
    )

    [item] = raw.parse().output
    assert item.type == "custom_tool_call"
    assert (item.call_id, item.input) == ("call_1", "*** Begin")
    assert "custom_tool_as_function" in raw.headers["x-lockgate-warnings"]


@pytest.mark.parametrize("model", TRANSLATED)
def test_a_conversation_with_calls_of_openais_own_tools_goes_on_elsewhere(
    scene: Scene, model: str
) -> None:
    scene.upstream.plays(whole(model, Turn("It is 3967 m high.")))
    searched: Json = {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "height of the Eiger"},
    }
    said: Json = {"type": "message", "role": "assistant", "content": "I found it."}
    asked: Json = {
        "model": model,
        "input": [
            {"role": "user", "content": "Look it up."},
            {"type": "web_search_call", "id": "ws_0", "status": "completed"},
            searched,
            said,
            {"role": "user", "content": "How high is it?"},
        ],
    }

    raw = scene.chat.responses.with_raw_response.create(**asked)

    assert raw.parse().output_text == "It is 3967 m high."
    told = raw.headers["x-lockgate-warnings"].split("; ")
    assert told == ["hosted_call_dropped: web_search_call", "hosted_call_as_text: web_search_call"]
    assert "height of the Eiger" in str(scene.upstream.asked[0].body["messages"][1])
    with pytest.raises(openai.BadRequestError):
        scene.chat.responses.create(**asked, extra_headers={"x-lockgate-strict": "1"})
