"""Hosts bound the calls of their accounts, and leave their sessions on disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from gateway.admission.limits import VENDORS
from gateway.config.llama_cpp import LlamaCppConfig
from gateway.stores.ledger import StoreLost, WindowSpec
from gateway.upstream.account import Account
from gateway.upstream.llama_cpp.host import Host, HostPolicy
from gateway.upstream.llama_cpp.opening import host_of, hosting, root_of
from gateway.upstream.llama_cpp.server import Server
from tests.fakes.llama_cpp import LlamaServer, LlamaTransport
from tests.gateway.upstream.llama_cpp.scene import ANN, Counts, Home

SLOTS = WindowSpec("*:concurrency:0", "gauge", 2)


class Ledger:
    """A ledger that takes definitions only; ``lost``: none."""

    def __init__(self, *, lost: bool = False) -> None:
        self.defined: list[tuple[str, Sequence[WindowSpec]]] = []
        self._lost = lost

    async def define(self, pool: str, windows: Sequence[WindowSpec]) -> None:
        if self._lost:
            raise StoreLost
        self.defined.append((pool, windows))


def account(*stated: WindowSpec) -> Account:
    return Account("llama", VENDORS["generic"], stated)


@pytest.mark.parametrize(
    ("base_url", "root"),
    [
        ("http://h:8081/v1", "http://h:8081"),
        ("http://h:8081/v1/", "http://h:8081"),
        ("https://h/llama/v1", "https://h/llama"),
        ("http://h", "http://h"),
    ],
)
def test_what_a_server_tells_of_itself_is_beside_its_completions(base_url: str, root: str) -> None:
    assert root_of(base_url) == root


async def test_an_account_has_as_many_calls_at_once_as_its_server_has_slots(home: Home) -> None:
    ledger, slotted = Ledger(), account()
    async with hosting({"llama": home.host}, {"llama": slotted}, ledger):
        pass

    assert slotted.caps() == {SLOTS.name: 2}
    assert ledger.defined == [("up:llama", [SLOTS])]


async def test_what_the_operator_stated_holds(home: Home) -> None:
    stated = account(WindowSpec(SLOTS.name, "gauge", 7))
    async with hosting({"llama": home.host}, {"llama": stated}, Ledger()):
        pass

    assert stated.caps() == {SLOTS.name: 7}


async def test_a_store_that_is_lost_hears_of_it_from_the_next_call(home: Home) -> None:
    slotted = account()
    async with hosting({"llama": home.host}, {"llama": slotted}, Ledger(lost=True)):
        pass

    assert slotted.caps() == {SLOTS.name: 2}


async def test_a_server_that_comes_later_is_found(tmp_path: Path) -> None:
    llama, slotted = LlamaServer(tmp_path, down=True), account()
    host = Host("llama", Server(LlamaTransport(llama)), Counts(), HostPolicy())
    async with hosting({"llama": host}, {"llama": slotted}, None):
        await anyio.sleep(20)
        llama.down = False
        await anyio.sleep(20)

    assert slotted.caps() == {SLOTS.name: 2}


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # saving has a time limit, threads real time
async def test_sessions_are_on_disk_when_the_gateway_has_stopped(home: Home) -> None:
    async with hosting({"llama": home.host}, {"llama": account()}, None):
        await home.call(ANN, "<user> once upon a time there was")

    assert len(home.blobs()) == 1


async def test_a_host_is_as_it_is_stated(tmp_path: Path) -> None:
    llama, counts = LlamaServer(tmp_path, model=str(tmp_path / "m.gguf")), Counts()
    (tmp_path / "m.gguf").write_text("weights")
    stated = LlamaCppConfig.model_validate(
        {"margin": 48, "kv": {"folder": tmp_path, "min_tokens": 4, "min_free": 0, "idle_s": 0}}
    )
    host = host_of("llama", stated, LlamaTransport(llama), counts, alone=True)
    await host.look()
    seat = await host.sit(ANN)
    assert seat is not None
    llama.slots[seat.id].tokens = ["a"] * 9
    llama.slots[seat.id].counted = True
    host.stand(seat, None)
    await host.beat()

    assert counts.state == (0, 2, 2000)
    assert counts.moves[-1] == ("save", "saved")
