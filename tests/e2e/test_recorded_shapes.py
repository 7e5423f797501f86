"""Oddities of vendors' streams and bodies: same dialect byte for byte, the other one in sense.

The files in ``tests/fixtures/e2e`` are written for these tests, each in the manner of one vendor.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import NamedTuple

import anthropic
import openai
import pytest

from techniques.core.json import Json
from tests.e2e.conftest import Scene
from tests.fakes.client import Exchange, request
from tests.fakes.gateway import KEYS
from tests.fakes.script import Answer, dumps, sse

FOLDER = Path(__file__).parents[1] / "fixtures" / "e2e"
ASKED: list[Json] = [{"role": "user", "content": "hello"}]


class Shape(NamedTuple):
    """What a file says: text, reasoning, calls as names with arguments, and the finish reason."""

    text: str = ""
    thought: str = ""
    calls: tuple[tuple[str, Json], ...] = ()
    finish: str = "stop"


STREAMS: Mapping[str, Shape] = {
    "azure_filter": Shape("The tide turns."),
    "deepseek_reasoning": Shape("High at noon.", "The moon was full."),
    "mistral_padded": Shape("Low water."),
    "openrouter_comments": Shape("Ebb.", calls=(("look_up", {"q": "ebb"}),), finish="tool_calls"),
    "openai_obfuscated": Shape("Neap tide"),
    "crlf_no_space": Shape("Flood"),
}
"""Files of OpenAI's dialect that end well."""
USAGE_ELSEWHERE = {"deepseek_reasoning", "mistral_padded", "openrouter_comments"}
"""Usage stands in the chunk with the finish reason; clients get it in a chunk of its own."""
ANTHROPIC = "anthropic_padded"
FINISHES = {"stop": "end_turn", "tool_calls": "tool_use"}


def cut(name: str, seed: int = 5) -> Answer:
    """Return the stream in the file *name*, cut at places of chance."""
    raw = (FOLDER / f"{name}.sse").read_bytes()
    places = sorted(Random(seed).sample(range(1, len(raw)), min(40, len(raw) - 1)))
    return sse(*(raw[a:b] for a, b in pairwise([0, *places, len(raw)])))


def received(scene: Scene, path: str, **body: Json) -> bytes:
    """Return the bytes of a streamed answer."""
    asked = dumps({"messages": ASKED, "stream": True, **body})
    headers = {"authorization": f"Bearer {KEYS['k1']}", "anthropic-version": "2023-06-01"}
    answer = Exchange(scene.gateway.port, request(path, asked, headers)).whole()
    assert answer.status == 200, answer.body
    return answer.body


@pytest.mark.parametrize("name", sorted(set(STREAMS) - USAGE_ELSEWHERE))
def test_a_regular_stream_comes_back_byte_for_byte(scene: Scene, name: str) -> None:
    scene.upstream.plays(cut(name))

    raw = received(
        scene,
        "/v1/chat/completions",
        model="oa-model",
        stream_options={"include_usage": True},
    )

    assert raw == (FOLDER / f"{name}.sse").read_bytes()


@pytest.mark.parametrize("name", sorted(USAGE_ELSEWHERE))
def test_usage_beside_the_finish_reason_comes_in_a_chunk_of_its_own(
    scene: Scene, name: str
) -> None:
    scene.upstream.plays(cut(name))

    raw = received(
        scene, "/v1/chat/completions", model="oa-model", stream_options={"include_usage": True}
    )

    sent = (FOLDER / f"{name}.sse").read_bytes().split(b"\n\n")
    got = raw.split(b"\n\n")
    *before, last, done, end = sent
    assert (done, end) == (b"data: [DONE]", b"")
    assert got[: len(before)] == before
    finishing, usage, *rest = got[len(before) :]
    assert rest == [done, end]
    told, kept = json.loads(last[6:]), json.loads(finishing[6:])
    assert {**kept, "usage": told["usage"]} == told
    assert json.loads(usage[6:])["usage"] == told["usage"]
    assert json.loads(usage[6:])["choices"] == []


@pytest.mark.parametrize("name", STREAMS)
def test_an_odd_stream_reads_well_in_the_chat_sdk(scene: Scene, name: str) -> None:
    scene.upstream.plays(cut(name))

    with scene.chat.chat.completions.stream(model="oa-model", messages=ASKED) as stream:
        choice = stream.get_final_completion().choices[0]

    shape = STREAMS[name]
    assert choice.message.content == shape.text
    assert choice.finish_reason == shape.finish
    calls = choice.message.tool_calls or []
    found = [(call.function.name, json.loads(call.function.arguments)) for call in calls]
    assert tuple(found) == shape.calls


@pytest.mark.parametrize("name", STREAMS)
def test_an_odd_stream_says_the_same_to_the_messages_sdk(scene: Scene, name: str) -> None:
    scene.upstream.plays(cut(name))

    with scene.messages.messages.stream(model="oa-model", max_tokens=99, messages=ASKED) as stream:
        final = stream.get_final_message()

    shape = STREAMS[name]
    assert "".join(block.text for block in final.content if block.type == "text") == shape.text
    thoughts = [block.thinking for block in final.content if block.type == "thinking"]
    assert "".join(thoughts) == shape.thought
    calls = [(block.name, block.input) for block in final.content if block.type == "tool_use"]
    assert tuple(calls) == shape.calls
    assert final.stop_reason == FINISHES[shape.finish]
    assert final.usage.output_tokens == 7


def test_padded_events_come_back_byte_for_byte_and_in_sense(scene: Scene) -> None:
    scene.upstream.plays(cut(ANTHROPIC), cut(ANTHROPIC), cut(ANTHROPIC))

    raw = received(scene, "/v1/messages", model="an-model", max_tokens=99)
    with scene.messages.messages.stream(model="an-model", max_tokens=99, messages=ASKED) as events:
        message = events.get_final_message()
    with scene.chat.chat.completions.stream(model="an-model", messages=ASKED) as chunks:
        choice = chunks.get_final_completion().choices[0]

    assert raw == (FOLDER / f"{ANTHROPIC}.sse").read_bytes()
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use"]
    assert choice.message.content == "Spring tide."
    [call] = choice.message.tool_calls or []
    assert call.type == "function"
    assert json.loads(call.function.arguments) == {"q": "tides", "deep": [1, {"a": None}]}
    assert choice.finish_reason == "tool_calls"


@pytest.mark.parametrize("name", ["groq_error", "openrouter_error"])
def test_a_failure_in_a_vendors_words_raises(scene: Scene, name: str) -> None:
    scene.upstream.plays(cut(name), cut(name))
    words = {"groq_error": "did not call a tool", "openrouter_error": "Kraken awake"}[name]

    with (
        pytest.raises(openai.APIError, match=words),
        scene.chat.chat.completions.create(model="oa-model", messages=ASKED, stream=True) as chunks,
    ):
        list(chunks)
    with (
        pytest.raises(anthropic.APIStatusError) as raised,
        scene.messages.messages.create(
            model="oa-model", max_tokens=9, messages=ASKED, stream=True
        ) as events,
    ):
        list(events)

    assert words in (raised.value.api_message or "")


WHOLE: Mapping[str, Shape] = {
    "together_eos": Shape("Slack water."),
    "cerebras_no_content": Shape(calls=(("look_up", {"q": "surf"}),), finish="tool_calls"),
    "mistral_parts": Shape("Riptide.", "It pulls."),
    "object_arguments": Shape(calls=(("look_up", {"q": "swell"}),), finish="tool_calls"),
}


@pytest.mark.parametrize("name", WHOLE)
def test_an_odd_body_reads_well_in_both_sdks(scene: Scene, name: str) -> None:
    raw = (FOLDER / f"{name}.json").read_bytes()
    scene.upstream.plays(Answer((raw,)), Answer((raw,)))
    shape = WHOLE[name]

    choice = scene.chat.chat.completions.create(model="oa-model", messages=ASKED).choices[0]
    message = scene.messages.messages.create(model="oa-model", max_tokens=99, messages=ASKED)

    calls = [call for call in choice.message.tool_calls or [] if call.type == "function"]
    found = [(call.function.name, json.loads(call.function.arguments)) for call in calls]
    assert tuple(found) == shape.calls
    assert choice.finish_reason == shape.finish
    blocks = message.content
    assert "".join(block.text for block in blocks if block.type == "text") == shape.text
    assert "".join(b.thinking for b in blocks if b.type == "thinking") == shape.thought
    used = tuple((block.name, block.input) for block in blocks if block.type == "tool_use")
    assert used == shape.calls
    assert message.stop_reason == FINISHES[shape.finish]
