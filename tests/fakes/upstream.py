"""An upstream that plays scripts on a real socket and remembers what it was asked."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias, cast

from techniques.core.json import Json
from tests.fakes.script import Answer, Until, Wait, Write, error
from tests.patience import PATIENCE_S

_LOOK_S: Final = 0.002
Choose: TypeAlias = "Callable[[Asked], Answer]"


@dataclass(slots=True)
class Asked:
    """One request that came.

    Attributes:
        connection: Number of the connection it came on.
        at: When it had come whole, on ``time.monotonic``.
        left: When the peer closed the connection with the answer still running, else None.
        sent: How many writes of the answer were made.
    """

    method: str
    path: str
    headers: list[tuple[str, str]]
    raw: bytes
    connection: int
    at: float = field(default_factory=time.monotonic)
    left: float | None = None
    sent: int = 0

    @property
    def body(self) -> Json:
        """The body, parsed."""
        return json.loads(self.raw)

    def header(self, name: str) -> str | None:
        """Return the value of the header *name*, None without one."""
        return next((value for key, value in self.headers if key == name), None)


class ScriptedUpstream:
    """A server on a free loopback port; it runs on a thread of its own.

    Attributes:
        asked: The requests of this script, in the order they came.
        unscripted: How many requests found no answer left; they got a 500.
    """

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.unscripted = 0
        self.port = 0
        self._answers: list[Answer] = []
        self._choose: Choose | None = None
        self._lines: set[_Line] = set()
        self._connections = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._ready = threading.Event()

    def __enter__(self) -> ScriptedUpstream:
        self._thread.start()
        self._ready.wait(PATIENCE_S)
        return self

    def __exit__(self, *_exc: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_S)

    def plays(self, *answers: Answer) -> None:
        """Answer the coming calls with *answers*, in order."""
        self._answers, self._choose = list(answers), None

    def chooses(self, choose: Choose) -> None:
        """Answer each coming call as *choose* says; for calls that run at once."""
        self._answers, self._choose = [], choose

    def forget(self) -> None:
        """Start over: no script, nothing seen."""
        self.plays()
        self.asked = []
        self.unscripted = 0

    @property
    def open(self) -> int:
        """How many connections are open."""
        return len(self._lines)

    @property
    def busy(self) -> int:
        """How many connections have an answer running."""
        return sum(line.playing is not None for line in list(self._lines))

    def next_answer(self, asked: Asked) -> Answer:
        """Take the answer for *asked* out of the script."""
        self.asked.append(asked)
        if self._choose is not None:
            return self._choose(asked)
        model = _model(asked)
        for index, answer in enumerate(self._answers):
            if answer.model in {None, model}:
                return self._answers.pop(index)
        self.unscripted += 1
        return error(500, "The script has no answer left.")

    def connected(self, line: _Line) -> int:
        """Note an open connection and return its number."""
        self._lines.add(line)
        self._connections += 1
        return self._connections

    def disconnected(self, line: _Line) -> None:
        """Note a closed connection."""
        self._lines.discard(line)

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._loop.run_forever()
        self._loop.run_until_complete(self._close())
        self._loop.close()

    async def _serve(self) -> None:
        self._server = await self._loop.create_server(lambda: _Line(self), "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        self._ready.set()

    async def _close(self) -> None:
        self._server.close()
        for line in list(self._lines):
            line.drop()
        await asyncio.sleep(0.01)


class _Line(asyncio.Protocol):
    """One connection: reads requests, plays the answer to each."""

    def __init__(self, upstream: ScriptedUpstream) -> None:
        self.playing: asyncio.Task[None] | None = None
        self._upstream = upstream
        self._held = bytearray()
        self._asked: Asked | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._number = self._upstream.connected(self)

    def data_received(self, data: bytes) -> None:
        self._held += data
        if self.playing is None and (asked := _request(self._held, self._number)):
            self._asked = asked
            answer = self._upstream.next_answer(asked)
            self.playing = asyncio.get_running_loop().create_task(self._play(answer, asked))

    def eof_received(self) -> bool:
        self._gone()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone()
        self._upstream.disconnected(self)

    def drop(self) -> None:
        """Close at once."""
        self._gone()
        self._transport.abort()

    def _gone(self) -> None:
        if self.playing is not None and self._asked is not None:
            self._asked.left = time.monotonic()
            self.playing.cancel()
            self.playing = None

    async def _play(self, answer: Answer, asked: Asked) -> None:
        await _until(answer.met)
        await asyncio.sleep(answer.after)
        self._transport.write(_head(answer))
        for write in answer.writes:
            await self._write(write, answer.framing == "chunked")
            asked.sent += isinstance(write, bytes)
        await self._finish(answer)
        self.playing = None
        self.data_received(b"")

    async def _write(self, write: Write, chunked: bool) -> None:  # noqa: FBT001
        if isinstance(write, Wait):
            await asyncio.sleep(write.seconds)
            return
        if isinstance(write, Until):
            await _until(write.met)
            return
        if write:
            self._transport.write(b"%x\r\n%b\r\n" % (len(write), write) if chunked else write)
        await asyncio.sleep(0)

    async def _finish(self, answer: Answer) -> None:
        if answer.end == "hold":
            await asyncio.Event().wait()
        if answer.end == "reset":
            await asyncio.sleep(0.05)  # let what was written be read before
            own = self._transport.get_extra_info("socket")
            own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._transport.abort()
        elif answer.end == "fin" or answer.framing == "close":
            self._transport.close()
        elif answer.framing == "chunked":
            self._transport.write(b"0\r\n\r\n")


async def _until(met: Callable[[], bool] | None) -> None:
    """Look now and then: it is another thread's to tell."""
    while met is not None and not met():  # noqa: ASYNC110 - an event would be of this loop
        await asyncio.sleep(_LOOK_S)


def _request(held: bytearray, connection: int) -> Asked | None:
    """Take one whole request out of *held*, None if there is none yet."""
    blank = held.find(b"\r\n\r\n")
    if blank < 0:
        return None
    first, *lines = held[:blank].decode("latin-1").split("\r\n")
    pairs = [line.partition(":")[::2] for line in lines]
    headers = [(name.lower(), value.strip()) for name, value in pairs]
    found = _body(dict(headers), held, blank + 4)
    if found is None:
        return None
    content, end = found
    del held[:end]
    method, path, _version = first.split(" ", 2)
    return Asked(method, path, headers, content, connection)


def _body(headers: dict[str, str], held: bytearray, at: int) -> tuple[bytes, int] | None:
    """Return the body that starts *at* and where it ends, None if it has not come whole."""
    if headers.get("transfer-encoding") != "chunked":
        end = at + int(headers.get("content-length", "0"))
        return (bytes(held[at:end]), end) if len(held) >= end else None
    content = bytearray()
    while (line := held.find(b"\r\n", at)) >= 0:
        size = int(held[at:line], 16)
        at = line + 2 + size + 2
        if at > len(held):
            return None
        if size == 0:
            return bytes(content), at
        content += held[line + 2 : line + 2 + size]
    return None


def _head(answer: Answer) -> bytes:
    lines = [f"HTTP/1.1 {answer.status} Scripted"]
    lines += [f"{name}: {value}" for name, value in answer.headers.items()]
    if answer.framing == "length":
        size = sum(len(write) for write in answer.writes if isinstance(write, bytes))
        lines.append(f"content-length: {size}")
    elif answer.framing == "chunked":
        lines.append("transfer-encoding: chunked")
    else:
        lines.append("connection: close")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _model(asked: Asked) -> str | None:
    try:
        return cast("str | None", asked.body.get("model"))
    except (ValueError, AttributeError):
        return None


def dead_port() -> tuple[socket.socket, int]:
    """Return a port that refuses connections for as long as the socket is kept open."""
    held = socket.socket()
    held.bind(("127.0.0.1", 0))
    return held, held.getsockname()[1]
