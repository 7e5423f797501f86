"""A channel to a scripted server on a real socket, and what is read of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import pytest

from gateway.upstream import provider, providers
from gateway.upstream.http import HttpChannel, Patience
from gateway.upstream.pool import Endpoint, PooledTransport
from gateway.upstream.provider import Target
from techniques.core.errors import StreamBroken, UpstreamFailed
from techniques.core.events import Event, Finished, TextDelta
from techniques.core.request import Request, said
from tests.fakes import script
from tests.fakes.script import Wait
from tests.fakes.upstream import ScriptedUpstream
from tests.patience import NEVER_S, PATIENCE_S, eventually

QUESTION = Request("m", (said("user", "hi"),), stream=True)
DIALECTS = provider.load(providers)
PINGS: tuple[script.Write, ...] = (b": ping\n\n", Wait(0.05)) * 1200


async def quiet(upstream: ScriptedUpstream) -> bool:
    """Wait a moment until *upstream* plays nothing any more; tell whether it came to that."""
    return await anyio.to_thread.run_sync(eventually, lambda: not upstream.busy)


@asynccontextmanager
async def channel(
    upstream: ScriptedUpstream, first_byte_s: float = PATIENCE_S, idle_s: float = NEVER_S
) -> AsyncGenerator[HttpChannel, None]:
    url = f"http://127.0.0.1:{upstream.port}/v1"
    transport = PooledTransport(
        Endpoint(url, {"authorization": "Bearer k"}, PATIENCE_S, allow_private=True)
    )
    target = Target("fast", "oa", "real-model")
    try:
        yield HttpChannel(
            transport, DIALECTS["openai_chat"], target, Patience(first_byte_s, idle_s)
        )
    finally:
        await transport.close()


async def read(channel: HttpChannel, seen: list[Event]) -> None:
    """Read *channel* to its end; what came is in *seen*, also when it failed."""
    async with channel.open(QUESTION) as events:
        async for event in events:
            seen.append(event)


def words(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def failing(channel: HttpChannel) -> UpstreamFailed:
    """Return the failure to begin."""
    with pytest.raises(UpstreamFailed) as caught:
        async with channel.open(QUESTION):
            pytest.fail("it began")
    return caught.value


async def breaking(channel: HttpChannel) -> tuple[str, StreamBroken]:
    """Return the text that came, and how the stream then broke."""
    seen: list[Event] = []
    with pytest.raises(StreamBroken) as caught:
        await read(channel, seen)
    assert not any(isinstance(event, Finished) for event in seen)
    return words(seen), caught.value
