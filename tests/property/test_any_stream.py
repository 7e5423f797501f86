"""However a stream is cut and whatever it says, it is read, passed on and translated alike."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.upstream.provider import Provider, Target
from gateway.upstream.providers.anthropic import Anthropic
from gateway.upstream.providers.openai_chat import OpenAIChat as OpenAIProvider
from gateway.upstream.providers.openai_responses import OpenAIResponses
from gateway.wire.anthropic import AnthropicMessages
from gateway.wire.dialect import Call, Dialect, Summary
from gateway.wire.openai_chat import OpenAIChat
from gateway.wire.openai_responses import OpenAIResponses as Responses
from pricing.usage import Usage
from techniques.core.events import Event, Finished, Relayed
from techniques.core.json import NOTHING, Json
from techniques.core.reply import Fold, Reply
from techniques.core.request import Relay, Request
from tests.e2e.turns import Called, Turn, events
from tests.fakes.client import Splitter

PROVIDERS: dict[str, Provider] = {
    "oa-model": OpenAIProvider(),
    "an-model": Anthropic(),
    "rs-model": OpenAIResponses(),
}
DIALECTS: dict[str, Dialect] = {
    "oa-model": OpenAIChat(),
    "an-model": AnthropicMessages(),
    "rs-model": Responses(),
}
ENDS = ("message_stop", "response.completed", "response.incomplete")
TARGET = Target("fast", "p", "real")
SUMMARY = Summary(Usage(input_tokens=12, output_tokens=4), 1, None, "unknown")
MANY = settings(max_examples=50, deadline=None, derandomize=True)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ARGUMENTS = st.dictionaries(TEXT, TEXT | st.integers(0, 99) | st.none(), max_size=3)
CALLS = st.lists(
    st.builds(
        Called,
        st.uuids().map(lambda made: f"call_{made.hex[:8]}"),
        st.sampled_from(["look_up", "add_note"]),
        ARGUMENTS.map(json.dumps),
    ),
    max_size=3,
)
TURNS = st.builds(
    Turn,
    parts=st.lists(TEXT.filter(bool), min_size=1, max_size=4),
    calls=CALLS,
    thought=TEXT,
    cut=st.booleans(),
)


@st.composite
def pieces(draw: st.DrawFn, model: str) -> tuple[Turn, list[bytes]]:
    """Return a turn, and its stream cut somewhere; comments and line ends may vary."""
    turn = draw(TURNS)
    told = events(model, turn)
    for place in sorted(draw(st.sets(st.integers(1, len(told) - 2), max_size=3)), reverse=True):
        told.insert(place, draw(st.sampled_from([b": keep-alive\n\n", b":\n\n"])))
    raw = b"".join(told)
    if draw(st.booleans()):
        raw = raw.replace(b"\n", b"\r\n")
    cuts = draw(st.sets(st.integers(1, len(raw) - 1), max_size=25))
    return turn, [raw[a:b] for a, b in pairwise([0, *sorted(cuts), len(raw)])]


def asked(dialect: str, *, relayed: bool) -> Request:
    """Return a request whose answer is relayed, or decoded."""
    body = {"model": "fast", "stream": True}
    relay = Relay(dialect, orjson.dumps(body), body, lambda: Request("fast"), include_usage=True)
    return Request("fast", stream=True, dialect=dialect, relay=relay if relayed else None)


def read(provider: Provider, parts: Sequence[bytes], *, relayed: bool) -> Iterator[Event]:
    """Yield what a fresh reader tells of *parts*."""
    request = asked(provider.dialect, relayed=relayed)
    reader = provider.reader(request, TARGET, streamed=True)
    for part in parts:
        yield from reader.feed(part)
    yield from reader.end()


def folded(told: Sequence[Event]) -> Reply:
    """Return the reply that *told* spells."""
    fold = Fold()
    for event in told:
        fold.feed(event)
    return fold.reply()


def expected(turn: Turn) -> tuple[str, list[tuple[str, str, Json]], str]:
    """Return a turn's text, calls and thoughts."""
    return turn.text, [(c.id, c.name, json.loads(c.arguments)) for c in turn.calls], turn.thought


@pytest.mark.parametrize("model", PROVIDERS)
def test_a_stream_is_decoded_to_what_was_said(model: str) -> None:
    @MANY
    @given(pieces(model))
    def holds(given_: tuple[Turn, list[bytes]]) -> None:
        turn, parts = given_
        told = list(read(PROVIDERS[model], parts, relayed=False))

        reply = folded(told)
        calls = [(c.id, c.name, json.loads(c.arguments or "{}")) for c in reply.tool_calls]
        assert (reply.text, calls, reply.thinking) == expected(turn)
        assert [isinstance(event, Finished) for event in told].count(True) == 1
        assert isinstance(told[-1], Finished)

    holds()


@pytest.mark.parametrize("model", PROVIDERS)
def test_a_stream_is_passed_on_byte_for_byte(model: str) -> None:
    @MANY
    @given(pieces(model))
    def holds(given_: tuple[Turn, list[bytes]]) -> None:
        _turn, parts = given_
        told = list(read(PROVIDERS[model], parts, relayed=True))

        passed = [event.raw for event in told if isinstance(event, Relayed | Finished)]
        assert b"".join(passed) == b"".join(parts)

    holds()


@pytest.mark.parametrize("client", DIALECTS)
@pytest.mark.parametrize("model", PROVIDERS)
def test_a_stream_is_translated_to_what_was_said(model: str, client: str) -> None:
    @MANY
    @given(pieces(model))
    def holds(given_: tuple[Turn, list[bytes]]) -> None:
        turn, parts = given_
        dialect = DIALECTS[client]
        relay = Relay(dialect.name, None, NOTHING, lambda: Request("fast"))
        call = Call(dialect.name, "fast", streamed=True, relay=relay)
        encoder = dialect.encoder(call, "r1", "fast")
        written = [encoder.feed(e) for e in read(PROVIDERS[model], parts, relayed=False)]

        stream = b"".join([*written, encoder.end(SUMMARY)])
        splitter = Splitter()
        told = [*splitter.feed(stream), *splitter.end()]
        assert told[-1].data == "[DONE]" or told[-1].name in ENDS
        said = [event.json for event in told if event.data and event.data != "[DONE]"]
        again = SAID_IN[dialect.name](said)
        text, calls, thought = expected(turn)
        assert again == (text, calls, thought)

    holds()


def said_in_chat(said: list[Json]) -> tuple[str, list[tuple[str, str, Json]], str]:
    """Return text, calls and thoughts of a chat client's chunks."""
    deltas = [choice["delta"] for chunk in said for choice in chunk["choices"]]
    calls: dict[int, list[str]] = {}
    for piece in (call for delta in deltas for call in delta.get("tool_calls", ())):
        function = piece["function"]
        if "id" in piece:
            assert piece["index"] == len(calls)
            calls[piece["index"]] = [piece["id"], function["name"], ""]
        calls[piece["index"]][2] += function["arguments"]
    return (
        "".join(delta.get("content") or "" for delta in deltas),
        [(id_, name, json.loads(arguments)) for id_, name, arguments in calls.values()],
        "".join(delta.get("reasoning_content") or "" for delta in deltas),
    )


def said_in_messages(said: list[Json]) -> tuple[str, list[tuple[str, str, Json]], str]:
    """Return text, calls and thoughts of a messages client's events."""
    texts: dict[str, str] = {"text_delta": "", "thinking_delta": ""}
    calls: dict[int, list[str]] = {}
    for event in said:
        if event["type"] == "content_block_start" and event["content_block"]["type"] == "tool_use":
            block = event["content_block"]
            calls[event["index"]] = [block["id"], block["name"], ""]
        if event["type"] == "content_block_delta":
            delta = event["delta"]
            if delta["type"] == "input_json_delta":
                calls[event["index"]][2] += delta["partial_json"]
            elif delta["type"] in texts:
                texts[delta["type"]] += delta.get("text") or delta.get("thinking") or ""
    made = [(id_, name, json.loads(text or "{}")) for id_, name, text in calls.values()]
    return texts["text_delta"], made, texts["thinking_delta"]


def said_in_responses(said: list[Json]) -> tuple[str, list[tuple[str, str, Json]], str]:
    """Return text, calls and thoughts of the deltas of a response, which its end says again."""
    texts = {"output_text": "", "reasoning_summary_text": ""}
    calls: dict[int, list[str]] = {}
    for event in said:
        kind, _, step = event["type"].removeprefix("response.").rpartition(".")
        if step == "added" and event.get("item", {}).get("type") == "function_call":
            item = event["item"]
            calls[event["output_index"]] = [item["call_id"], item["name"], ""]
        elif step == "delta" and kind in texts:
            texts[kind] += event["delta"]
        elif step == "delta":
            calls[event["output_index"]][2] += event["delta"]
    last = said[-1]["response"]["output"]
    assert [item["arguments"] for item in last if "arguments" in item] == [
        arguments for _, _, arguments in calls.values()
    ]
    made = [(id_, name, json.loads(arguments)) for id_, name, arguments in calls.values()]
    return texts["output_text"], made, texts["reasoning_summary_text"]


SAID_IN = {
    "openai_chat": said_in_chat,
    "anthropic": said_in_messages,
    "openai_responses": said_in_responses,
}
