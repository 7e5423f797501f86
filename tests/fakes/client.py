"""An HTTP/1.1 client made for looking at exact bytes, and for leaving at a chosen moment."""

from __future__ import annotations

import json
import socket
import struct
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from techniques.core.json import Json
from tests.patience import PATIENCE_S


class CutOff(Exception):
    """The server closed the connection before the body was whole."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that has come whole; ``took`` is seconds from the request's first byte."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    took: float

    @property
    def json(self) -> Json:
        """The body, read as strictly as the standard has it."""
        return strict(self.body)

    @property
    def request_id(self) -> str:
        """The gateway's name for the request."""
        return self.headers.get("x-lockgate-request-id", "")


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One event as a standard reader sees it; ``comments`` stood in or before it."""

    name: str | None
    data: str | None
    comments: tuple[str, ...]
    at: float

    @property
    def json(self) -> Json:
        """The data, read strictly."""
        return strict((self.data or "").encode())


def strict(body: bytes) -> Json:
    """Parse *body* as strict JSON in valid UTF-8, without lone surrogates."""
    value = json.loads(body.decode("utf-8"), parse_constant=_refuse)
    json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value


def _refuse(name: str) -> Json:
    raise ValueError(f"{name} is not JSON.")


def dial(port: int, request: bytes, patience_s: float = PATIENCE_S) -> socket.socket:
    """Send *request* on a new connection and return it, with nothing read."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=patience_s)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # A server may refuse a body that it has not read whole; its answer can still be read.
    with suppress(BrokenPipeError, ConnectionResetError):
        connection.sendall(request)
    return connection


class Exchange:
    """One request on a connection of its own, with its answer's head read."""

    def __init__(self, port: int, request: bytes, patience_s: float = PATIENCE_S) -> None:
        self.started = time.monotonic()
        self.received = bytearray()  # the body's bytes so far, decoded from chunks
        self._socket = dial(port, request, patience_s)
        self._held = bytearray()
        try:
            self.status, self.headers = self._head()
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Exchange:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.leave()

    @property
    def request_id(self) -> str:
        """The gateway's name for the request."""
        return self.headers.get("x-lockgate-request-id", "")

    def leave(self) -> float:
        """Close the connection and return when that was."""
        self._socket.close()
        return time.monotonic()

    def reset(self) -> float:
        """Reset the connection and return when that was."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return self.leave()

    def whole(self) -> Reply:
        """Read the rest of the body and close."""
        for _ in self.pieces():
            pass
        self.leave()
        content = bytes(self.received)
        if self.headers.get("content-encoding") == "gzip":
            content = zlib.decompress(content, 31)
        return Reply(self.status, self.headers, content, time.monotonic() - self.started)

    def pieces(self) -> Iterator[bytes]:
        """Yield the body's bytes as they come.

        Raises:
            CutOff: The connection closed before the body was whole.
        """
        for piece in self._framed():
            self.received += piece
            yield piece

    def events(self) -> Iterator[SseEvent]:
        """Yield the body's events as they come."""
        splitter = Splitter()
        for piece in self.pieces():
            yield from splitter.feed(piece)
        yield from splitter.end()

    def _framed(self) -> Iterator[bytes]:
        if self.headers.get("transfer-encoding") == "chunked":
            while size := int(self._line(), 16):
                yield self._exactly(size)
                self._line()
            self._line()
        elif "content-length" in self.headers:
            if size := int(self.headers["content-length"]):
                yield self._exactly(size)
        else:
            while piece := self._some():
                yield piece

    def _head(self) -> tuple[int, dict[str, str]]:
        status = int(self._line().split(b" ")[1])
        headers: dict[str, str] = {}
        while line := self._line():
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        return status, headers

    def _line(self) -> bytes:
        while (at := self._held.find(b"\r\n")) < 0:
            self._more()
        line = bytes(self._held[:at])
        del self._held[: at + 2]
        return line

    def _exactly(self, size: int) -> bytes:
        while len(self._held) < size:
            self._more()
        piece = bytes(self._held[:size])
        del self._held[:size]
        return piece

    def _some(self) -> bytes:
        if self._held:
            return self._exactly(len(self._held))
        return self._socket.recv(65536)

    def _more(self) -> None:
        if not (data := self._socket.recv(65536)):
            raise CutOff
        self._held += data


@dataclass(slots=True)
class Splitter:
    """Splits bytes into events at CR, LF and CRLF, and at nothing else."""

    held: bytes = b""
    name: str | None = None
    data: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)

    def feed(self, piece: bytes) -> Iterator[SseEvent]:
        """Yield the events that *piece* completes."""
        self.held += piece
        while (line := self._line()) is not None:
            if event := self._read(line.decode("utf-8")):
                yield event

    def end(self) -> Iterator[SseEvent]:
        """Yield what comments are left; fail if an event is unfinished."""
        assert not self.held, f"The stream ends in the middle of a line: {self.held!r}"
        assert not self.data, f"The stream ends in the middle of an event: {self.data!r}"
        if self.comments:
            yield self._flush()

    def _line(self) -> bytes | None:
        ends = [at for mark in (b"\n", b"\r") if (at := self.held.find(mark)) >= 0]
        if not ends or self.held[min(ends) :] == b"\r":
            return None
        line, rest = self.held[: min(ends)], self.held[min(ends) :]
        self.held = rest[2:] if rest.startswith(b"\r\n") else rest[1:]
        return line

    def _read(self, line: str) -> SseEvent | None:
        if not line:
            return self._flush() if self.data or self.name or self.comments else None
        key, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if key == "data":
            self.data.append(value)
        elif key == "event":
            self.name = value
        elif not key:
            self.comments.append(value)
        return None

    def _flush(self) -> SseEvent:
        data = "\n".join(self.data) if self.data else None
        event = SseEvent(self.name, data, tuple(self.comments), time.monotonic())
        self.name, self.data, self.comments = None, [], []
        return event


def request(
    path: str, body: bytes | None, headers: Mapping[str, str], method: str = "POST"
) -> bytes:
    """Return the bytes of one request; what *headers* say of host or length stands."""
    said = {name.lower(): value for name, value in headers.items()}
    every = {"host": "127.0.0.1", **said}
    if body is not None:
        every = {"content-type": "application/json", "content-length": str(len(body)), **every}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in every.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + (body or b"")
