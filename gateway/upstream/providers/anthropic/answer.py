"""Turns the events of a Messages stream, already parsed, into neutral ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import orjson

from gateway.upstream.providers.anthropic.usage import UsageTotal
from techniques.core.events import (
    BlockAdded,
    Event,
    Finished,
    FinishReason,
    Redacted,
    Signed,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallStarted,
    UsageReported,
    Warned,
)
from techniques.core.json import Json, JsonObject
from techniques.core.request import Opaque

_REASONS: Mapping[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop_sequence",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "refusal",
    "pause_turn": "pause",
}


class Frame:
    """What stands around an answer's content: who gives it, its usage and why it ended."""

    def __init__(self) -> None:
        self._usage = UsageTotal()
        self._reason: FinishReason | None = None
        self._stop_sequence: str | None = None

    @property
    def complete(self) -> bool:
        """Whether the model said why it stopped."""
        return self._reason is not None

    def start(self, message: Json) -> Iterator[Event]:
        """Yield what the head of *message* tells."""
        if not isinstance(message, dict):
            return
        yield Started(_string(message.get("id")), _string(message.get("model")))
        yield from self.used(message.get("usage"))

    def stop(self, delta: Json) -> None:
        """Take in why the model stopped, if *delta* tells it."""
        if isinstance(delta, dict) and isinstance(reason := delta.get("stop_reason"), str):
            self._reason = _REASONS.get(reason, "stop")
            sequence = delta.get("stop_sequence")
            self._stop_sequence = sequence if isinstance(sequence, str) else None

    def used(self, report: Json) -> Iterator[Event]:
        """Yield the usage that *report* brings up to date."""
        usage = self._usage.add(report)
        if usage is not None:
            yield UsageReported(usage, self._usage.mode)

    def finished(self, raw: bytes = b"") -> Finished:
        """Return the end of the answer."""
        return Finished(self._reason or "stop", self._stop_sequence, raw)


class Block:
    """One content block as it grows."""

    def __init__(self, block: JsonObject, calls: int) -> None:
        self._block = block
        self._calls = calls  # tool calls before this block
        self.kind = _string(block.get("type"))
        self._signature = _string(block.get("signature"))
        self._json: list[str] = []

    def start(self) -> Iterator[Event]:
        """Yield what the block says from the beginning."""
        block = self._block
        match self.kind:
            case "text":
                yield from _text(block.get("text"))
            case "thinking":
                yield ThinkingDelta(_string(block.get("thinking")))
            case "tool_use":
                name = _string(block.get("name"))
                yield ToolCallStarted(self._calls, _string(block.get("id")), name)
            case "redacted_thinking":
                yield Redacted(_string(block.get("data")))
            case _:
                pass

    def grow(self, delta: JsonObject) -> Iterable[Event]:
        """Return what *delta* adds to the block."""
        match self.kind, delta.get("type"):
            case "text", "text_delta":
                return _text(delta.get("text"))
            case "tool_use", "input_json_delta":
                return self._arguments(_string(delta.get("partial_json")))
            case "thinking", "thinking_delta":
                thought = _string(delta.get("thinking"))
                return (ThinkingDelta(thought),) if thought else ()
            case _:
                self._collect(delta)
                return ()

    def stop(self) -> Iterator[Event]:
        """Yield what is known only when the block is complete."""
        match self.kind:
            case "thinking":
                if self._signature:
                    yield Signed(self._signature)
            case "tool_use":
                if not self._json:  # without arguments, too: clients begin what is whole
                    given = self._block.get("input") or {}
                    yield from self._arguments(orjson.dumps(given).decode())
            case "text":
                if self._block.get("citations"):
                    yield Warned("citations_dropped", "citations")
            case "redacted_thinking":
                pass
            case _:
                yield BlockAdded(Opaque("anthropic", self._whole()))

    def _arguments(self, text: str) -> Iterable[Event]:
        if not text:
            return ()
        self._json.append(text)
        return (ToolCallDelta(self._calls, text),)

    def _collect(self, delta: JsonObject) -> None:
        match self.kind, delta.get("type"):
            case "thinking", "signature_delta":
                self._signature += _string(delta.get("signature"))
            case _, "input_json_delta":
                self._json.append(_string(delta.get("partial_json")))
            case _:
                self._grow_unknown(delta)

    def _grow_unknown(self, delta: JsonObject) -> None:
        if "citation" in delta:
            known = self._block.get("citations")
            known = known if isinstance(known, list) else []
            self._block["citations"] = [*known, delta["citation"]]
            return
        for name, value in delta.items():
            before = self._block.get(name)
            if isinstance(before, str) and isinstance(value, str) and name != "type":
                self._block[name] = before + value
            elif name != "type":
                self._block[name] = value

    def _whole(self) -> JsonObject:
        if self._json:
            try:
                self._block["input"] = orjson.loads("".join(self._json))
            except orjson.JSONDecodeError:
                self._block["input"] = {"INVALID_JSON": "".join(self._json)}
        return self._block


class Content:
    """The content of one answer, block by block."""

    def __init__(self) -> None:
        self._blocks: dict[Json, Block] = {}
        self._calls = 0

    def start(self, index: Json, value: Json) -> Iterator[Event]:
        """Begin the block *value* at *index*."""
        if not isinstance(value, dict):
            return
        block = self._blocks[index] = Block(value, self._calls)
        self._calls += block.kind == "tool_use"
        yield from block.start()

    def grow(self, index: Json, delta: Json) -> Iterable[Event]:
        """Add *delta* to the block at *index*; text whose block never began begins one."""
        if not isinstance(delta, dict):
            return ()
        block = self._blocks.get(index)
        if block is None:
            if delta.get("type") != "text_delta":
                return ()
            block = self._blocks[index] = Block({"type": "text"}, self._calls)
        return block.grow(delta)

    def stop(self, index: Json) -> Iterator[Event]:
        """End the block at *index*."""
        block = self._blocks.pop(index, None)
        if block is not None:
            yield from block.stop()


def _string(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _text(value: Json) -> Iterable[Event]:
    return (TextDelta(value),) if isinstance(value, str) and value else ()
