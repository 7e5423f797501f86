"""Sources that a model names are read from each API's answers, and from clients' histories."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import orjson
import pytest

from gateway.surfaces.spoken import DIALECTS
from gateway.upstream.provider import Provider, Target
from gateway.upstream.providers.anthropic import Anthropic
from gateway.upstream.providers.anthropic.count_tokens import count_tokens_call
from gateway.upstream.providers.openai_chat import OpenAIChat
from gateway.upstream.providers.openai_responses import OpenAIResponses
from gateway.wire.anthropic import AnthropicMessages
from techniques.core.citation import Citation
from techniques.core.events import Cited, Event, Finished, TextDelta, Warned
from techniques.core.json import Json, JsonObject
from techniques.core.request import Request, Sampling
from tests.fakes import script

TARGET: Final = Target("m", "p", "m")
URL: Final[Json] = {
    "type": "url_citation",
    "url_citation": {"url": "https://a.test", "title": "A", "start_index": 0, "end_index": 2},
}
FOUND: Final[Json] = {
    "type": "web_search_result_location",
    "url": "https://a.test",
    "title": "A",
    "cited_text": "it is hi",
    "encrypted_index": "Eo8",
}
SEARCHED: Final[Json] = {
    "type": "search_result_location",
    "source": "https://b.test",
    "title": "B",
    "cited_text": "hi",
    "search_result_index": 0,
    "start_block_index": 0,
    "end_block_index": 1,
}
QUOTED: Final[Json] = {"type": "char_location", "cited_text": "hi", "document_index": 0}


def events_of(provider: Provider, raw: bytes, *, streamed: bool) -> list[Event]:
    reader = provider.reader(Request("m", stream=streamed), TARGET, streamed=streamed)
    return [*reader.feed(raw), *reader.end()]


def chat(annotations: Json, *, streamed: bool) -> list[Event]:
    if streamed:
        pieces = [{"content": "hi"}, *[{"annotations": [one]} for one in annotations]]
        chunks = [script.begin(), *map(script.chunk, pieces), script.finish("stop"), script.done()]
        return events_of(OpenAIChat(), b"".join(chunks), streamed=True)
    message = {"role": "assistant", "content": "hi", "annotations": annotations}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return events_of(OpenAIChat(), orjson.dumps({"choices": [choice]}), streamed=False)


def messages(citations: Json, *, streamed: bool) -> list[Event]:
    block = {"type": "text", "text": "hi", "citations": citations}
    whole = {"type": "message", "content": [block], "stop_reason": "end_turn", "usage": {}}
    if not streamed:
        return events_of(Anthropic(), orjson.dumps(whole), streamed=False)
    deltas = [{"type": "text_delta", "text": "hi"}]
    deltas += [{"type": "citations_delta", "citation": one} for one in citations]
    told = [
        {"type": "message_start", "message": {**whole, "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}},
        {"type": "message_stop"},
    ]
    return events_of(
        Anthropic(),
        b"".join(b"data: " + orjson.dumps(one) + b"\n\n" for one in told),
        streamed=True,
    )


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize(
    ("answer", "own", "expected"),
    [
        (chat, URL, Citation("https://a.test", "A", 0, 2)),
        (messages, QUOTED, Citation("", "", 0, 2, "hi")),
        (messages, FOUND, Citation("https://a.test", "A", 0, 2, "it is hi")),
        (messages, SEARCHED, Citation("https://b.test", "B", 0, 2, "hi")),
        (messages, {**SEARCHED, "source": "shelf 3"}, Citation("", "B", 0, 2, "hi")),
    ],
)
def test_a_source_is_read_with_its_place(
    answer: Json, own: Json, expected: Citation, *, streamed: bool
) -> None:
    cited = answer([own, own], streamed=streamed)
    plain = answer([], streamed=streamed)

    found = [one.citation for one in cited if isinstance(one, Cited)]
    assert [replace(one, own=None) for one in found] == [expected, expected]
    assert all(one.own is not None and one.own.value == own for one in found)
    assert not any(isinstance(one, Cited) for one in plain)
    for events in (cited, plain):
        assert not any(isinstance(one, Warned) for one in events)
        assert [one.text for one in events if isinstance(one, TextDelta)] == ["hi"]
        assert isinstance(events[-1], Finished)


def test_a_source_of_a_later_block_has_its_place_in_all_of_the_text() -> None:
    blocks = [
        {"type": "text", "text": "Well, "},
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "hi", "citations": [FOUND]},
        {"type": "text", "text": "."},
    ]
    whole = {"type": "message", "content": blocks, "stop_reason": "end_turn", "usage": {}}

    events = events_of(Anthropic(), orjson.dumps(whole), streamed=False)

    (cited,) = (one.citation for one in events if isinstance(one, Cited))
    assert (cited.start, cited.end) == (6, 8)


ASKED: Final[Json] = {"role": "user", "content": "a"}
SAID: Final[Json] = {"role": "assistant", "content": "hi"}
ENOUGH: Final = Sampling(max_output_tokens=99)
MADE: Final[Json] = {**FOUND, "encrypted_index": ""}


def history(*citations: Json) -> JsonObject:
    said = {"type": "text", "text": "hi"}
    block = {**said, "citations": list(citations)} if citations else said
    asked = {"role": "user", "content": [{"type": "text", "text": "a"}]}
    turns = [asked, {"role": "assistant", "content": [block]}]
    last = asked
    return {"model": "m", "max_tokens": 9, "messages": [*turns, last]}


@pytest.mark.parametrize("relayed", [True, False])
@pytest.mark.parametrize("citations", [[MADE], [FOUND, MADE]])
def test_anthropic_is_not_told_of_sources_that_another_found(
    citations: list[Json], *, relayed: bool
) -> None:
    body = history(*citations)
    call = AnthropicMessages().decode(body, orjson.dumps(body))
    relay = call.relay
    request = Request("m", relay=relay) if relayed else relay.decode()

    sent = Anthropic().encode(request, TARGET)

    kept = [one for one in citations if one != MADE]
    assert orjson.loads(sent.body)["messages"] == history(*kept)["messages"]
    assert sent.warnings == ()
    assert Anthropic().encode(replace(request, strict=True), TARGET).body == sent.body
    counted = count_tokens_call(relay, TARGET)
    assert orjson.loads(counted.body)["messages"] == history(*kept)["messages"]


def test_sources_that_anthropic_found_go_back_as_they_came() -> None:
    body = history(FOUND, QUOTED)
    raw = orjson.dumps(body)

    sent = Anthropic().encode(
        Request("m", relay=AnthropicMessages().decode(body, raw).relay), TARGET
    )

    assert sent.body == raw
    assert sent.warnings == ()


@pytest.mark.parametrize("provider", [Anthropic(), OpenAIChat(), OpenAIResponses()])
@pytest.mark.parametrize("client", ["openai_chat", "openai_responses", "anthropic"])
def test_a_strict_client_may_send_back_the_sources_that_it_was_told(
    provider: Provider, client: str
) -> None:
    own = history(MADE)
    if client == "openai_chat":
        own = {"model": "m", "messages": [ASKED, {**SAID, "annotations": [URL]}, ASKED]}
    elif client == "openai_responses":
        told = {"type": "url_citation", "url": "https://a.test", "title": "A"}
        part = {"type": "output_text", "text": "hi", "annotations": [told]}
        own = {"model": "m", "input": [ASKED, {**SAID, "content": [part]}, ASKED]}
    request = DIALECTS[client].decode(own, orjson.dumps(own)).relay.decode()

    sent = provider.encode(replace(request, strict=True, sampling=ENOUGH), TARGET)

    assert b"hi" in sent.body
    assert sent.warnings == ()
