"""What a request of Ollama's API asks for."""

from __future__ import annotations

import base64

import orjson
import pytest

from gateway.admission.need.traits import stated_in
from gateway.wire.dialect import Call
from gateway.wire.ollama import OllamaChat, OllamaGenerate
from techniques.core.errors import RequestRejected
from techniques.core.json import Json
from techniques.core.request import (
    Image,
    Message,
    Request,
    ResponseFormat,
    Sampling,
    Text,
    Thinking,
    ThinkingWish,
    Tool,
    ToolCall,
    ToolResult,
    said,
)
from tests.fakes.steps import steps

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"0" * 9).decode()
ADD = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}


def call(**fields: Json) -> Call:
    body = {"model": "fast", "messages": [{"role": "user", "content": "hi"}], **fields}
    return OllamaChat().decode(body, orjson.dumps(body))


def chat(**fields: Json) -> Request:
    return call(**fields).relay.decode()


def generate(**fields: Json) -> Request:
    body = {"model": "fast", "prompt": "hi", **fields}
    return OllamaGenerate().decode(body, orjson.dumps(body)).relay.decode()


def turns(*messages: Json) -> tuple[Message, ...]:
    return chat(messages=list(messages)).messages


def asking(*calls: Json) -> dict[str, Json]:
    return {"role": "assistant", "content": "", "tool_calls": list(calls)}


def calling(name: str, id: str | None = None, **arguments: Json) -> dict[str, Json]:
    named = {} if id is None else {"id": id}
    return {**named, "function": {"name": name, "arguments": arguments}}


def test_an_answer_is_streamed_unless_that_is_refused() -> None:
    assert call().streamed
    assert call(stream=True).streamed
    assert call(stream=None).streamed
    assert not call(stream=False).streamed


def test_a_conversation_is_read() -> None:
    assert turns(
        {"role": "system", "content": "S"},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "ok", "thinking": "hm"},
    ) == (
        said("system", "S"),
        said("user", "hi"),
        Message("assistant", (Thinking("hm"), Text("ok"))),
    )


def test_images_come_before_their_text_and_are_known_by_their_first_bytes() -> None:
    kinds = {
        "image/png": b"\x89PNG\r\n\x1a\n",
        "image/jpeg": b"\xff\xd8\xff\xe0",
        "image/gif": b"GIF89a",
        "image/webp": b"RIFF\0\0\0\0WEBPVP8",
    }
    data = [base64.b64encode(magic + b"0" * 20).decode() for magic in kinds.values()]

    (turn,) = turns({"role": "user", "content": "what?", "images": data})

    pictures = tuple(Image(data=d, media_type=k) for d, k in zip(data, kinds, strict=True))
    assert turn.parts == (*pictures, Text("what?"))


def test_an_image_may_say_what_it_is() -> None:
    (turn,) = turns({"role": "user", "images": [f"data:image/webp;base64,{PNG}"]})

    assert turn.parts == (Image(data=PNG, media_type="image/webp"),)


@pytest.mark.parametrize("image", ["@@", "", 5, None, "data:image/png,x", {"url": "x"}])
def test_what_is_no_image_is_refused_by_its_place(image: Json) -> None:
    with pytest.raises(RequestRejected) as refused:
        turns({"role": "user", "content": "x", "images": [PNG, image]})

    assert refused.value.param == "messages[0].images[1]"


def test_calls_and_results_keep_the_ids_that_they_have() -> None:
    called, one, two = turns(
        asking(calling("add", "a", x=1), calling("add", "b", x=2)),
        {"role": "tool", "content": "2", "tool_call_id": "b"},
        {"role": "tool", "content": "1", "tool_call_id": "a"},
    )

    assert called.parts == (ToolCall("a", "add", '{"x":1}'), ToolCall("b", "add", '{"x":2}'))
    assert (one.parts, two.parts) == (
        (ToolResult("b", (Text("2"),)),),
        (ToolResult("a", (Text("1"),)),),
    )


def results(*messages: Json) -> list[tuple[str, str]]:
    """Return, for each result, the id that it answers and its text."""
    found = [part for turn in turns(*messages) for part in turn.parts]
    told = [part for part in found if isinstance(part, ToolResult)]
    return [(one.call_id, Message("tool", one.parts).text) for one in told]


def ids(*messages: Json) -> list[str]:
    found = [part for turn in turns(*messages) for part in turn.parts]
    return [part.id for part in found if isinstance(part, ToolCall)]


def test_results_without_ids_are_those_of_the_calls_in_their_order() -> None:
    talk: list[Json] = [
        asking(calling("add", x=1), calling("add", x=2)),
        {"role": "tool", "content": "1"},
        {"role": "tool", "content": "2"},
        asking(calling("add", x=3)),
        {"role": "tool", "content": "3"},
    ]

    made = ids(*talk)

    assert len(set(made)) == 3
    assert results(*talk) == list(zip(made, ["1", "2", "3"], strict=True))


@pytest.mark.parametrize("word", ["tool_name", "name"])
def test_results_without_ids_go_by_the_names_of_their_tools(word: str) -> None:
    talk: list[Json] = [
        asking(calling("add", x=1), calling("mul", x=2), calling("add", x=3)),
        {"role": "tool", "content": "two", word: "mul"},
        {"role": "tool", "content": "one", word: "add"},
        {"role": "tool", "content": "three", word: "add"},
    ]

    one, two, three = ids(*talk)

    assert results(*talk) == [(two, "two"), (one, "one"), (three, "three")]


def answered(*messages: Json) -> list[tuple[str, str]]:
    """Return the text of each result, and what was called."""
    parts = [part for message in turns(*messages) for part in message.parts]
    called = {part.id: part.arguments for part in parts if isinstance(part, ToolCall)}
    return [
        (part.parts[0].text, called.get(part.call_id, ""))
        for part in parts
        if isinstance(part, ToolResult) and isinstance(part.parts[0], Text)
    ]


@pytest.mark.parametrize("named", [{}, {"tool_name": "add"}])
def test_calls_in_turns_of_their_own_are_answered_in_their_order(named: Json) -> None:
    """Strands' client says each of several calls in a turn, and all results after them."""
    apart = [asking(calling("add", a=1)), asking(calling("add", a=2))]
    results = [{"role": "tool", "content": str(place), **named} for place in (1, 2)]

    assert answered(*apart, *results) == [("1", '{"a":1}'), ("2", '{"a":2}')]


@pytest.mark.parametrize(
    "after", [{"role": "user", "content": "b"}, {"role": "assistant", "content": "b"}]
)
def test_a_call_that_was_never_answered_takes_no_later_result(after: Json) -> None:
    again = asking(calling("add", a=2))

    told = answered(asking(calling("add", a=1)), after, again, {"role": "tool", "content": "2"})

    assert told == [("2", '{"a":2}')]


def test_an_id_that_the_call_has_lost_goes_by_the_place() -> None:
    talk: list[Json] = [
        asking(calling("add", x=1), calling("add", x=2)),
        {"role": "tool", "content": "1", "tool_call_id": "lost"},
        {"role": "tool", "content": "2", "tool_call_id": "too"},
    ]

    assert results(*talk) == list(zip(ids(*talk), ["1", "2"], strict=True))


@pytest.mark.parametrize("before", [[], ["asked"], ["answered"]])
@pytest.mark.parametrize(
    ("named", "told"),
    [
        ({}, "a tool"),
        ({"tool_call_id": "a"}, "a tool"),
        ({"tool_name": "add"}, "add"),
        ({"name": "add", "tool_call_id": "a"}, "add"),
    ],
)
def test_a_result_that_no_call_waits_for_is_told_as_text(
    before: list[str], named: dict[str, Json], told: str
) -> None:
    """Clients that lose calls keep their results, which other providers refuse without them."""
    said: list[Json] = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Wait"}]
    if "answered" in before:
        said = [asking(calling("add", x=1)), {"role": "tool", "content": "0"}]

    *_, last = turns(*(said if before else []), {"role": "tool", "content": "1", **named})

    assert last == Message("user", (Text(f"[The result of {told}]\n"), Text("1")))


@pytest.mark.parametrize(
    ("given", "read"),
    [({"x": "é"}, '{"x":"é"}'), ({}, "{}"), ('{"x":1}', '{"x":1}'), (None, "")],
)
def test_arguments_are_an_object_or_its_text(given: Json, read: str) -> None:
    (turn,) = turns(asking({"function": {"name": "f", "arguments": given}}))

    assert turn.parts == (ToolCall("call_1", "f", read),)


def test_tools_are_functions() -> None:
    plain = {"function": {"name": "mul", "description": "Multiplies."}}

    assert chat(tools=[ADD, plain]).tools == (
        Tool("add", None, {"type": "object"}),
        Tool("mul", "Multiplies."),
    )


def test_options_say_how_to_draw() -> None:
    options = {
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 40.0,
        "num_predict": 99,
        "stop": ["END", ""],
        "seed": 7,
        "presence_penalty": 1,
        "frequency_penalty": 0.5,
    }

    assert chat(options=options).sampling == Sampling(
        0.5, 0.9, 40, 99, ("END",), 7, presence_penalty=1, frequency_penalty=0.5
    )


@pytest.mark.parametrize("options", [None, {}, {"temperature": None, "stop": None}])
def test_options_that_are_not_there_say_nothing(options: Json) -> None:
    request = chat(options=options)

    assert (request.sampling, dict(request.extra)) == (Sampling(), {})


@pytest.mark.parametrize("limit", [-1, -2, 0])
def test_words_for_any_length_are_no_limit(limit: int) -> None:
    assert chat(options={"num_predict": limit}).sampling.max_output_tokens is None
    assert "max_tokens" not in call(options={"num_predict": limit}).relay.body


def test_what_only_ollama_understands_is_kept_so_that_its_loss_is_told() -> None:
    request = chat(options={"mirostat": 1, "num_ctx": 4096, "seed": 1}, brand_new=5)

    assert request.extra == {"brand_new": 5, "options.mirostat": 1, "options.num_ctx": 4096}
    assert request.dialect == "ollama"


def test_what_is_about_the_memory_of_a_machine_means_nothing() -> None:
    assert not chat(keep_alive="5m", truncate=True, shift=False).extra


@pytest.mark.parametrize(
    ("think", "wish"),
    [
        (True, ThinkingWish("on")),
        (False, ThinkingWish("off")),
        ("high", ThinkingWish(effort="high")),
        (None, None),
        ("", None),
    ],
)
def test_thinking_is_a_flag_or_a_level(think: Json, wish: ThinkingWish | None) -> None:
    assert chat(think=think).thinking == wish


@pytest.mark.parametrize(
    ("wanted", "form"),
    [
        ("json", ResponseFormat("json_object")),
        ({"type": "object"}, ResponseFormat("json_schema", {"type": "object"})),
        ("", None),
        (None, None),
    ],
)
def test_a_format_is_json_or_a_schema(wanted: Json, form: ResponseFormat | None) -> None:
    assert chat(format=wanted).response_format == form


def test_log_probabilities_are_asked_for_beside_the_options() -> None:
    sampling = chat(logprobs=True, top_logprobs=3).sampling

    assert (sampling.logprobs, sampling.top_logprobs) == (True, 3)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"model": ""}, "model"),
        ({"model": None}, "model"),
        ({"model": 5}, "model"),
        ({"messages": {}}, "messages"),
        ({"messages": ["hi"]}, "messages[0]"),
        ({"messages": [{"content": "hi"}]}, "messages[0].role"),
        ({"messages": [{"role": "robot", "content": "hi"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": [{}]}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "images": "x"}]}, "messages[0].images"),
        ({"messages": [asking("f")]}, "messages[0].tool_calls[0]"),
        ({"messages": [asking({})]}, "messages[0].tool_calls[0].function"),
        (
            {"messages": [asking({"function": {"name": "f", "arguments": [1]}})]},
            "messages[0].tool_calls[0].function.arguments",
        ),
        ({"stream": "yes"}, "stream"),
        ({"options": []}, "options"),
        ({"options": {"temperature": "hot"}}, "options.temperature"),
        ({"options": {"temperature": True}}, "options.temperature"),
        ({"options": {"num_predict": 1.5}}, "options.num_predict"),
        ({"options": {"seed": 1e30}}, "options.seed"),
        ({"options": {"top_k": -1e300}}, "options.top_k"),
        ({"options": {"stop": [1]}}, "options.stop"),
        ({"options": {"stop": 1}}, "options.stop"),
        ({"format": "yaml"}, "format"),
        ({"format": ["json"]}, "format"),
        ({"think": "hard"}, "think"),
        ({"think": 1}, "think"),
        ({"think": []}, "think"),
        ({"tools": {}}, "tools"),
        ({"tools": ["f"]}, "tools[0]"),
        ({"tools": [{"type": "web_search"}]}, "tools[0]"),
        ({"tools": [{"type": "x", "function": {"name": "f"}}]}, "tools[0]"),
        ({"tools": [{"function": {}}]}, "tools[0].function.name"),
    ],
)
def test_a_wrong_field_is_named(fields: dict[str, Json], param: str) -> None:
    with pytest.raises(RequestRejected) as refused:
        chat(**fields)

    assert refused.value.param == param


def test_a_prompt_is_a_turn_of_its_user() -> None:
    assert generate(system="S").messages == (said("system", "S"), said("user", "hi"))
    assert generate(images=[PNG]).messages == (
        Message("user", (Image(data=PNG, media_type="image/png"), Text("hi"))),
    )


def test_a_prompt_may_say_what_no_chat_model_hears() -> None:
    request = generate(template="{{ .Prompt }}", context=[1, 2], raw=True, system="S")

    assert request.extra == {"template": "{{ .Prompt }}", "context": [1, 2], "raw": True}
    assert request.messages == (said("user", "hi"),)


def test_nothing_is_lost_of_what_says_nothing() -> None:
    assert not generate(template="", context=[], raw=False, suffix="", system="").extra


def test_what_follows_a_prompt_cannot_be_given() -> None:
    with pytest.raises(RequestRejected, match="fast does not support insert") as refused:
        generate(suffix="}")

    assert refused.value.param == "suffix"


@pytest.mark.parametrize("fields", [{"messages": []}, {"messages": None}])
def test_who_says_nothing_asks_nothing(fields: dict[str, Json]) -> None:
    assert call(**fields).idle
    assert not call().idle


@pytest.mark.parametrize("prompt", ["", None])
def test_an_empty_prompt_asks_nothing(prompt: Json) -> None:
    body = {"model": "fast", "prompt": prompt}

    assert OllamaGenerate().decode(body, b"").idle


def test_those_who_do_not_decode_find_what_they_look_for() -> None:
    asked = call(options={"num_predict": 9}, format="json", think=True)
    assert asked.relay.body["max_tokens"] == 9
    assert asked.relay.body["response_format"] == {"type": "json_object"}
    assert asked.relay.body["reasoning_effort"] == "medium"
    assert call(think=False).relay.body["reasoning_effort"] == "none"
    assert not asked.relay.decode().extra


def test_the_gateways_own_fields_are_wishes() -> None:
    asked = call(technique="cisc", reliability={"max_calls": 3})

    assert asked.wishes == {"technique": "cisc", "max_calls": 3}
    assert not asked.relay.decode().extra


def test_drafts_that_were_shown_are_taken_out_of_the_thinking() -> None:
    shown = "[Lockgate: the best answer so far]\n5\n[Lockgate: it may yet be replaced]\n\nhm"
    turn = {"role": "assistant", "content": "ok", "thinking": shown}

    assert turns(turn) == (Message("assistant", (Thinking("hm"), Text("ok"))),)


@pytest.mark.parametrize("named", [{}, {"tool_name": "add"}, {"tool_name": "f7"}])
def test_a_turn_of_many_calls_is_read_in_proportion_to_it(named: dict[str, Json]) -> None:
    def conversation(size: int) -> list[Json]:
        calls = [{"function": {"name": f"f{n}", "arguments": {}}} for n in range(size)]
        result = {"role": "tool", "content": "1", **named}
        return [{"role": "assistant", "tool_calls": calls}, *[result] * size]

    few, many = conversation(40), conversation(160)

    assert steps(lambda: turns(*many)) < 5 * steps(lambda: turns(*few))


def test_each_call_is_answered_once_by_its_id_else_its_name_else_its_turn() -> None:
    named = [("a", "x"), ("b", "y"), ("a", "z"), ("c", "w")]
    calls = [{"id": id_, "function": {"name": name}} for name, id_ in named]
    results: list[Json] = [
        {"tool_call_id": "z"},
        {"tool_name": "a"},
        {"tool_name": "a"},
        {},
        {"tool_call_id": "other", "tool_name": "none"},
    ]

    _, *answers = turns(
        {"role": "assistant", "tool_calls": calls},
        *({"role": "tool", "content": "1", **result} for result in results),
    )

    told = [part.call_id for turn in answers for part in turn.parts if isinstance(part, ToolResult)]
    assert told == ["z", "x", "y", "w"]


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_a_limit_in_words_of_others_is_none(name: str) -> None:
    assert stated_in(call(**{name: 1}).relay) is None
    assert stated_in(call(**{name: 1}, options={"num_predict": 9}).relay) == 9
