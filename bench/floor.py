"""The floor that the gateway's cost is measured against: one upstream call, relayed, and no more.

A bare ASGI application under uvicorn (uvloop, httptools, no access log) that sends each body on
over aiohttp and relays the answer, streamed or whole. It reads nothing of either. With ``--parse``
it decodes both JSON bodies once, as any gateway must that looks at the model or the usage.

    python -m bench.floor --port 8001 --upstream http://127.0.0.1:9000
"""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Protocol

import aiohttp
import orjson
import uvicorn

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

HEADERS = {"content-type": "application/json", "authorization": "Bearer upstream-key"}
EVENT_STREAM = "text/event-stream"


class Client(Protocol):
    """An HTTP client, as the floor uses one."""

    async def open(self) -> None:
        """Make the connection pool. Called once, in the event loop."""
        ...

    async def relay(self, url: str, body: bytes, send: Send, *, parse: bool) -> None:
        """Post *body* to *url* and send the answer on."""
        ...


async def send_head(send: Send, status: int, content_type: str, length: int | None = None) -> None:
    """Send the head of an answer; *length* is that of its body, None for a stream."""
    headers = [(b"content-type", content_type.encode())]
    if length is not None:
        headers.append((b"content-length", str(length).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})


async def send_whole(send: Send, status: int, content_type: str, body: bytes) -> None:
    """Send an answer whose body is known."""
    await send_head(send, status, content_type, len(body))
    await send({"type": "http.response.body", "body": body})


async def send_chunk(send: Send, chunk: bytes) -> None:
    """Send a part of a stream; an empty one ends it."""
    await send({"type": "http.response.body", "body": chunk, "more_body": bool(chunk)})


class AiohttpClient:
    """aiohttp, with a pool that has no limit of its own."""

    async def open(self) -> None:
        """Make the connection pool."""
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(total=None)
        )

    async def relay(self, url: str, body: bytes, send: Send, *, parse: bool) -> None:
        """Post *body* to *url* and send the answer on."""
        async with self._session.post(url, data=body, headers=HEADERS) as answer:
            content_type = answer.headers.get("content-type", "")
            if content_type.startswith(EVENT_STREAM):
                await send_head(send, answer.status, content_type)
                async for chunk in answer.content.iter_any():
                    await send_chunk(send, chunk)
                await send_chunk(send, b"")
                return
            whole = await answer.read()
            if parse:
                orjson.loads(whole)
            await send_whole(send, answer.status, content_type, whole)


async def read_body(receive: Receive) -> bytes:
    """Return the whole body of a request."""
    message = await receive()
    body: bytes = message.get("body", b"")
    while message.get("more_body"):
        message = await receive()
        body += message.get("body", b"")
    return body


class Floor:
    """The ASGI application."""

    def __init__(self, client: Client, upstream: str, *, parse: bool) -> None:
        self._client, self._upstream, self._parse = client, upstream, parse

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Relay one request, or open the client at start-up."""
        if scope["type"] == "lifespan":
            await receive()
            await self._client.open()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        body = await read_body(receive)
        if self._parse:
            orjson.loads(body)
        await self._client.relay(self._upstream + scope["path"], body, send, parse=self._parse)


def serve(client: Client, arguments: argparse.Namespace) -> None:
    """Serve the floor over *client* until it is told to stop."""
    uvicorn.run(
        Floor(client, arguments.upstream, parse=arguments.parse),
        port=arguments.port,
        loop="uvloop",
        http="httptools",
        access_log=False,
        log_level="warning",
    )


def options() -> argparse.ArgumentParser:
    """Return the command line of a floor."""
    parser = argparse.ArgumentParser(description="A bare relay: the floor of the benchmark.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--upstream", required=True, help="for example http://127.0.0.1:9000")
    parser.add_argument("--parse", action="store_true", help="decode both JSON bodies")
    return parser


if __name__ == "__main__":
    serve(AiohttpClient(), options().parse_args())
