"""Writes a streamed response."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.wire.dialect import Call, Summary, told
from gateway.wire.drafts import draft
from gateway.wire.openai_chat.common import (
    annotation,
    answer_id,
    created,
    is_legacy,
    reason_of,
    reported,
    thought,
)
from gateway.wire.openai_chat.custom import names_of
from gateway.wire.openai_chat.failure import error_of
from gateway.wire.sse import comment
from gateway.wire.tiers import openais
from pricing.usage import Usage
from techniques.core.errors import GatewayError
from techniques.core.events import (
    BlockAdded,
    Choice,
    Cited,
    Event,
    Finished,
    Note,
    Provisional,
    RefusalDelta,
    Relayed,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallStarted,
    Traced,
    UsageReported,
)
from techniques.core.free_form import TYPE, unwrapped
from techniques.core.json import NOTHING, Json, JsonObject
from techniques.core.lines import on_a_line
from techniques.core.request import Opaque

_DONE = b"data: [DONE]\n\n"


class ChunkEncoder:
    """Writes ``chat.completion.chunk`` objects, or passes on a provider's own.

    Each further choice has an encoder of its own, with the *head* of the first and its *index*.

    Attributes:
        usage: The tokens of the choice, as far as they are known.
    """

    def __init__(
        self, call: Call, request_id: str, model: str, *, index: int = 0, head: bytes = b""
    ) -> None:
        self._call = call
        self._request_id = request_id
        self._model = model
        self._legacy = is_legacy(call)
        self._provided = ""
        self._fingerprint: str | None = None
        self._head = head
        self._open = b',"choices":[{"index":%d,"delta":' % index
        # who asked for the usage finds it in each chunk, empty but in the last
        self._tail = b'}],"usage":null}\n\n' if call.include_usage else b"}]}\n\n"
        self._begun = False
        self._others: dict[int, ChunkEncoder] = {}
        self.usage: Usage | None = None
        self._tier: JsonObject = {}  # told at the end, when it is known
        self._terminal = _DONE
        self._relayed = False
        self._silent: set[int] = set()  # calls without any arguments yet
        self._free = names_of(call)
        self._inputs: dict[int, str] = {}  # of open calls of those, what came of their arguments

    def feed(self, event: Event) -> bytes:
        """Return the chunks that tell a client of *event*."""
        match event:
            case Relayed():
                self._relayed = True
                return event.raw
            case TextDelta():
                return self._chunk({"content": event.text}, event.logprobs)
            case ThinkingDelta():
                return self._chunk(thought(self._call, event.text)) if event.text else b""
            case ToolCallStarted() | ToolCallDelta():
                return self._tool(event)
            case _:
                return self._frame(event)

    def ping(self) -> bytes:
        """Return a comment."""
        return b": ping\n\n"

    def held(self, said: JsonObject) -> bytes:
        """Return a comment."""
        return comment(said)

    def end(self, summary: Summary) -> bytes:
        """Return the usage chunk if it was asked for, the trailer and the terminal frame."""
        closing = b""
        if self._call.include_usage and not self._relayed:
            usage = on_a_line(reported(self._used(), summary))
            closing = self._start() + self._head + b',"choices":[],"usage":' + usage
            closing += self._served() + b"}\n\n"
        if summary.trailer is not None:
            closing += comment(dict(summary.trailer))
        return closing + self._terminal

    def fail(self, error: GatewayError) -> bytes:
        """Return an error object; without an end mark, so that no client takes it for one."""
        return b"data: " + on_a_line(error_of(error)) + b"\n\n"

    def _frame(self, event: Event) -> bytes:
        match event:
            case RefusalDelta() | Cited():
                return self._beside(event)
            case Started():
                self._provided, self._fingerprint = event.id, event.fingerprint or None
            case UsageReported():
                self.usage = event.usage
                self._tier = openais(event.mode) or self._tier
            case Finished():
                return self._finish(event)
            case Choice():
                return self._choice(event)
            case _:
                return self._aside(event)
        return b""

    def _beside(self, event: RefusalDelta | Cited) -> bytes:
        if isinstance(event, RefusalDelta):
            return self._chunk({"refusal": event.text}, event.logprobs)
        told = annotation(event.citation)
        return self._chunk({"annotations": [told]}) if told else b""

    def _choice(self, choice: Choice) -> bytes:
        start = self._start()
        other = self._others.get(choice.index)
        if other is None:
            other = self._others[choice.index] = ChunkEncoder(
                self._call, self._request_id, self._model, index=choice.index, head=self._head
            )
        return start + other.feed(choice.event)

    def _used(self) -> Usage | None:
        """Return the tokens of all choices, None if the first one's are not known."""
        if self.usage is None:
            return None
        return sum((other.usage for other in self._others.values() if other.usage), self.usage)

    def _aside(self, event: Event) -> bytes:
        """Return what is told of an *event* that is no part of the answer."""
        match event:
            case BlockAdded(Opaque(dialect="openai_chat", thinking=True, value=value)):
                return self._chunk(value)
            case Provisional():
                return self._chunk({"reasoning_content": draft(event.text)})
            case Traced():
                return self._chunk({"content": "", "lockgate": told(event)})
            case Note(topic="progress"):
                return b": progress " + on_a_line(dict(event.data)) + b"\n\n"
            case _:
                return b""

    def _finish(self, event: Finished) -> bytes:
        if self._relayed:
            self._terminal = event.raw or _DONE
            return b""
        empty = self._given()
        empty += b"".join(self._arguments(index, "{}") for index in sorted(self._silent))
        reason = on_a_line(reason_of(event.reason, legacy=self._legacy))
        start = empty + self._start() + self._head + self._served()
        return start + self._open + self._closed(b"{}", b"null", reason)

    def _served(self) -> bytes:
        """Return the field that tells how the call was served, if that is known."""
        return b"," + on_a_line(self._tier)[1:-1] if self._tier else b""

    def _given(self) -> bytes:
        """Return the inputs of calls of free text, each at once: only whole they can be read."""
        return b"".join(
            self._chunk({"tool_calls": [{"index": index, TYPE: {"input": unwrapped(given)}}]})
            for index, given in self._inputs.items()
        )

    def _started(self, event: ToolCallStarted) -> bytes:
        """Return the beginning of a call of free text."""
        self._inputs[event.index] = ""
        own = {"name": event.name, "input": ""}
        call = {"index": event.index, "id": event.id, "type": TYPE, TYPE: own}
        return self._chunk({"tool_calls": [call]})

    def _tool(self, event: ToolCallStarted | ToolCallDelta) -> bytes:
        if isinstance(event, ToolCallDelta):
            if event.index in self._inputs:
                self._inputs[event.index] += event.arguments
                return b""
            if event.arguments:
                self._silent.discard(event.index)
            return self._arguments(event.index, event.arguments, event.extra)
        if event.name in self._free:
            return self._started(event)
        self._silent.add(event.index)
        function = {"name": event.name, "arguments": ""}
        if self._legacy:
            return self._chunk({"function_call": function}) if event.index == 0 else b""
        call = {"index": event.index, "id": event.id, "type": "function", "function": function}
        return self._chunk({"tool_calls": [{**event.extra, **call}]})

    def _arguments(self, index: int, arguments: str, extra: Mapping[str, Json] = NOTHING) -> bytes:
        function = {"arguments": arguments}
        if self._legacy:  # it knows one call a turn
            return self._chunk({"function_call": function}) if index == 0 else b""
        return self._chunk({"tool_calls": [{**extra, "index": index, "function": function}]})

    def _chunk(self, delta: JsonObject, logprobs: Json = None) -> bytes:
        start = b"" if self._begun else self._start()
        told = b"null" if logprobs is None else on_a_line(logprobs)
        return start + self._head + self._open + self._closed(on_a_line(delta), told, b"null")

    def _start(self) -> bytes:
        """Return the chunk that names the role, once; from then on every chunk has its head."""
        if self._begun:
            return b""
        self._begun = True
        self._head = self._head or self._made_head()
        role = on_a_line({"role": "assistant", "content": ""})
        return self._head + self._open + self._closed(role, b"null", b"null")

    def _made_head(self) -> bytes:
        head = {
            "id": answer_id(self._provided, self._request_id),
            "object": "chat.completion.chunk",
            "created": created(),
            "model": self._model,
            "system_fingerprint": self._fingerprint,
        }
        return b"data: " + on_a_line(head)[:-1]

    def _closed(self, delta: bytes, logprobs: bytes, reason: bytes) -> bytes:
        return delta + b',"logprobs":' + logprobs + b',"finish_reason":' + reason + self._tail
