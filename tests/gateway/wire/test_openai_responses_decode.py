"""Requests of the Responses API: what they come to inside, and what is refused by its name."""

from __future__ import annotations

import orjson
import pytest

from gateway.wire.drafts import draft
from techniques.core.errors import RequestRejected
from techniques.core.json import Json
from techniques.core.request import (
    Audio,
    Document,
    Image,
    Message,
    Opaque,
    Part,
    RedactedThinking,
    Refusal,
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
from tests.fakes.steps import steps
from tests.gateway.wire.responses_calls import CUSTOM, DIALECT, FUNCTION, call, decoded

NAME = "openai_responses"
SEARCH = {"type": "web_search"}


def turns(*items: Json) -> tuple[Message, ...]:
    return decoded(input=list(items)).messages


def user(*content: Json) -> tuple[Part, ...]:
    [turn] = turns({"role": "user", "content": list(content)})
    return turn.parts


def test_a_text_is_what_the_user_says_after_the_instructions() -> None:
    assert decoded(input="hi").messages == (said("user", "hi"),)
    told = decoded(input="hi", instructions="Be brief.").messages
    assert told == (said("system", "Be brief."), said("user", "hi"))
    assert decoded(input="hi", instructions="").messages == (said("user", "hi"),)


@pytest.mark.parametrize("role", ["user", "system", "developer", "assistant"])
def test_a_message_needs_no_type_and_its_content_may_be_a_text(role: str) -> None:
    bare = turns({"role": role, "content": "a"})
    full = turns(
        {"type": "message", "role": role, "content": [{"type": "input_text", "text": "a"}]}
    )

    assert bare == full
    assert (bare[0].role, bare[0].parts) == (role, (Text("a"),))


def test_pictures_files_and_sound_are_read_wherever_they_are_kept() -> None:
    assert user(
        {"type": "input_image", "image_url": "https://a/b.png", "detail": "high"},
        {"type": "input_image", "image_url": "data:image/gif;base64,R0lG", "detail": "auto"},
        {"type": "input_image", "file_id": "file_1", "detail": "low"},
        {"type": "input_file", "file_data": "data:text/plain;base64,aGk=", "filename": "a.txt"},
        {"type": "input_file", "file_data": "JVBE"},
        {"type": "input_file", "file_url": "https://a/b.pdf"},
        {"type": "input_file", "file_id": "file_2"},
        {"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}},
    ) == (
        Image(url="https://a/b.png", detail="high", extra={}),
        Image(data="R0lG", media_type="image/gif", extra={}),
        Image(file_id="file_1", detail="low", extra={}),
        Document(data="aGk=", media_type="text/plain", name="a.txt", extra={}),
        Document(data="JVBE", media_type="application/pdf", extra={}),
        Document(url="https://a/b.pdf", extra={}),
        Document(file_id="file_2", extra={}),
        Audio("UklG", "wav", {}),
    )


def test_what_the_model_said_thought_and_called_is_one_turn() -> None:
    assert turns(
        {"role": "user", "content": "a"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}], "id": "rs_1"},
        {
            "type": "message",
            "id": "msg_1",
            "status": "completed",
            "role": "assistant",
            "content": [
                {"type": "output_text", "text": "I look.", "annotations": [], "logprobs": []},
                {"type": "refusal", "refusal": "No"},
            ],
        },
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call", "call_id": "c2", "name": "f", "arguments": '{"a":1}'},
        {"type": "function_call_output", "call_id": "c1", "output": "one"},
        {
            "type": "function_call_output",
            "call_id": "c2",
            "output": [{"type": "input_text", "text": "two"}],
        },
    ) == (
        said("user", "a"),
        Message(
            "assistant",
            (
                Thinking("Hm"),
                Text("I look.", extra={}),
                Refusal("No"),
                ToolCall("c1", "f", "{}"),
                ToolCall("c2", "f", '{"a":1}'),
            ),
        ),
        Message(
            "tool",
            (ToolResult("c1", (Text("one"),)), ToolResult("c2", (Text("two", extra={}),))),
        ),
    )


def test_what_was_said_twice_is_not_run_together() -> None:
    twice = turns({"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"})

    assert [turn.text for turn in twice] == ["a", "b"]
    assert len(turns({"role": "user", "content": "a"}, {"role": "user", "content": "b"})) == 2


REASONING: list[tuple[Json, Part | None]] = [
    ({"encrypted_content": "gAAA"}, Thinking("", marked("gAAA"))),
    ({"encrypted_content": "anthropic:c2ln"}, Thinking("", "c2ln")),
    ({"encrypted_content": "anthropic.redacted:cmVk"}, RedactedThinking("cmVk")),
    ({"summary": [{"text": "a"}, {"text": "b"}]}, Thinking("a\n\nb")),
    ({"content": [{"type": "reasoning_text", "text": "c"}]}, Thinking("c")),
    ({"id": "rs_1", "content": None, "encrypted_content": None}, None),
    ({"summary": [{"text": draft("x")}]}, None),
]


@pytest.mark.parametrize(("fields", "part"), REASONING)
def test_reasoning_goes_back_to_who_made_it(fields: Json, part: Part | None) -> None:
    read = turns({"type": "reasoning", "summary": [], **fields}, {"role": "user", "content": "a"})

    assert [turn.parts for turn in read[:-1]] == ([] if part is None else [(part,)])


def test_tools_that_take_text_and_their_calls_are_known_as_such() -> None:
    grammar = {"type": "grammar", "syntax": "lark", "definition": "start: /x/"}
    [tool] = decoded(tools=[{**CUSTOM, "format": grammar}]).tools
    assert isinstance(tool, Tool)
    assert (tool.name, tool.extra) == ("patch", {"type": "custom", "format": grammar})
    assert "start: /x/" in tool.parameters["properties"]["input"]["description"]

    calls = turns(
        {"type": "custom_tool_call", "call_id": "c1", "name": "patch", "input": 'a"b'},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "ok"},
    )
    [made], [result] = calls[0].parts, calls[1].parts
    assert isinstance(made, ToolCall)
    assert orjson.loads(made.arguments) == {"input": 'a"b'}
    assert isinstance(result, ToolResult)
    assert made.extra == result.extra == {"type": "custom"}


@pytest.mark.parametrize(
    ("item", "role"),
    [
        ({"type": "web_search_call", "id": "ws_1"}, "assistant"),
        ({"type": "computer_call_output", "call_id": "c"}, "user"),
        ({"type": "mcp_approval_response", "approve": True}, "user"),
    ],
)
def test_items_of_openais_own_are_kept_as_they_are(item: Json, role: str) -> None:
    assert turns(item) == (Message(role, (Opaque(NAME, item),)),)  # type: ignore[arg-type]


def test_functions_and_tools_of_openais_own() -> None:
    function, search = decoded(tools=[{**FUNCTION, "strict": True}, SEARCH]).tools

    assert function == Tool("f", None, {"type": "object"}, strict=True, extra={})
    assert search == Opaque(NAME, SEARCH)


CHOICES: list[tuple[dict[str, Json], ToolChoice | None]] = [
    ({}, None),
    ({"tool_choice": "none"}, ToolChoice("none")),
    ({"tool_choice": "auto", "parallel_tool_calls": False}, ToolChoice("auto", parallel=False)),
    ({"parallel_tool_calls": True}, ToolChoice("auto", parallel=True)),
    ({"tool_choice": "required"}, ToolChoice("required")),
    ({"tool_choice": {"type": "function", "name": "f"}}, ToolChoice("named", "f")),
    ({"tool_choice": {"type": "custom", "name": "patch"}}, ToolChoice("named", "patch")),
    ({"tool_choice": {"type": "web_search"}}, ToolChoice("required")),
    (
        {"tool_choice": {"type": "allowed_tools", "mode": "required", "tools": []}},
        ToolChoice("required"),
    ),
]


@pytest.mark.parametrize(("fields", "choice"), CHOICES)
def test_how_tools_may_be_used(fields: dict[str, Json], choice: ToolChoice | None) -> None:
    assert decoded(tools=[FUNCTION, CUSTOM, SEARCH], **fields).tool_choice == choice


def test_only_the_tools_that_are_allowed_are_offered() -> None:
    servers = [{"type": "mcp", "server_label": label} for label in ("a", "b")]
    allowed = [{"type": "function", "name": "f"}, {"type": "mcp", "server_label": "b"}, SEARCH]
    choice = {"type": "allowed_tools", "mode": "auto", "tools": allowed}

    tools = decoded(tools=[FUNCTION, CUSTOM, SEARCH, *servers], tool_choice=choice).tools

    assert [tool.name if isinstance(tool, Tool) else tool.value for tool in tools] == [
        "f",
        SEARCH,
        servers[1],
    ]


def test_tools_that_are_allowed_are_found_in_proportion_to_them() -> None:
    def many(size: int) -> None:
        tools = [{"type": "function", "name": f"f{n}"} for n in range(size)]
        servers = [{"type": "mcp", "server_label": f"s{n}"} for n in range(size)]
        choice = {"type": "allowed_tools", "mode": "auto", "tools": [*tools, *servers]}
        assert len(decoded(tools=[*tools, *servers], tool_choice=choice).tools) == 2 * size

    assert steps(lambda: many(160)) < 5 * steps(lambda: many(40))


def test_settings_have_their_places() -> None:
    request = decoded(
        temperature=0.5,
        top_p=0.9,
        max_output_tokens=64,
        top_logprobs=3,
        include=["message.output_text.logprobs", "reasoning.encrypted_content"],
        reasoning={"effort": "high", "summary": "auto"},
        user="u9",
        stream=True,
    )

    assert request.sampling == Sampling(0.5, 0.9, None, 64, logprobs=True, top_logprobs=3)
    assert request.thinking == ThinkingWish(effort="high")
    assert request.extra == {"reasoning": {"summary": "auto"}}
    assert (request.user, request.stream, request.dialect) == ("u9", True, NAME)
    assert decoded(reasoning={"summary": "auto"}).thinking is None


FORMS: list[tuple[Json, ResponseFormat | None]] = [
    (None, None),
    ({"type": "text"}, None),
    ({"type": "json_object"}, ResponseFormat("json_object")),
    (
        {"type": "json_schema", "name": "n", "schema": {"type": "object"}, "strict": True},
        ResponseFormat("json_schema", {"type": "object"}, "n", strict=True),
    ),
]


@pytest.mark.parametrize(("form", "read"), FORMS)
def test_the_form_of_the_answer(form: Json, read: ResponseFormat | None) -> None:
    assert decoded(text={"format": form}).response_format == read


def test_what_only_its_provider_knows_is_kept_and_what_says_nothing_is_not() -> None:
    quiet: dict[str, Json] = {
        "store": False,
        "background": False,
        "include": [],
        "stream_options": {"include_obfuscation": False},
        "truncation": "disabled",
        "metadata": {},
        "max_tool_calls": 3,
        "prompt": None,
        "text": {"verbosity": "medium"},
    }
    kept: dict[str, Json] = {
        "truncation": "auto",
        "service_tier": "flex",
        "metadata": {"a": "b"},
        "prompt_cache_key": "k",
        "safety_identifier": "u9",
        "from_the_future": [1],
        "text": {"verbosity": "low"},
    }

    assert decoded(**quiet).extra == {}
    assert decoded(**kept).extra == kept
    assert decoded(tools=[SEARCH], max_tool_calls=3).extra == {"max_tool_calls": 3}


WRONG: list[tuple[dict[str, Json], str]] = [
    ({"input": [{"type": "item_reference", "id": "msg_1"}]}, "input[0]"),
    ({"input": [{"id": "msg_1"}]}, "input[0]"),
    ({"model": 1}, "model"),
    ({"input": 1}, "input"),
    ({"input": None}, "input"),
    ({"input": [1]}, "input[0]"),
    ({"input": [{"role": "critic", "content": "a"}]}, "input[0].role"),
    ({"input": [{"type": "message", "content": "a"}]}, "input[0].role"),
    ({"input": [{"role": "user"}]}, "input[0].content"),
    ({"input": [{"role": "user", "content": [{"type": "x"}]}]}, "input[0].content[0].type"),
    (
        {"input": [{"role": "user", "content": [{"type": "input_text"}]}]},
        "input[0].content[0].text",
    ),
    (
        {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "data:x"}]}]},
        "input[0].content[0].image_url",
    ),
    ({"input": [{"type": "function_call", "name": "f"}]}, "input[0].call_id"),
    ({"input": [{"type": "function_call_output", "call_id": "c"}]}, "input[0].output"),
    ({"input": [{"type": "reasoning", "summary": "a"}]}, "input[0].summary"),
    ({"instructions": 1}, "instructions"),
    ({"tools": {}}, "tools"),
    ({"tools": [{"type": "function"}]}, "tools[0].name"),
    ({"tools": [{"name": "f"}]}, "tools[0].type"),
    ({"tool_choice": "maybe"}, "tool_choice"),
    ({"tool_choice": {"type": "function"}}, "tool_choice.name"),
    ({"temperature": "hot"}, "temperature"),
    ({"top_logprobs": 21}, "top_logprobs"),
    ({"max_output_tokens": 0}, "max_output_tokens"),
    ({"include": [1]}, "include"),
    ({"reasoning": {"effort": 1}}, "reasoning.effort"),
    ({"text": {"format": {"type": "xml"}}}, "text.format.type"),
    ({"text": {"format": {"type": "json_schema", "name": "n"}}}, "text.format.schema"),
    ({"text": {"format": {"type": "json_schema", "schema": {}}}}, "text.format.name"),
    ({"stream": "yes"}, "stream"),
    ({"prompt": {"id": "p"}}, "prompt"),
    ({"conversation": "conv_1"}, "conversation"),
    ({"previous_response_id": "resp_1"}, "previous_response_id"),
    ({"background": True}, "background"),
    ({"user": 1}, "user"),
    ({"safety_identifier": 1}, "safety_identifier"),
    ({"parallel_tool_calls": "no"}, "parallel_tool_calls"),
]


@pytest.mark.parametrize(("fields", "param"), WRONG)
def test_what_is_wrong_is_refused_by_its_name(fields: dict[str, Json], param: str) -> None:
    with pytest.raises(RequestRejected) as refused:
        decoded(**fields)

    assert refused.value.param == param
    told = DIALECT.failure(refused.value)
    assert told.status == 400
    error = orjson.loads(told.body)["error"]
    assert (error["type"], error["param"]) == ("invalid_request_error", param)


def test_a_body_is_relayed_as_it_came_unless_something_in_it_is_ours() -> None:
    body = {"model": "m", "input": "hi", "stream": True}
    raw = orjson.dumps(body)
    plain = DIALECT.decode(body, raw)
    ours = call(technique="none", reliability={"max_calls": 2})

    assert (plain.relay.raw, plain.relay.body, plain.include_usage) == (raw, body, True)
    assert (plain.streamed, plain.model, plain.relay.dialect) == (True, "m", NAME)
    assert ours.wishes == {"technique": "none", "max_calls": 2}
    assert ours.relay.raw is None
    assert ours.relay.body == {"model": "fast", "input": "hi"}


def test_drafts_that_come_back_are_taken_out() -> None:
    shown = {"type": "summary_text", "text": draft("x")}
    kept = {"type": "summary_text", "text": "Hm"}
    body: dict[str, Json] = {
        "model": "m",
        "input": [
            {"type": "reasoning", "id": "rs_1", "summary": [shown]},
            {"type": "reasoning", "id": "rs_2", "summary": [shown, kept]},
            {"role": "user", "content": "a"},
        ],
    }

    relay = DIALECT.decode(body, orjson.dumps(body)).relay

    assert relay.raw is None
    assert relay.body["input"] == [{**body["input"][1], "summary": [kept]}, body["input"][2]]


@pytest.mark.parametrize("summary", [7, "text", {"a": 1}])
def test_a_summary_that_is_none_is_refused_beside_drafts_too(summary: Json) -> None:
    reasoning = {"type": "reasoning", "summary": summary}
    body: dict[str, Json] = {
        "model": "m",
        "input": [reasoning, {"role": "user", "content": draft("x")}],
    }

    with pytest.raises(RequestRejected):
        DIALECT.decode(body, orjson.dumps(body)).relay.decode()


@pytest.mark.parametrize("instead", ["prompt", "previous_response_id", "conversation"])
def test_an_input_may_be_missing_where_something_else_says_it(instead: str) -> None:
    body = {"model": "m", instead: "x"}

    assert DIALECT.decode(body, orjson.dumps(body)).model == "m"
