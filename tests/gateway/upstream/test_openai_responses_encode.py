"""What a Responses API is sent for neutral requests."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.upstream.provider import Target
from techniques.core.errors import RequestRejected
from techniques.core.json import Json, JsonObject
from techniques.core.request import (
    Audio,
    Document,
    Image,
    Message,
    Opaque,
    Part,
    RedactedThinking,
    Refusal,
    Request,
    ResponseFormat,
    Sampling,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    said,
)
from techniques.core.signatures import marked
from tests.gateway.upstream.openai_responses_samples import (
    HI,
    RESPONSES,
    TARGET,
    able,
    asked,
    encoded,
    refused,
    relayed,
    sent,
    thinking_target,
)

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"q": {"type": "string"}},
    "required": ["q"],
    "additionalProperties": False,
}
LOOK = Tool("look", "Looks.", SCHEMA)
SHELL = Tool("shell", "Runs.", SCHEMA, extra={"type": "custom", "format": {"type": "text"}})


def items(*messages: Message, **fields: Json) -> list[Json]:
    found: list[Json] = sent(asked(HI, *messages, **fields))["input"]
    return found[1:]


def content(*parts: Part, **fields: Json) -> Json:
    return sent(asked(Message("user", parts), **fields))["input"][0]["content"]


def test_a_plain_request_is_the_conversation_and_is_not_stored() -> None:
    call = RESPONSES.encode(asked(stream=True), TARGET)

    assert call.path == "/responses"
    assert call.headers == {"content-type": "application/json"}
    assert orjson.loads(call.body) == {
        "model": "real-rs",
        "input": [{"type": "message", "role": "user", "content": "hi"}],
        "stream": True,
        "store": False,
    }
    assert call.warnings == ()


def test_what_is_told_in_front_becomes_the_instructions_and_the_rest_stays_in_its_place() -> None:
    turns = said("system", "S"), said("developer", "D"), HI, said("system", "later")
    body = sent(asked(*turns))

    assert body["instructions"] == "S\n\nD"
    assert [(item["role"], item["content"]) for item in body["input"]] == [
        ("user", "hi"),
        ("system", "later"),
    ]


def test_of_a_client_of_this_api_the_first_turn_alone_is_the_instructions() -> None:
    turns = said("system", "S"), said("system", "an item"), HI
    body = sent(asked(*turns, dialect="openai_responses"))
    items_only = sent(asked(said("developer", "D"), HI, dialect="openai_responses"))

    assert body["instructions"] == "S"
    assert [item["content"] for item in body["input"]] == ["an item", "hi"]
    assert "instructions" not in items_only
    assert items_only["input"][0]["role"] == "developer"


def test_instructions_alone_are_asked_as_a_text() -> None:
    assert sent(asked(said("system", "S"))) == {"model": "real-rs", "input": "S", "store": False}


def test_roles_and_places_that_a_host_does_not_know_are_left() -> None:
    turns = said("system", "S"), HI, said("developer", "D"), said("system", "T")
    plain = sent(asked(*turns), able(developer_role=False))
    first = sent(asked(*turns), able(many_systems=False))

    assert [item["role"] for item in plain["input"]] == ["user", "system", "system"]
    assert first["instructions"] == "S\n\nD\n\nT"
    assert [item["role"] for item in first["input"]] == ["user"]


def test_a_turn_of_the_model_keeps_the_order_of_what_it_thought_said_and_called() -> None:
    turn = Message(
        "assistant",
        (
            Thinking("why", marked("gA==")),
            Text("Look"),
            Text("ing."),
            ToolCall("c1", "look", '{"q":"x"}'),
            ToolCall("c2", "look", ""),
            Refusal("No."),
        ),
    )

    assert items(turn) == [
        {
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "why"}],
            "encrypted_content": "gA==",
        },
        {
            "type": "message",
            "role": "assistant",
            "content": "Looking.",
        },
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"q":"x"}'},
        {"type": "function_call", "call_id": "c2", "name": "look", "arguments": "{}"},
        {
            "type": "message",
            "role": "assistant",
            "content": "No.",
        },
    ]


def test_reasoning_without_text_goes_back_with_an_empty_summary() -> None:
    turn = Message("assistant", (Thinking("", marked("gA==")),))

    assert items(turn) == [{"type": "reasoning", "summary": [], "encrypted_content": "gA=="}]


def test_reasoning_goes_back_under_the_id_that_it_is_bound_to() -> None:
    turn = Message("assistant", (Thinking("", marked("gA==", "rs_1")),))

    assert items(turn) == [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gA=="}
    ]


@pytest.mark.parametrize(
    "part", [Thinking("why"), Thinking("why", "c2ln"), Thinking("why", ""), RedactedThinking("b3A")]
)
@pytest.mark.parametrize("dialect", ["anthropic", "openai_chat", "openai_responses"])
def test_foreign_and_unsigned_thinking_is_left_out_with_one_warning(
    part: Part, dialect: str
) -> None:
    turn = Message("assistant", (part, Text("x"), part))
    body, warned = encoded(asked(HI, turn, HI, dialect=dialect))

    assert [item["content"] for item in body["input"]] == ["hi", "x", "hi"]
    assert warned == {("thinking_dropped", "messages")}


def test_results_of_tools_are_items_of_their_own_in_front_of_what_is_said_with_them() -> None:
    turn = Message(
        "user",
        (
            Text("and?"),
            ToolResult("c1", (Text("r1"),)),
            ToolResult("c2", (Text("bad"),), is_error=True),
            ToolResult("c3", (Text("see"), Image(data="aGk="))),
            ToolResult("c4", ()),
        ),
    )
    *results, message = items(turn)

    assert [(one["type"], one["call_id"]) for one in results] == [
        ("function_call_output", name) for name in ("c1", "c2", "c3", "c4")
    ]
    assert [one["output"] for one in results] == [
        "r1",
        "Error: bad",
        [
            {"type": "input_text", "text": "see"},
            {
                "type": "input_image",
                "image_url": "data:image/png;base64,aGk=",
                "detail": "auto",
            },
        ],
        "",
    ]
    assert message == {"type": "message", "role": "user", "content": "and?"}


@given(st.text(st.characters(codec="utf-8"), min_size=65, max_size=200))
def test_ids_that_are_too_long_are_shortened_alike_in_calls_and_results(name: str) -> None:
    call = Message("assistant", (ToolCall(name, "look", "{}"),))
    other = Message("assistant", (ToolCall(f"{name}_", "look", "{}"),))
    result = Message("tool", (ToolResult(name, (Text("r"),)),))
    found = [item["call_id"] for item in items(call, result, other)]

    assert found[0] == found[1] != found[2]
    assert all(len(one) <= 64 for one in found)


@pytest.mark.parametrize(
    ("part", "told"),
    [
        (Image(url="https://x/y.png"), {"image_url": "https://x/y.png", "detail": "auto"}),
        (Image(data="aGk=", media_type="image/gif", detail="low"), {"detail": "low"}),
        (Document(url="https://x/y.pdf", name="y"), {"file_url": "https://x/y.pdf"}),
        (Document(data="aGk=", name="a.pdf"), {"filename": "a.pdf"}),
        (Document(data="aGk="), {"file_data": "data:application/pdf;base64,aGk="}),
        (Document(text="plain", name="T"), {"type": "input_text", "text": "T\n\nplain"}),
        (Audio("aGk=", "wav"), {"input_audio": {"data": "aGk=", "format": "wav"}}),
    ],
)
def test_media_of_any_client_reach_the_provider(part: Part, told: JsonObject) -> None:
    _text, written = content(Text("see"), part)

    assert written.items() >= told.items()


def test_files_at_the_provider_are_those_of_its_own_clients() -> None:
    file, picture = Document(file_id="file-1"), Image(file_id="file-2")

    assert content(Text("x"), file, picture, dialect="openai_responses")[1:] == [
        {"type": "input_file", "file_id": "file-1"},
        {"type": "input_image", "file_id": "file-2", "detail": "auto"},
    ]
    for part in (file, picture):
        assert refused(asked(Message("user", (part,)))) == "messages"


def test_what_only_this_api_knows_goes_back_as_it_came_and_others_is_refused() -> None:
    reference: JsonObject = {"type": "item_reference", "id": "msg_1"}
    piece: JsonObject = {"type": "input_new", "x": 1}
    own = Message("assistant", (Opaque("openai_responses", reference), Text("so")))
    part = Message("user", (Text("see"), Opaque("openai_responses", piece)))
    found = items(own, part, dialect="openai_responses")

    assert found[0] == reference
    assert found[2]["content"] == [{"type": "input_text", "text": "see"}, piece]
    assert refused(asked(Message("user", (Opaque("anthropic", {"type": "x"}),)))) == "messages"


def test_marks_of_caches_and_names_of_speakers_are_lost_by_name() -> None:
    mark = {"type": "ephemeral"}
    turn = Message("user", (Text("hi", mark),), name="ann")
    _, warned = encoded(asked(turn, tools=(replace(LOOK, cache=mark),)))

    assert warned == {
        ("cache_control_dropped", "cache_control"),
        ("field_dropped", "messages.name"),
    }


def test_functions_are_flat_and_strict_only_where_that_was_asked_for() -> None:
    strict, bare = replace(LOOK, strict=True), Tool("bare", parameters={"type": "object"})
    flat = {"type": "function", "name": "look", "description": "Looks.", "parameters": SCHEMA}

    assert sent(asked(tools=(Tool("none"),)))["tools"][0]["parameters"] == {
        "type": "object",
        "properties": {},
    }
    assert sent(asked(tools=(LOOK, strict, bare)))["tools"] == [
        {**flat, "strict": False},
        {**flat, "strict": True},
        {
            "type": "function",
            "name": "bare",
            "parameters": {"type": "object", "properties": {}},
            "strict": False,
        },
    ]
    assert sent(asked(tools=(LOOK,), dialect="openai_responses"))["tools"] == [flat]


@pytest.mark.parametrize(
    ("choice", "told"),
    [
        (ToolChoice(), {}),
        (ToolChoice("none"), {"tool_choice": "none"}),
        (ToolChoice("required"), {"tool_choice": "required"}),
        (ToolChoice("named", "look"), {"tool_choice": {"type": "function", "name": "look"}}),
        (ToolChoice("named", "shell"), {"tool_choice": {"type": "custom", "name": "shell"}}),
        (ToolChoice(parallel=False), {"parallel_tool_calls": False}),
    ],
)
def test_how_tools_may_be_used_is_told(choice: ToolChoice, told: JsonObject) -> None:
    body = sent(asked(tools=(LOOK, SHELL), tool_choice=choice, dialect="openai_responses"))

    assert {name: body[name] for name in told} == told
    assert ("tool_choice" in body) == ("tool_choice" in told)


def test_tools_of_plain_text_keep_their_own_form_and_so_do_their_calls_and_results() -> None:
    call = ToolCall("c1", "shell", '{"input":"ls -l\\n"}', extra={"type": "custom"})
    turns = (
        HI,
        Message("assistant", (call, ToolCall("c2", "look", "{}"))),
        Message("tool", (ToolResult("c1", (Text("a"),)), ToolResult("c2", (Text("b"),)))),
    )
    body = sent(asked(*turns, tools=(SHELL, LOOK), dialect="openai_responses"))

    assert body["tools"][0] == {
        "type": "custom",
        "name": "shell",
        "description": "Runs.",
        "format": {"type": "text"},
    }
    assert body["input"][1:] == [
        {"type": "custom_tool_call", "call_id": "c1", "name": "shell", "input": "ls -l\n"},
        {"type": "function_call", "call_id": "c2", "name": "look", "arguments": "{}"},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "a"},
        {"type": "function_call_output", "call_id": "c2", "output": "b"},
    ]


def test_hosted_tools_are_those_of_this_api() -> None:
    own: JsonObject = {"type": "web_search", "search_context_size": "low"}
    tools = (Opaque("openai_responses", own),)

    assert sent(asked(tools=tools, dialect="openai_responses"))["tools"] == [own]
    assert refused(asked(tools=(Opaque("anthropic", {"type": "web_search_20250305"}),))) == "tools"


@pytest.mark.parametrize(
    ("form", "told"),
    [
        (ResponseFormat("json_object"), {"type": "json_object"}),
        (
            ResponseFormat("json_schema", SCHEMA, "n", description="d"),
            {"name": "n", "schema": SCHEMA, "description": "d"},
        ),
        (ResponseFormat("json_schema", SCHEMA, strict=True), {"name": "answer", "strict": True}),
    ],
)
def test_the_form_of_the_answer_is_told_flat(form: ResponseFormat, told: JsonObject) -> None:
    told_form = sent(asked(response_format=form))["text"]["format"]

    assert told_form.items() >= told.items()
    assert told_form["type"] == form.kind


def test_a_schema_from_where_one_is_enforced_is_strict_where_it_can_be() -> None:
    open_schema = {"type": "object", "properties": {"q": {}}}
    forms = [ResponseFormat("json_schema", schema) for schema in (SCHEMA, open_schema)]
    told = [sent(asked(response_format=f, dialect="anthropic"))["text"]["format"] for f in forms]

    assert [form.get("strict") for form in told] == [True, None]


def test_sampling_that_has_no_counterpart_is_lost_by_name_par_03() -> None:
    sampling = Sampling(
        temperature=0.3,
        top_p=0.9,
        top_k=4,
        max_output_tokens=50,
        stop=("END",),
        seed=7,
        presence_penalty=0.5,
        frequency_penalty=0.0,
    )
    extra = {"logit_bias": {"1": -1}, "prediction": {"x": 1}, "stream_options": {}}
    body, warned = encoded(asked(sampling=sampling, extra=extra))

    told = {name: body[name] for name in ("temperature", "top_p", "max_output_tokens")}
    assert told == {"temperature": 0.3, "top_p": 0.9, "max_output_tokens": 50}
    assert body.keys() == {*told, "model", "input", "store"}
    lost = ("top_k", "seed", "presence_penalty", "logit_bias", "prediction")
    assert warned == {("field_dropped", name) for name in lost}


def test_a_limit_below_the_apis_least_is_raised_with_a_warning() -> None:
    body, warned = encoded(asked(sampling=Sampling(max_output_tokens=3)))

    assert body["max_output_tokens"] == 16
    assert warned == {("max_tokens_raised", "max_output_tokens")}


def test_log_probabilities_are_asked_for_by_name() -> None:
    body = sent(asked(sampling=Sampling(logprobs=True, top_logprobs=3)))

    assert body["top_logprobs"] == 3
    assert body["include"] == ["message.output_text.logprobs"]


@pytest.mark.parametrize(
    ("request_", "target", "param"),
    [
        (asked(sampling=Sampling(n=2)), TARGET, "n"),
        (asked(sampling=Sampling(logprobs=True)), able(logprobs=False), "top_logprobs"),
        (asked(tools=(LOOK,)), able(tools=False), "tools"),
        (asked(Message("user", (Image(url="https://x"),))), able(vision=False), "input"),
        (
            asked(response_format=ResponseFormat("json_schema", SCHEMA)),
            able(json_schema=False),
            "text.format",
        ),
        (asked(extra={"modalities": ["text", "audio"]}), TARGET, "modalities"),
    ],
)
def test_a_feature_that_cannot_be_had_is_refused_by_name(
    request_: Request, target: Target, param: str
) -> None:
    assert refused(request_, target) == param


def test_a_target_without_a_temperature_gets_none() -> None:
    tuned = asked(sampling=Sampling(temperature=0.3, top_p=1.0))
    body, warned = encoded(tuned, able(temperature=False))

    assert not {"temperature", "top_p"} & body.keys()
    assert warned == {("field_dropped", "temperature")}


def test_what_chat_completions_share_keeps_its_name() -> None:
    extra = {
        "metadata": {"a": "b"},
        "service_tier": "flex",
        "store": True,
        "prompt_cache_key": "k",
        "safety_identifier": "s",
        "verbosity": "low",
    }
    body, warned = encoded(
        asked(extra=extra, user="u", response_format=ResponseFormat("json_object"))
    )

    shared = {name: value for name, value in extra.items() if name != "verbosity"}
    assert body.items() >= {**shared, "user": "u"}.items()
    assert body["text"] == {"format": {"type": "json_object"}, "verbosity": "low"}
    assert warned == set()


def test_fields_of_another_vendor_are_lost_by_name() -> None:
    extra = {"inference_geo": "eu", "container": "c"}
    _, warned = encoded(asked(extra=extra, dialect="anthropic"))

    assert warned == {("field_dropped", "inference_geo"), ("field_dropped", "container")}


def test_a_client_of_this_api_keeps_what_has_no_name_inside() -> None:
    extra: JsonObject = {
        "truncation": "auto",
        "include": ["file_search_call.results"],
        "text": {"verbosity": "low"},
        "background": True,
        "new_field": [1],
    }
    body = sent(
        asked(
            extra=extra,
            sampling=Sampling(logprobs=True),
            response_format=ResponseFormat("json_object"),
            dialect="openai_responses",
        )
    )

    assert body["truncation"] == "auto"
    assert body["new_field"] == [1]
    assert set(body["include"]) == {"file_search_call.results", "message.output_text.logprobs"}
    assert body["text"] == {"verbosity": "low", "format": {"type": "json_object"}}
    assert "background" not in body


@pytest.mark.parametrize(
    "request_",
    [
        asked(sampling=Sampling(seed=7)),
        asked(sampling=Sampling(max_output_tokens=3)),
        asked(HI, Message("assistant", (Thinking("x"),)), HI),
        asked(extra={"logit_bias": {"1": 1}}),
    ],
)
def test_a_strict_request_loses_nothing(request_: Request) -> None:
    with pytest.raises(RequestRejected, match="strict"):
        RESPONSES.encode(replace(request_, strict=True), TARGET)


@pytest.mark.parametrize(
    ("model", "included"),
    [
        ("gpt-4o", ["web_search_call.results"]),
        ("gpt-5.2", ["web_search_call.results", "reasoning.encrypted_content"]),
        ("somebody-elses", ["web_search_call.results", "reasoning.encrypted_content"]),
    ],
)
def test_a_relayed_body_asks_no_model_for_thoughts_that_is_known_to_have_none(
    model: str, included: list[str]
) -> None:
    wanted: Json = ["web_search_call.results", "reasoning.encrypted_content"]

    body = sent(relayed({"input": "hi", "include": wanted}), thinking_target(model))

    assert body["include"] == included


def test_a_relayed_body_that_asked_for_thoughts_alone_asks_for_nothing() -> None:
    body = sent(
        relayed({"input": "hi", "include": ["reasoning.encrypted_content"]}),
        thinking_target("gpt-4o"),
    )

    assert "include" not in body


@pytest.mark.parametrize(
    ("form", "system", "user", "is_item"),
    [
        ("json_object", "Answer in JSON.", "hi", True),
        ("json_object", "Answer in JSON.", "A json, please.", False),
        ("json_object", "Be brief.", "hi", False),
        ("json_schema", "Answer in JSON.", "hi", False),
        (None, "Answer in JSON.", "hi", False),
    ],
)
def test_a_json_mode_is_spoken_of_in_the_input(
    form: Literal["json_object", "json_schema"] | None, system: str, user: str, *, is_item: bool
) -> None:
    request = asked(said("system", system), said("user", user))
    wanted = None if form is None else ResponseFormat(form)

    body = sent(replace(request, response_format=wanted))

    assert ("instructions" in body) is not is_item
    assert (system in str(body["input"])) is is_item
