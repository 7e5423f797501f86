"""Turns the events of a Messages stream, already parsed, into neutral ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import orjson

from gateway.upstream.providers.anthropic.cited import citation_of
from gateway.upstream.providers.anthropic.usage import UsageTotal
from gateway.upstream.untold import untold
from techniques.core.events import (
    BlockAdded,
    Cited,
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

_DIRECT: Final = {"type": "direct"}
"""The model itself, where programs of its may call tools, too."""
_OF_CALLS: Final = ("caller", "toolset_name")


class Frame:
    """What stands around an answer's content: who gives it, its usage and why it ended."""

    def __init__(self) -> None:
        self.details: JsonObject = {}
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
            details = delta.get("stop_details")
            self.details = details if isinstance(details, dict) else {}

    def used(self, report: Json) -> Iterator[Event]:
        """Yield the usage that *report* brings up to date."""
        usage = self._usage.add(report)
        if usage is not None:
            yield UsageReported(usage, self._usage.mode, searches=self._usage.searches)

    def finished(self, raw: bytes = b"") -> Finished:
        """Return the end of the answer."""
        return Finished(self._reason or "stop", self._stop_sequence, raw, self.details or None)


class Block:
    """One content block as it grows; *calls* and characters of text were *said* before it."""

    def __init__(self, block: JsonObject, calls: int, said: int) -> None:
        self._block = block
        self._calls = calls
        self._from = said
        self.said = 0
        self.kind = _string(block.get("type"))
        if block.get("caller") == _DIRECT:
            del block["caller"]
        self._signature = _string(block.get("signature"))
        self._json: list[str] = []

    def start(self) -> Iterator[Event]:
        """Yield what the block says from the beginning."""
        block = self._block
        match self.kind:
            case "text":
                yield from self._text(block.get("text"))
            case "thinking":
                yield ThinkingDelta(_string(block.get("thinking")))
            case "tool_use":
                name = _string(block.get("name"))
                yield ToolCallStarted(self._calls, _string(block.get("id")), name)
                yield from untold(block, *_OF_CALLS, at="tool_use")
            case "redacted_thinking":
                yield Redacted(_string(block.get("data")))
            case _:
                pass

    def grow(self, delta: JsonObject) -> Iterable[Event]:
        """Return what *delta* adds to the block."""
        match self.kind, delta.get("type"):
            case "text", "text_delta":
                return self._text(delta.get("text"))
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
                yield from self._cited()
            case "redacted_thinking":
                pass
            case _:
                yield BlockAdded(Opaque("anthropic", self._whole()))

    def _text(self, value: Json) -> Iterable[Event]:
        if not isinstance(value, str) or not value:
            return ()
        self.said += len(value)
        return (TextDelta(value),)

    def _cited(self) -> Iterator[Event]:
        """Yield the sources of the block, which are of all of it."""
        citations = self._block.get("citations")
        for one in citations if isinstance(citations, list) else ():
            if isinstance(one, dict):
                yield Cited(citation_of(one, self._from, self._from + self.said))

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
        self._said = 0

    def start(self, index: Json, value: Json) -> Iterator[Event]:
        """Begin the block *value* at *index*."""
        if not isinstance(value, dict):
            return
        block = self._blocks[index] = Block(value, self._calls, self._said)
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
            block = self._blocks[index] = Block({"type": "text"}, self._calls, self._said)
        return block.grow(delta)

    def stop(self, index: Json) -> Iterator[Event]:
        """End the block at *index*."""
        block = self._blocks.pop(index, None)
        if block is not None:
            self._said += block.said
            yield from block.stop()


def _string(value: Json) -> str:
    return value if isinstance(value, str) else ""
