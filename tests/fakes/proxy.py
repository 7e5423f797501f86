"""A proxy that opens a way to whoever is asked for, and notes what it was asked."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from techniques.core.groups import task_group

ESTABLISHED = b"HTTP/1.1 200 Connection established\r\nvia: 1.1 proxy\r\n\r\n"
_MOST_HEAD = 65_536
FAR = "far.example"
"""A name that nobody but the proxy knows: it is this machine."""


@dataclass
class Proxy:
    """One on the loopback address; ``asked`` are the heads that came."""

    address: str
    asked: list[bytes] = field(default_factory=list)


@asynccontextmanager
async def proxying(answer: bytes = ESTABLISHED) -> AsyncGenerator[Proxy, None]:
    """Run one that says *answer* to each CONNECT; the way is open if that is a 2xx."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
    proxy = Proxy(f"127.0.0.1:{listener.extra(SocketAttribute.local_port)}")

    async def serve(client: SocketStream) -> None:
        async with client:
            incoming = BufferedByteReceiveStream(client)
            head = await incoming.receive_until(b"\r\n\r\n", _MOST_HEAD)
            proxy.asked.append(head)
            await client.send(answer)
            if answer.partition(b" ")[2].startswith(b"2"):
                host, _, port = head.split()[1].decode().rpartition(":")
                host = "127.0.0.1" if host == FAR else host
                async with await anyio.connect_tcp(host.strip("[]"), int(port)) as server:
                    await _joined(client, server)

    async with listener, task_group() as group:
        group.start_soon(listener.serve, serve)
        yield proxy
        group.cancel_scope.cancel()


async def _joined(one: SocketStream, other: SocketStream) -> None:
    """Carry bytes both ways until one side ends."""
    async with task_group() as group:

        async def carry(source: SocketStream, target: SocketStream) -> None:
            try:
                async for piece in source:
                    await target.send(piece)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                pass
            group.cancel_scope.cancel()

        group.start_soon(carry, one, other)
        group.start_soon(carry, other, one)
