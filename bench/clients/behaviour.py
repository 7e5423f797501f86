"""How each client behaves where streams go wrong: ``python -m bench.clients.behaviour``.

Small servers play exact bytes with exact flushes; what a client does is told in a table.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import struct
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
import uvloop

from bench.clients.kinds import KINDS, TIMEOUT_S, Client

_SSE: Final = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
)
_EVENT: Final = b"7\r\ndata: x\r\n"
_SIZED: Final = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"


@dataclass
class Peer:
    """The server's side: ``act`` plays each request, and what happened to connections is kept."""

    act: Callable[[Peer, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
    connections: int = 0
    open: int = 0
    closed_at: list[float] = field(default_factory=list)
    sent_at: list[float] = field(default_factory=list)
    url: str = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Play requests on one connection until it is over."""
        self.connections += 1
        self.open += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split()[0]))
                await self.act(self, reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the connection is over, or the comparison is
        finally:
            self.open -= 1
            self.closed_at.append(time.perf_counter())
            writer.close()


@asynccontextmanager
async def peer(act: Callable[..., Awaitable[None]]) -> AsyncGenerator[Peer, None]:
    """Run a server that plays *act* for each request."""
    it = Peer(act)
    server = await asyncio.start_server(it.serve, "127.0.0.1", 0, backlog=2048)
    it.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/chat/completions"
    try:
        yield it
    finally:
        server.close()


def playing(*steps: bytes | float, then: str = "keep") -> Callable[..., Awaitable[None]]:
    """Return an act: bytes are flushed, numbers waited; then keep, close, reset or hang."""

    async def act(it: Peer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for step in steps:
            if isinstance(step, bytes):
                writer.write(step)
                await writer.drain()
                it.sent_at.append(time.perf_counter())
            else:
                await anyio.sleep(step)
        if then == "hang":
            await reader.read(1)
            raise ConnectionError
        if then == "reset":
            raw: socket.socket = writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
        if then != "keep":
            raise ConnectionError

    return act


async def read_all(client: Client, url: str) -> tuple[str, bytes]:
    """Return how a call ended, and what was read of its body."""
    read = b""
    try:
        async with client.post(url, b"{}") as answer:
            async for chunk in answer.chunks:
                read += chunk
    except BaseException as error:  # the outcome is what is asked for
        if isinstance(error, asyncio.CancelledError):
            raise
        cause = error.__cause__ or error.__context__
        return type(error).__name__ + (f" from {type(cause).__name__}" if cause else ""), read
    return "no error", read


async def cancelled(client: Client) -> str:
    """Cancel a task that waits for the next chunk: how soon is the socket closed?"""
    async with peer(playing(_SSE, _EVENT, then="hang")) as it:
        took = await _cancel_after_first(client, it)
        second, _ = await _next_connection(client, it)
    return f"{took}; next call on {second}"


async def cancelled_before_head(client: Client) -> str:
    """The same, when no head has come yet."""
    async with peer(playing(then="hang")) as it:
        task = asyncio.ensure_future(read_all(client, it.url))
        await anyio.sleep(0.1)
        return await _closed_within(it, task)


async def left_early(client: Client) -> str:
    """Leave the context after one chunk."""
    async with peer(playing(_SSE, _EVENT, then="hang")) as it:
        async with client.post(it.url, b"{}") as answer:
            async for _ in answer.chunks:
                break
            start = time.perf_counter()
        return await _wait_closed(it, start)


async def _cancel_after_first(client: Client, it: Peer) -> str:
    got = asyncio.Event()

    async def read() -> None:
        async with client.post(it.url, b"{}") as answer:
            async for _ in answer.chunks:
                got.set()

    task = asyncio.ensure_future(read())
    await asyncio.wait_for(got.wait(), 3)
    await anyio.sleep(0.05)
    return await _closed_within(it, task)


async def _closed_within(it: Peer, task: asyncio.Task[Any]) -> str:
    start = time.perf_counter()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    return await _wait_closed(it, start)


async def _wait_closed(it: Peer, start: float) -> str:
    while not it.closed_at:
        if time.perf_counter() - start > 1.5:
            return "not closed in 1.5 s"
        await anyio.sleep(0.0002)
    return f"closed after {(it.closed_at[0] - start) * 1000:.1f} ms"


async def _next_connection(client: Client, it: Peer) -> tuple[str, int]:
    it.act = playing(_SIZED % 2, b"{}")
    before = it.connections
    await read_all(client, it.url)
    return ("a new connection" if it.connections > before else "THE SAME CONNECTION"), before


async def ends(client: Client) -> dict[str, str]:
    """Return how each way to end short shows."""
    acts = {
        "reset in mid-stream": playing(_SSE, _EVENT, 0.05, then="reset"),
        "close in mid-stream (chunked)": playing(_SSE, _EVENT, then="close"),
        "close in mid-chunk": playing(_SSE, b"40\r\ndata: x", then="close"),
        "body shorter than content-length": playing(_SIZED % 100, b"{}", then="close"),
        "close before the head": playing(then="close"),
        "reset before the head": playing(then="reset"),
        "silence in mid-stream (read timeout)": playing(_SSE, _EVENT, then="hang"),
        "bad chunk size": playing(_SSE, b"zz\r\nx\r\n", then="close"),
        "clean end": playing(_SSE, _EVENT, b"0\r\n\r\n"),
    }
    said = {}
    for name, act in acts.items():
        async with peer(act) as it:
            try:
                outcome, read = await asyncio.wait_for(read_all(client, it.url), 3 * TIMEOUT_S)
                said[name] = f"{outcome}; {len(read)} bytes"
            except TimeoutError:
                said[name] = "hangs"
    async with peer(playing()) as it:
        gone = it.url
    said["refused"] = (await read_all(client, gone))[0]
    return said


async def prompt(client: Client) -> str:
    """Send three pieces 100 ms apart, the last in the middle of a chunk: when does each arrive?"""
    steps = (_SSE, _EVENT, 0.1, _EVENT, 0.1, b"10\r\ndata: x", 0.1, b"xxxxxxxxx\r\n0\r\n\r\n")
    arrived = []
    async with peer(playing(*steps)) as it, client.post(it.url, b"{}") as answer:
        head = time.perf_counter()
        async for _ in answer.chunks:
            arrived.append(time.perf_counter())
        sent = it.sent_at
    late = max((at - when) * 1000 for at, when in zip(arrived, sent[1:], strict=False))
    return (
        f"{len(arrived)} pieces, at most {late:.1f} ms late; head {(head - sent[0]) * 1000:.1f} ms"
    )


async def reused(client: Client) -> str:
    """Make 20 calls in turn, read to the end."""
    async with peer(playing(_SSE, _EVENT, b"0\r\n\r\n")) as it:
        for _ in range(20):
            await read_all(client, it.url)
        return f"20 calls, {it.connections} connection(s)"


async def idle_closed(client: Client) -> str:
    """Let the server close an idle connection, then call again at once and later."""
    async with peer(playing(_SIZED % 2, b"{}", 0.05, then="close")) as it:
        first = await read_all(client, it.url)
        await anyio.sleep(0.2)
        second = await read_all(client, it.url)
    return f"{first[0]}, then {second[0]}"


async def thousand(client: Client) -> str:
    """Make 1,000 calls at once, each answered after 0.3 s."""
    async with peer(playing(0.3, _SIZED % 2, b"{}")) as it:
        start = time.perf_counter()
        calls = [asyncio.ensure_future(read_all(client, it.url)) for _ in range(1000)]
        outcomes = [await call for call in calls]
        took = time.perf_counter() - start
    bad = sorted({outcome for outcome, _ in outcomes if outcome != "no error"})
    return f"{took:.2f} s, {it.connections} connections, {bad or 'no errors'}"


async def observe(kind: str) -> dict[str, str]:
    """Return what one kind of client does."""
    checks = {
        "cancelled in mid-stream": cancelled,
        "cancelled before the head": cancelled_before_head,
        "context left in mid-stream": left_early,
        "pieces at once": prompt,
        "reuse": reused,
        "idle connection closed by the server": idle_closed,
        "1,000 at once": thousand,
    }
    said = {}
    client = KINDS[kind]()
    await client.open()
    for name, check in checks.items():
        try:
            said[name] = await asyncio.wait_for(check(client), 30)
        except TimeoutError:
            said[name] = "hangs"
    said |= await ends(client)
    await client.close()
    return said


def main() -> None:
    """Print a table of behaviours."""
    parser = argparse.ArgumentParser(description=f"Timeouts are {TIMEOUT_S} s.")
    parser.add_argument("kinds", nargs="*")
    kinds = parser.parse_args().kinds or list(KINDS)
    uvloop.install()
    said = {kind: asyncio.run(observe(kind)) for kind in kinds}
    sys.stdout.write(f"| | {' | '.join(kinds)} |\n{'|---' * (len(kinds) + 1)}|\n")
    for name in said[kinds[0]]:
        sys.stdout.write(f"| {name} | {' | '.join(said[kind][name] for kind in kinds)} |\n")


if __name__ == "__main__":
    main()
