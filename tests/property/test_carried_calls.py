"""What a host hung on its calls comes back with them through clients of every API."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.surfaces.spoken import DIALECTS
from techniques.core.carried import MARK
from techniques.core.json import Json, JsonObject
from techniques.core.reply import Reply
from techniques.core.request import Message, Part, Request, Text, ToolCall, ToolResult, said
from tests.property.test_round_trips import CLIENTS, PROVIDERS, TARGET, heard, written

MANY: Final = settings(max_examples=60, deadline=None, derandomize=True)
SIGNATURES: Final = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
EXTRAS: Final[st.SearchStrategy[JsonObject]] = st.just({}) | SIGNATURES.map(
    lambda text: {"extra_content": {"google": {"thought_signature": text}}}
)
CALLS: Final = st.lists(EXTRAS, min_size=1, max_size=3).map(
    lambda extras: [
        ToolCall(f"function-call-{at}", "look_up", '{"q": 1}', extra=extra)
        for at, extra in enumerate(extras)
    ]
)


def in_ollama(reply: Reply, *, streamed: bool) -> bytes:
    """Return what a client of Ollama's API sends after *reply*."""
    lines = [json.loads(line) for line in written("ollama", reply, streamed=streamed).splitlines()]
    calls = [call for line in lines for call in line["message"].get("tool_calls", ())]
    results = [
        {"role": "tool", "tool_call_id": call["id"], "tool_name": "look_up", "content": "ok"}
        for call in calls
    ]
    asked = {"role": "assistant", "content": "", "tool_calls": calls}
    return orjson.dumps({"model": "m", "messages": [asked, *results]})


def in_items(calls: Sequence[ToolCall]) -> bytes:
    """Return what a client of the Responses API sends after *calls*."""
    named = [{"call_id": call.id, "name": call.name} for call in calls]
    made = [{"type": "function_call", "arguments": "{}", **name} for name in named]
    results = [
        {"type": "function_call_output", "call_id": call.id, "output": "ok"} for call in calls
    ]
    return orjson.dumps({"model": "m", "input": [*made, *results]})


def goes_on(dialect: str, reply: Reply, *, streamed: bool) -> bytes:
    """Return what a client of *dialect* sends after *reply*, with the results of its calls."""
    if dialect == "ollama":
        return in_ollama(reply, streamed=streamed)
    calls = heard(dialect, reply, streamed=streamed).tool_calls
    if dialect == "openai_responses":
        return in_items(calls)
    results = [ToolResult(call.id, (Text("ok"),)) for call in calls]
    turns = (said("user", "hi"), Message("assistant", (*calls,)), Message("tool", (*results,)))
    return PROVIDERS[dialect].encode(Request("m", turns, dialect=dialect), TARGET).body


def _parts(request: Request) -> Sequence[Part]:
    return [part for turn in request.messages for part in turn.parts]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("client", CLIENTS)
def test_calls_come_back_with_their_ids_and_what_was_hung_on_them(
    client: str, *, streamed: bool
) -> None:
    @MANY
    @given(CALLS)
    def holds(calls: list[ToolCall]) -> None:
        reply = Reply((*calls,), "tool_calls", id="made_1", model="m")
        raw = goes_on(client, reply, streamed=streamed)

        call = DIALECTS[client].decode(orjson.loads(raw), raw)
        back = _parts(call.relay.decode())

        told: list[Json] = [(made.id, made.name, dict(made.extra)) for made in calls]
        found = [(p.id, p.name, dict(p.extra)) for p in back if isinstance(p, ToolCall)]
        assert found == told
        assert [p.call_id for p in back if isinstance(p, ToolResult)] == [c.id for c in calls]
        if client != "ollama":
            assert MARK.encode() not in (call.relay.raw or orjson.dumps(call.relay.body))

    holds()
