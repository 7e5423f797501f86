"""A provider that speaks the Responses API, behind clients of all three dialects."""

from __future__ import annotations

import json

import openai
import pytest
from openai.types.responses import ResponseStreamEvent
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from pydantic import TypeAdapter

from gateway.upstream.provider import Target
from gateway.upstream.providers.openai_responses import OpenAIResponses
from techniques.core.json import Json
from techniques.core.request import (
    Document,
    Image,
    Message,
    Refusal,
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
from techniques.core.signatures import marked
from tests.e2e.conftest import Scene
from tests.fakes import responses, script

MODEL = "rs-model"
ASKED: list[Json] = [{"role": "user", "content": "What is 17 * 23?"}]
SEARCHED: Json = {
    "id": "ws_1",
    "type": "web_search_call",
    "status": "completed",
    "action": {"type": "search", "query": "Eiger"},
}
SHELL: Json = {"type": "custom", "name": "shell", "description": "Runs a command."}
VOTE = {"x-lockgate-technique": "self_consistency", "x-lockgate-params": '{"num_samples": 3}'}


def test_a_client_of_the_same_api_gets_the_providers_own_bytes(scene: Scene) -> None:
    told = responses.events((SEARCHED, []), (responses.message("391."), ["39", "1."]))
    scene.upstream.plays(responses.whole(SEARCHED, responses.message("391.")), script.sse(*told))
    asked: Json = {
        "model": MODEL,
        "input": ASKED,
        "tools": [{"type": "web_search"}],
        "extra_body": {"new_field": {"a": 1}},
    }

    whole = scene.chat.responses.with_raw_response.create(**asked)
    with scene.chat.responses.create(**asked, stream=True) as stream:
        events = list(stream)

    assert json.loads(whole.text)["output"] == [SEARCHED, responses.message("391.")]
    assert whole.headers["x-lockgate-model"] == MODEL
    names = [json.loads(event.split(b"data: ")[1])["type"] for event in told]
    assert [event.type for event in events] == names
    assert [event.sequence_number for event in events] == [*range(len(told))]
    for sent in scene.upstream.asked:
        assert sent.path == "/v1/responses"
        assert sent.body["model"] == "real-rs"
        assert sent.body["new_field"] == {"a": 1}
        assert sent.body["tools"] == [{"type": "web_search"}]
        assert "store" not in sent.body


def test_a_vote_is_drawn_from_it_and_told_in_the_clients_dialect(scene: Scene) -> None:
    drawn = iter(["So the answer is 391.", "The answer is 381.", "The answer is 391."])
    scene.upstream.chooses(lambda _: responses.whole(responses.message(next(drawn))))

    answer = scene.chat.responses.create(model=MODEL, input=ASKED, extra_headers=VOTE)

    assert "391" in answer.output_text
    assert len(scene.upstream.asked) == 3
    assert all(sent.body["store"] is False for sent in scene.upstream.asked)


def test_under_a_technique_its_own_tools_stay_its_own(scene: Scene) -> None:
    called = responses.custom_call("shell", 'ls "a b"\n', "call_1")
    scene.upstream.chooses(lambda _: responses.whole(SEARCHED, called))
    history: list[Json] = [
        *ASKED,
        {"type": "custom_tool_call", "call_id": "call_0", "name": "shell", "input": "pwd"},
        {"type": "custom_tool_call_output", "call_id": "call_0", "output": "/tmp"},
    ]

    answer = scene.chat.responses.create(
        model=MODEL,
        input=history,
        tools=[SHELL, {"type": "web_search"}],
        extra_headers={"x-lockgate-technique": "best_of_n"},
    )

    sent = scene.upstream.asked[0].body
    assert sent["input"][1:] == history[1:]
    assert sent["tools"] == [SHELL, {"type": "web_search"}]
    [custom] = [item for item in answer.output if item.type == "custom_tool_call"]
    assert (custom.call_id, custom.name, custom.input) == ("call_1", "shell", 'ls "a b"\n')


def test_a_cut_answer_of_nothing_but_reasoning_is_an_empty_one_to_a_chat_client(
    scene: Scene,
) -> None:
    """RSP-06."""
    used = responses.counts(9, 16, thought=16)
    short: Json = {"incomplete_details": {"reason": "max_output_tokens"}, "used": used}
    cut = responses.whole(responses.reasoning(), status="incomplete", **short)
    scene.upstream.plays(cut, cut)

    chatted = scene.chat.chat.completions.create(
        model=MODEL, messages=ASKED, max_completion_tokens=16
    )
    messaged = scene.messages.messages.create(model=MODEL, messages=ASKED, max_tokens=16)

    [choice] = chatted.choices
    assert (choice.message.content, choice.finish_reason) == ("", "length")
    assert chatted.usage is not None
    assert (chatted.usage.prompt_tokens, chatted.usage.completion_tokens) == (9, 16)
    assert messaged.stop_reason == "max_tokens"
    assert messaged.usage.output_tokens == 16


def test_a_failure_inside_its_stream_raises_in_a_client_of_its_own_api(scene: Scene) -> None:
    begun = responses.events((responses.message("391."), ["39", "1."]))[:6]
    error = {"code": "server_error", "message": "The engine is on fire."}
    failed = script.event("response.failed", response=responses.response([], "failed", error=error))
    scene.upstream.plays(script.sse(*begun, failed))

    events: list[ResponseStreamEvent] = []
    with (
        scene.chat.responses.create(model=MODEL, input=ASKED, stream=True) as stream,
        pytest.raises(openai.APIError, match="on fire"),
    ):
        events.extend(stream)

    assert [event.sequence_number for event in events] == [*range(len(begun))]


@pytest.mark.parametrize("streamed", [False, True])
def test_a_failure_before_the_answer_has_its_own_status(
    scene: Scene,
    streamed: bool,  # noqa: FBT001
) -> None:
    error = {"code": "rate_limit_exceeded", "message": "Slow down."}
    response = responses.response([], "failed", error=error)
    failed = script.sse(*responses.events()[:2], script.event("response.failed", response=response))
    scene.upstream.plays(failed if streamed else script.body(response))

    with pytest.raises(openai.RateLimitError, match="Slow down"):
        scene.chat.responses.create(model=MODEL, input=ASKED, stream=streamed)


def test_what_the_api_cannot_be_told_is_named(scene: Scene) -> None:
    scene.upstream.plays(responses.whole(responses.message("391. END And more.")))

    raw = scene.chat.chat.completions.with_raw_response.create(
        model=MODEL, messages=ASKED, stop=["END"], seed=7, max_completion_tokens=3
    )

    warned = raw.headers["x-lockgate-warnings"]
    for told in ("field_dropped: seed", "max_tokens_raised"):
        assert told in warned, warned
    assert "stop" not in warned  # the gateway stops there itself
    assert raw.parse().choices[0].message.content == "391. "


def test_reasoning_is_bound_to_an_id_that_comes_back_with_it_by_any_way(scene: Scene) -> None:
    """The API refuses it under another; under a technique a client is told one of ours."""
    thought = responses.reasoning("Multiply.", encrypted="gA==", name="rs_theirs")
    scene.upstream.chooses(lambda _: responses.whole(thought, responses.message("391.")))
    plain: Json = {"model": MODEL, "input": ASKED}
    vote: Json = {**plain, "extra_headers": {"x-lockgate-technique": "best_of_n"}}

    for first in (plain, vote):
        for then in (plain, vote):
            answer = scene.chat.responses.create(**first)
            turns = [*ASKED, *(item.to_dict() for item in answer.output), *ASKED]
            scene.upstream.asked.clear()
            scene.chat.responses.create(**{**then, "input": turns})

            sent = scene.upstream.asked[0].body["input"][1]
            assert (sent["id"], sent["encrypted_content"]) == ("rs_theirs", "gA==")


def test_what_is_sent_is_what_the_sdk_would_send() -> None:
    """Hosts check it by the SDK's own types."""
    check = TypeAdapter(ResponseCreateParamsNonStreaming)
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    pictures = (Image(url="https://x/y.png"), Image(data="aGk=", detail="low"))
    turns = (
        said("system", "Be brief."),
        Message("user", (Text("see"), *pictures, Document(data="aGk=", name="a.pdf"))),
        Message(
            "assistant",
            (
                Thinking("why", marked("gA==", "rs_1")),
                Text("Look"),
                Text("ing."),
                Refusal("No."),
                ToolCall("c1", "look", '{"q":"x"}'),
            ),
        ),
        Message("tool", (ToolResult("c1", (Text("r"), *pictures)),)),
        said("developer", "Go on."),
    )
    request = Request(
        "m",
        turns,
        tools=(Tool("look", "Looks.", schema), Tool("bare")),
        tool_choice=ToolChoice("named", "look", parallel=False),
        response_format=ResponseFormat("json_schema", schema, "n"),
        sampling=Sampling(temperature=0.3, top_p=0.9, max_output_tokens=4, logprobs=True),
        thinking=ThinkingWish("on", 3000),
        user="u",
        dialect="openai_chat",
        extra={"metadata": {"a": "b"}, "verbosity": "low", "service_tier": "flex"},
    )

    body = json.loads(OpenAIResponses().encode(request, Target("m", "p", "gpt-5.2")).body)

    check.validate_python(body)
