"""Sources that a model names, for which there is no place in the answer, are lost by name."""

from __future__ import annotations

from typing import Final

import orjson
import pytest

from gateway.upstream.provider import Provider, Target
from gateway.upstream.providers.anthropic import Anthropic
from gateway.upstream.providers.openai_chat import OpenAIChat
from techniques.core.events import Event, Finished, TextDelta, Warned
from techniques.core.json import Json
from techniques.core.request import Request
from tests.fakes import script

TARGET: Final = Target("m", "p", "m")
URL: Final[Json] = {
    "type": "url_citation",
    "url_citation": {"url": "https://a.test", "title": "A", "start_index": 0, "end_index": 2},
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
@pytest.mark.parametrize(("answer", "source"), [(chat, URL), (messages, QUOTED)])
def test_citations_are_lost_by_name(answer: Json, source: Json, *, streamed: bool) -> None:
    cited = answer([source, source], streamed=streamed)
    plain = answer([], streamed=streamed)

    assert [one.code for one in cited if isinstance(one, Warned)] == ["citations_dropped"]
    assert not any(isinstance(one, Warned) for one in plain)
    for events in (cited, plain):
        assert [one.text for one in events if isinstance(one, TextDelta)] == ["hi"]
        assert isinstance(events[-1], Finished)
