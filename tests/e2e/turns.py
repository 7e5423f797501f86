"""One turn of a model, spelled as either provider would spell it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

from techniques.core.json import Json
from tests.fakes import responses, script
from tests.fakes.script import Answer

MODELS = ("oa-model", "an-model", "rs-model")
"""One model behind each dialect."""


class Called(NamedTuple):
    """A tool call; ``arguments`` is JSON text."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Turn:
    """What a model says: thoughts, then text, then calls."""

    parts: Sequence[str] = ()
    calls: Sequence[Called] = ()
    thought: str = ""
    signature: str = "c2lnbmF0dXJl/+=="
    cut: bool = False

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(self.parts)


def whole(model: str, turn: Turn) -> Answer:
    """Return the answer in one body, by the provider that *model* is at."""
    match model[:2]:
        case "oa":
            return _openai_whole(turn)
        case "an":
            return _anthropic_whole(turn)
        case _:
            return responses.whole(*(item for item, _ in _items(turn)), **_status(turn))


def events(model: str, turn: Turn) -> list[bytes]:
    """Return the stream's events."""
    match model[:2]:
        case "oa":
            return _openai_events(turn)
        case "an":
            return _anthropic_events(turn)
        case _:
            return responses.events(*_items(turn), **_status(turn))


def streamed(model: str, turn: Turn) -> Answer:
    """Return the answer as a stream, each event a write of its own."""
    return script.sse(*events(model, turn))


def _openai_reason(turn: Turn) -> str:
    return "length" if turn.cut else "tool_calls" if turn.calls else "stop"


def _anthropic_reason(turn: Turn) -> str:
    return "max_tokens" if turn.cut else "tool_use" if turn.calls else "end_turn"


def _openai_whole(turn: Turn) -> Answer:
    message: dict[str, Json] = {"role": "assistant", "content": turn.text or None}
    if turn.thought:
        message["reasoning_content"] = turn.thought
    if turn.calls:
        message["tool_calls"] = [script.called(c.name, c.arguments, id=c.id) for c in turn.calls]
    return script.completion(reason=_openai_reason(turn), message=message)


def _openai_events(turn: Turn) -> list[bytes]:
    made = [script.begin()]
    made += [script.chunk({"reasoning_content": word}) for word in _halves(turn.thought)]
    made += [script.text(part) for part in turn.parts]
    for index, call in enumerate(turn.calls):
        named = script.called(call.name, "", index=index, id=call.id)
        made.append(script.call_delta(named))
        made += [
            script.call_delta({"index": index, "function": {"arguments": piece}})
            for piece in _halves(call.arguments)
        ]
    return [*made, script.finish(_openai_reason(turn)), script.usage(12, 4), script.done()]


def _anthropic_whole(turn: Turn) -> Answer:
    blocks: list[Json] = []
    if turn.thought:
        thinking = {"type": "thinking", "thinking": turn.thought, "signature": turn.signature}
        blocks.append(thinking)
    if turn.parts:
        blocks.append({"type": "text", "text": turn.text})
    blocks += [
        {"type": "tool_use", "id": c.id, "name": c.name, "input": json.loads(c.arguments)}
        for c in turn.calls
    ]
    return script.message(blocks, _anthropic_reason(turn))


def _anthropic_events(turn: Turn) -> list[bytes]:
    made, index = [script.message_start(12, 1)], count()
    if turn.thought:
        deltas = [{"type": "thinking_delta", "thinking": word} for word in _halves(turn.thought)]
        deltas.append({"type": "signature_delta", "signature": turn.signature})
        empty: Json = {"type": "thinking", "thinking": "", "signature": ""}
        made += _block(next(index), empty, deltas)
    if turn.parts:
        deltas = [{"type": "text_delta", "text": part} for part in turn.parts]
        made += _block(next(index), {"type": "text", "text": ""}, deltas)
    for call in turn.calls:
        pieces = ["", *_halves(call.arguments)]
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        empty = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        made += _block(next(index), empty, deltas)
    delta = {"stop_reason": _anthropic_reason(turn), "stop_sequence": None}
    counted = {"input_tokens": 12, "output_tokens": 4}
    last = script.event("message_delta", delta=delta, usage=counted)
    return [*made, last, script.event("message_stop")]


def _status(turn: Turn) -> dict[str, Json]:
    if not turn.cut:
        return {}
    return {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}


def _items(turn: Turn) -> Iterator[responses.Grown]:
    if turn.thought:
        yield (
            responses.reasoning(turn.thought, encrypted=turn.signature),
            _halves(turn.thought),
        )
    if turn.parts:
        yield responses.message(turn.text), turn.parts
    for place, called in enumerate(turn.calls):
        item = responses.call(called.name, called.arguments, called.id, f"fc_{place}")
        yield item, _halves(called.arguments)


def _block(index: int, empty: Json, deltas: Sequence[Json]) -> list[bytes]:
    return [
        script.event("content_block_start", index=index, content_block=empty),
        *(script.event("content_block_delta", index=index, delta=delta) for delta in deltas),
        script.event("content_block_stop", index=index),
    ]


def _halves(text: str) -> list[str]:
    middle = len(text) // 2
    return [half for half in (text[:middle], text[middle:]) if half]
