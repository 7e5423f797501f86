"""Passes a client's own body on to the provider, and the provider's own bytes back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeGuard

import orjson

from gateway.upstream.provider import HttpCall, Target
from gateway.upstream.providers.anthropic.answer import Frame
from gateway.upstream.providers.anthropic.decode import (
    WholeReader,
    event_object,
    message_object,
    unfinished_event,
)
from gateway.upstream.providers.anthropic.failure import broken_off, failed_inside
from gateway.upstream.providers.anthropic.foreign import has_foreign, leave_out
from gateway.upstream.providers.anthropic.headers import DIALECT, PATH, call_headers
from gateway.upstream.providers.anthropic.losses import Losses
from gateway.upstream.providers.anthropic.thinking import encode_thinking
from gateway.upstream.providers.anthropic.uncited import has_made, uncited_turns
from gateway.upstream.sse import SseEvent, SseReader
from techniques.core.errors import RequestRejected, UpstreamFailed
from techniques.core.events import Event, Relayed, Warned
from techniques.core.json import Json, JsonObject
from techniques.core.request import Relay, Request

_SAMPLING = ("temperature", "top_p", "top_k")
_BEGINNINGS = frozenset({"content_block_start", "content_block_delta"})
_ENVELOPE = len(
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
    b'"delta":{"type":"text_delta","text":""}    }\n\n'
)
_READ = frozenset({"message_start", "message_delta", "message_stop", "error"})


def is_relayed(request: Request) -> bool:
    """Tell whether the body of *request* is of this dialect and is sent on as it is."""
    return _own(request.relay)


def _own(relay: Relay | None) -> TypeGuard[Relay]:
    return relay is not None and relay.dialect == DIALECT


def encode_relay(request: Request, target: Target) -> HttpCall:
    """Return the call that sends the client's own body to *target*.

    Raises:
        RequestRejected: The target cannot do what the body asks for.
    """
    assert _own(request.relay)
    body, raw = request.relay.body, request.relay.raw
    _check(body, target)
    dropped = [] if target.relayed.temperature else [x for x in _SAMPLING if x in body]
    if dropped and request.strict:
        raise RequestRejected(f"{target.shown} takes no {dropped[0]}.", param=dropped[0])
    steered = target.steered and not _speaks(body)
    warnings = [Warned("field_dropped", name) for name in dropped]
    same = body.get("model") == target.model and bool(body.get("stream")) == request.stream
    foreign, made = has_foreign(body, raw), has_made(body, raw)
    if raw is None or dropped or steered or foreign or made or not same:
        changed = {name: value for name, value in body.items() if name not in dropped}
        changed["model"] = target.model
        if bool(body.get("stream")) != request.stream:
            changed["stream"] = request.stream
        if steered:
            warnings += _steer(request, target, changed)
        if foreign:
            warnings += leave_out(request, changed)
        if made:
            changed["messages"] = uncited_turns(changed["messages"])
        raw = orjson.dumps(changed)
    return HttpCall(PATH, raw, call_headers(request), tuple(warnings))


def _speaks(body: Mapping[str, Json]) -> bool:
    """Tell whether the client says itself how much is to be thought."""
    config = body.get("output_config")
    return "thinking" in body or (isinstance(config, dict) and "effort" in config)


def _steer(request: Request, target: Target, body: JsonObject) -> tuple[Warned, ...]:
    """Write what the operator says of thinking into *body*, whose parts are the client's still."""
    losses = Losses(replace(request, dialect=DIALECT))
    if isinstance(config := body.get("output_config"), dict):
        body["output_config"] = dict(config)
    encode_thinking(request, target, body, losses)
    return losses.warnings


def _check(body: Mapping[str, Json], target: Target) -> None:
    if not target.capabilities.tools and body.get("tools"):
        raise RequestRejected(f"{target.shown} has no tools.", param="tools")
    config = body.get("output_config")
    schema = config.get("format") if isinstance(config, dict) else body.get("output_format")
    if schema and not target.capabilities.json_schema:
        raise RequestRejected(f"{target.shown} takes no JSON schema.", param="output_config.format")


class StreamRelay:
    """Passes an event stream on, reading only what is needed to know how it went.

    What comes before the content is held back, so that a failure there is one before the answer.
    """

    def __init__(self) -> None:
        self._sse = SseReader()
        self._frame = Frame()
        self._begun = False
        self._done = False
        self._flowing = False  # inside the content, and no event waits for its rest
        self._held: list[bytes] = []
        self._characters = 0  # of text in what is held

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Yield *chunk*, as far as it completes events, in one piece.

        Raises:
            UpstreamFailed: The provider reports a failure.
        """
        if self._flowing and _is_plain(chunk):
            return iter((Relayed(chunk, _said(chunk)),))
        return self._read_all(self._sse.feed(chunk))

    def end(self) -> Iterator[Event]:
        """Yield the end, if the model had said why it stopped.

        Raises:
            StreamBroken: It had not.
            UpstreamFailed: As for ``feed``.
        """
        last = unfinished_event(self._sse)
        if last is not None:
            yield from self._read_all(iter((last,)))
        if not self._done:
            if not self._frame.complete:
                raise broken_off()
            yield self._frame.finished()

    def _read_all(self, events: Iterator[SseEvent]) -> Iterator[Event]:
        for event in events:
            if self._done:
                return
            try:
                told = self._read(event)
            except UpstreamFailed:
                yield from self._flush()
                raise
            yield from told
        yield from self._flush()
        self._flowing = self._begun and not self._done and self._sse.empty

    def _flush(self) -> Iterator[Event]:
        if self._begun and self._held:
            yield Relayed(b"".join(self._held), self._characters)
            self._held.clear()
            self._characters = 0

    def _read(self, event: SseEvent) -> list[Event]:
        """Keep *event* for the next flush; return what it tells besides its bytes."""
        name = event.name
        if event.data is not None and (name is None or name in _READ):
            body = event_object(event, begun=self._begun)
            name = body.get("type") or name
            if name in _READ or "error" in body:
                return list(self._read_frame(event.raw, name, body))
        self._begun = self._begun or name in _BEGINNINGS
        if name == "content_block_delta":
            self._characters += _said(event.raw)
        self._held.append(event.raw)
        return []

    def _read_frame(self, raw: bytes, name: Json, body: JsonObject) -> Iterator[Event]:
        match name:
            case "message_start":
                self._held.append(raw)
                yield from self._frame.start(body.get("message"))
            case "message_delta":
                self._begun = True
                self._held.append(raw)
                self._frame.stop(body.get("delta"))
                yield from self._frame.used(body.get("usage"))
            case "message_stop":
                if not self._frame.complete:
                    raise broken_off()
                self._done = True
                yield from self._flush()
                yield self._frame.finished(raw)
            case _:
                raise failed_inside(body, begun=self._begun)


def _is_plain(chunk: bytes) -> bool:
    """Tell whether *chunk* is whole events, and surely none that must be read."""
    # find, because bytes' own ``in`` takes twice as long: it tries an integer first
    if chunk.find(b"message_") != -1 or chunk.find(b"error") != -1:
        return False
    return chunk.endswith(b"\n\n")


def _said(chunk: bytes) -> int:
    """Return about how many characters of text the deltas in *chunk* hold.

    Good enough where it is needed: for a stream that was cut before it told its usage. Anthropic
    pads its events at random, so that their lengths do not give the tokens away.
    """
    return max(0, len(chunk) - _ENVELOPE * chunk.count(b"\n\n"))


class WholeRelay(WholeReader):
    """Passes one JSON object on."""

    def end(self) -> Iterator[Event]:
        """Yield the body as it came.

        Raises:
            UpstreamFailed: The body is an error, or no message.
        """
        raw = self.body
        message = message_object(raw)
        frame = Frame()
        yield from frame.start(message)
        frame.stop(message)
        yield Relayed(raw, _written(message["content"]))
        yield frame.finished()


def _written(blocks: list[Json]) -> int:
    """Return the characters that the model wrote in *blocks*: text, reasoning, calls."""
    named = [block for block in blocks if isinstance(block, dict)]
    texts = (block.get(name) for block in named for name in ("text", "thinking"))
    written = sum(len(text) for text in texts if isinstance(text, str))
    return written + sum(len(orjson.dumps(block["input"])) for block in named if "input" in block)
