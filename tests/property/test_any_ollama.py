"""Whatever is said, Ollama's clients are told it, and what they say is heard as in any dialect."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.wire.dialect import Encoder
from gateway.wire.ollama import OllamaChat
from gateway.wire.openai_chat import OpenAIChat
from pricing.usage import Usage
from techniques.core.errors import GatewayError
from techniques.core.events import Finished
from techniques.core.json import Json
from techniques.core.reply import Reply, unfold
from techniques.core.request import (
    Image,
    Message,
    Request,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from tests.e2e.turns import Turn, events
from tests.property.test_any_stream import (
    ARGUMENTS,
    MANY,
    PROVIDERS,
    SUMMARY,
    TEXT,
    TURNS,
    expected,
    pieces,
    read,
)

CHAT, OLLAMA = OpenAIChat(), OllamaChat()
BODY: Json = {"model": "fast", "messages": [{"role": "user", "content": "hi"}]}
PIXEL = "iVBORw0KGgoAAAA="
WORDS = TEXT.filter(bool)


def encoder() -> Encoder:
    return OLLAMA.encoder(OLLAMA.decode(BODY, b""), "r1", "fast")


def lines(raw: bytes) -> list[Json]:
    """Return the lines of a stream, as a client finds them that looks at its text."""
    return [orjson.loads(line) for line in raw.decode().splitlines()]


def said(told: Sequence[Json]) -> tuple[str, list[tuple[str, str, Json]], str]:
    """Return text, calls and thoughts of a client's lines."""
    messages = [line["message"] for line in told]
    calls = [call for message in messages for call in message.get("tool_calls", ())]
    return (
        "".join(message["content"] for message in messages),
        [(c["id"], c["function"]["name"], c["function"]["arguments"]) for c in calls],
        "".join(message.get("thinking", "") for message in messages),
    )


@pytest.mark.parametrize("model", PROVIDERS)
def test_a_stream_is_translated_to_what_was_said(model: str) -> None:
    @MANY
    @given(pieces(model))
    def holds(given_: tuple[Turn, list[bytes]]) -> None:
        turn, parts = given_
        out = encoder()
        written = [out.feed(event) for event in read(PROVIDERS[model], parts, relayed=False)]

        told = lines(b"".join([*written, out.end(SUMMARY)]))

        assert said(told) == expected(turn)
        assert [line["done"] for line in told] == [False] * (len(told) - 1) + [True]
        assert told[-1]["done_reason"] == ("length" if turn.cut else "stop")

    holds()


@pytest.mark.parametrize("model", PROVIDERS)
def test_a_stream_that_is_cut_anywhere_is_done_or_ends_in_an_error(model: str) -> None:
    @MANY
    @given(TURNS, st.data())
    def holds(turn: Turn, data: st.DataObject) -> None:
        raw = b"".join(events(model, turn))
        cut = data.draw(st.integers(0, len(raw)))
        out, written = encoder(), b""
        ended = False
        try:
            for event in read(PROVIDERS[model], [raw[:cut]], relayed=False):
                ended = ended or isinstance(event, Finished)
                written += out.feed(event)
            written += out.end(SUMMARY)
        except GatewayError as error:
            written += out.fail(error)

        *before, last = lines(written)
        assert not any(line["done"] for line in before)
        assert ("error" in last) != last.get("done", False)
        assert last.get("done", False) == ended
        text, calls, thought = said([line for line in (*before, last) if "message" in line])
        assert turn.text.startswith(text)
        assert turn.thought.startswith(thought)
        assert calls == (expected(turn)[1] if ended else [])

    holds()


CALLS = st.lists(st.tuples(st.sampled_from(["add", "mul"]), ARGUMENTS), max_size=3)
REPLIES = st.builds(
    lambda thought, text, calls: Reply(
        (
            *((Thinking(thought),) if thought else ()),
            *((Text(text),) if text else ()),
            *(
                ToolCall(f"c{place}", name, json.dumps(arguments))
                for place, (name, arguments) in enumerate(calls)
            ),
        ),
        "tool_calls" if calls else "stop",
        usage=Usage(12, 4),
    ),
    TEXT,
    TEXT,
    CALLS,
)


@MANY
@given(REPLIES)
def test_lines_one_object_and_a_chat_completion_say_the_same(reply: Reply) -> None:
    out = encoder()
    raw = b"".join(map(out.feed, unfold(reply))) + out.end(SUMMARY)

    streamed = said(lines(raw))
    whole = said([orjson.loads(OLLAMA.whole(OLLAMA.decode(BODY, b""), reply, SUMMARY))])
    body = orjson.loads(CHAT.whole(CHAT.decode(BODY, b""), reply, SUMMARY))
    chat = body["choices"][0]["message"]
    calls = [
        (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
        for call in chat.get("tool_calls", ())
    ]
    assert streamed == whole
    assert whole == (chat["content"] or "", calls, chat.get("reasoning_content", ""))


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """Return turns that both APIs can say; each call is answered, maybe in another order."""
    turns = [Message("system", (Text(draw(WORDS)),))] if draw(st.booleans()) else []
    for _ in range(draw(st.integers(1, 4))):
        pictures = (Image(data=PIXEL, media_type="image/png"),) * draw(st.integers(0, 2))
        turns.append(Message("user", (*pictures, Text(draw(WORDS)))))
        reply = draw(REPLIES)
        named = [p for p in reply.parts if isinstance(p, ToolCall)]
        ids = {call.id: f"{call.id}_{len(turns)}" for call in named}
        calls = [ToolCall(ids[call.id], call.name, call.arguments) for call in named]
        turns.append(
            Message("assistant", (*(p for p in reply.parts if not isinstance(p, ToolCall)), *calls))
        )
        turns += [
            Message("tool", (ToolResult(call.id, (Text(draw(WORDS)),)),))
            for call in draw(st.permutations(calls))
        ]
    return turns


def in_chat(turns: Sequence[Message]) -> Iterator[Json]:
    """Yield *turns* as chat completions have them."""
    for turn in turns:
        calls = [part for part in turn.parts if isinstance(part, ToolCall)]
        results = [part for part in turn.parts if isinstance(part, ToolResult)]
        content: Json = turn.text
        if pictures := [part for part in turn.parts if isinstance(part, Image)]:
            url = {"url": f"data:image/png;base64,{PIXEL}"}
            shown = [{"type": "image_url", "image_url": url} for _ in pictures]
            content = [*shown, {"type": "text", "text": turn.text}]
        told: Json = {"role": turn.role, "content": content}
        if results:
            text = "".join(part.text for part in results[0].parts if isinstance(part, Text))
            told |= {"tool_call_id": results[0].call_id, "content": text}
        if thoughts := [part.text for part in turn.parts if isinstance(part, Thinking)]:
            told["reasoning_content"] = thoughts[0]
        if calls:
            told["tool_calls"] = [
                {"id": c.id, "type": "function", "function": function_of(c)} for c in calls
            ]
        yield told


def function_of(call: ToolCall) -> Json:
    return {"name": call.name, "arguments": call.arguments}


def in_ollama(turns: Sequence[Json], *, ids: bool) -> Iterator[Json]:
    """Yield the *turns* of a chat completion as Ollama has them; with or without *ids*.

    Without, the name of its tool tells whose a result is.
    """
    names: dict[str, str] = {}
    for turn in turns:
        told: Json = {"role": turn["role"], "content": turn["content"]}
        if isinstance(turn["content"], list):
            *shown, last = turn["content"]
            told = {**told, "content": last["text"], "images": [PIXEL for _ in shown]}
        if "reasoning_content" in turn:
            told["thinking"] = turn["reasoning_content"]
        if "tool_call_id" in turn:
            told["tool_name"] = names[turn["tool_call_id"]]
            told |= {"tool_call_id": turn["tool_call_id"]} if ids else {}
        for call in turn.get("tool_calls", ()):
            function = call["function"]
            names[call["id"]] = function["name"]
            arguments = json.loads(function["arguments"])
            told.setdefault("tool_calls", []).append(
                {
                    **({"id": call["id"]} if ids else {}),
                    "function": {"name": function["name"], "arguments": arguments},
                }
            )
        yield told


def heard(request: Request) -> list[Json]:
    """Return the parts of all turns, in a form that can be compared: arguments are read."""
    return [
        (turn.role, (part.id, part.name, json.loads(part.arguments)))
        if isinstance(part, ToolCall)
        else (turn.role, part)
        for turn in request.messages
        for part in turn.parts
    ]


@MANY
@given(conversations())
def test_a_conversation_is_heard_as_in_a_chat_completion(turns: list[Message]) -> None:
    chat = list(in_chat(turns))
    talk = list(in_ollama(chat, ids=True))

    one = CHAT.decode({"model": "fast", "messages": chat}, b"").relay.decode()
    other = OLLAMA.decode({"model": "fast", "messages": talk}, b"").relay.decode()

    assert heard(one) == heard(other)
    assert not any(turn.extra for turn in other.messages)


@MANY
@given(conversations())
def test_without_ids_each_result_is_that_of_a_call_of_its_tool(turns: list[Message]) -> None:
    chat = list(in_chat(turns))
    talk = list(in_ollama(chat, ids=False))

    request = OLLAMA.decode({"model": "fast", "messages": talk}, b"").relay.decode()

    parts = [part for turn in request.messages for part in turn.parts]
    calls = {part.id: part.name for part in parts if isinstance(part, ToolCall)}
    results = [part.call_id for part in parts if isinstance(part, ToolResult)]
    named = [turn["tool_name"] for turn in talk if "tool_name" in turn]
    assert len(calls) == sum(isinstance(part, ToolCall) for part in parts)
    assert [calls[result] for result in results] == named
    assert len(set(results)) == len(results)
