"""A conversation of very many items leaves the loop its turns."""

from __future__ import annotations

from typing import Final

import anyio.lowlevel
import pytest

from gateway.surfaces import spoken
from gateway.surfaces.completion import CompletionEndpoint
from gateway.wire.dialect import Dialect
from techniques.core.groups import task_group
from techniques.core.json import Json
from tests.gateway.surfaces.scene import Stage, whole

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])
FEW: Final = 200
COUNT: Final = 20_000
TURNS: Final = [{"role": "assistant" if n % 2 else "user", "content": "a"} for n in range(COUNT)]
ITEMS: Final = [{"role": "user", "content": "a"} for _ in range(COUNT)]
SAID: Final[dict[str, tuple[Dialect, Json]]] = {
    "messages": (spoken.MESSAGES, {"messages": TURNS, "max_tokens": 9}),
    "responses": (spoken.RESPONSES, {"input": ITEMS}),
    "ollama": (spoken.OLLAMA, {"messages": TURNS, "stream": False}),
    "chat": (spoken.CHAT, {"messages": TURNS, "reliability": {"technique": "baseline"}}),
}


@pytest.mark.parametrize("surface", SAID)
async def test_others_have_their_turns_while_it_is_read_and_written(surface: str) -> None:
    dialect, said = SAID[surface]
    stage = Stage(whole(), max_body=10_000_000)
    stage.endpoint = CompletionEndpoint(dialect, stage.front)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    async with task_group() as group:
        group.start_soon(others)
        client = await stage.serve({"model": "fast", **said})
        group.cancel_scope.cancel()

    assert client.status == 200
    assert len(stage.upstream.calls) == 1
    assert turns > FEW
