from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from gateway.upstream.llama_cpp.server import Server
from gateway.upstream.llama_cpp.told import ServerFailed, Trouble
from tests.fakes.llama_cpp import FakeSlot, LlamaServer, LlamaTransport


@pytest.fixture
def llama(tmp_path: Path) -> LlamaServer:
    return LlamaServer(tmp_path)


async def trouble(server: Server, path: str) -> Trouble:
    """Return why the operation *path* failed."""
    asked: dict[str, Callable[[], Awaitable[object]]] = {
        "props": server.props,
        "slot": lambda: server.slot(9),
        "restore": lambda: server.restore(0, "rel-none.bin"),
        "save": lambda: server.save(0, "up/there.bin"),
    }
    with pytest.raises(ServerFailed) as caught:
        await asked[path]()
    return caught.value.reason


async def test_what_was_saved_can_be_restored_into_another_slot(llama: LlamaServer) -> None:
    server = Server(LlamaTransport(llama))
    llama.slots[1] = FakeSlot(["a", "b", "c"], counted=True)

    saved = await server.save(1, "rel-1.bin")
    restored = await server.restore(0, "rel-1.bin")

    assert (saved.tokens, restored.tokens) == (3, 3)
    assert llama.slots[0].tokens == ["a", "b", "c"]


@pytest.mark.parametrize("path", ["props", "slot", "restore"])
async def test_a_server_that_is_down_is_unreachable(llama: LlamaServer, path: str) -> None:
    llama.down = True

    assert await trouble(Server(LlamaTransport(llama)), path) == "unreachable"


@pytest.mark.parametrize("path", ["restore", "save"])
async def test_what_the_server_refuses_is_refused(llama: LlamaServer, path: str) -> None:
    assert await trouble(Server(LlamaTransport(llama)), path) == "refused"


async def test_a_slot_that_is_not_there_is_missing(llama: LlamaServer) -> None:
    assert await trouble(Server(LlamaTransport(llama)), "slot") == "slot_missing"


async def test_a_page_of_something_else_is_unreadable(llama: LlamaServer) -> None:
    llama.count = 0

    assert await trouble(Server(LlamaTransport(llama)), "props") == "unreadable"
