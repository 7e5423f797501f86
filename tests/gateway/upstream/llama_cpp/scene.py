"""A server of llama.cpp without a model, and what the gateway puts around it, in a folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import anyio

from gateway.upstream.llama_cpp.host import Host, HostPolicy
from gateway.upstream.llama_cpp.kept import Session
from gateway.upstream.llama_cpp.kv import Kv, KvPolicy
from gateway.upstream.llama_cpp.pace import Pace
from gateway.upstream.llama_cpp.seated import Computed
from gateway.upstream.llama_cpp.seats import Seat
from gateway.upstream.llama_cpp.server import Server
from gateway.upstream.llama_cpp.shelf import Shelf
from tests.fakes.llama_cpp import FakeSlot, LlamaServer, LlamaTransport

ANN = Session("", "ann")
BEN = Session("", "ben")
CID = Session("", "cid")
NEVER_FULL = 0
"""Bytes that must be free: nobody looks."""


@dataclass(slots=True)
class Counts:
    """What a host told of itself."""

    moves: list[tuple[str, str]] = field(default_factory=list)
    seconds: list[tuple[str, float]] = field(default_factory=list)
    tokens: int = 0
    state: tuple[int, int, int | None] | None = None

    def moved(self, provider: str, what: str, outcome: str) -> None:
        self.moves.append((what, outcome))

    def took(self, provider: str, what: str, seconds: float) -> None:
        self.seconds.append((what, seconds))

    def spared(self, provider: str, tokens: int) -> None:
        self.tokens += tokens

    def stands(self, provider: str, busy: int, idle: int, left: int | None) -> None:
        self.state = busy, idle, left


class Home:
    """A host whose server writes where the gateway looks. Times are of the test's clock."""

    def __init__(self, folder: Path, policy: KvPolicy | None = None, **pace: float) -> None:
        model = folder / "small.gguf"
        model.write_text("weights")
        self.folder = folder / "slots"
        self.folder.mkdir()
        self.llama = LlamaServer(self.folder, model=str(model))
        self.model = model
        self.now = 1_000_000.0
        self.counts = Counts()
        self.disk = 10**12
        self.transport = LlamaTransport(self.llama)
        server = Server(self.transport)
        self.shelf = Shelf(self.folder, lambda _: self.disk)
        self.pace = Pace(min_free=NEVER_FULL)
        self.kv = Kv(
            server, self.shelf, self.pace, policy or KvPolicy(min_tokens=4), now=lambda: self.now
        )
        self.host = Host("llama", server, self.counts, HostPolicy(idle_s=60), kv=self.kv)

    def fill(self, slot: int, words: str) -> int:
        """Have *slot* hold *words*, as a call has left it; return how many there are."""
        self.llama.slots[slot] = FakeSlot(words.split(), counted=True)
        return len(words.split())

    async def call(self, session: Session | None, words: str) -> int:
        """Make a call as it would be made; return the slot it was computed in."""
        seat = await self.host.sit(session)
        assert seat is not None
        count = self.fill(seat.id, words)
        await anyio.lowlevel.checkpoint()
        self.host.stand(seat, Computed(0, count - 1, 2, (count - 1) * 0.015))
        return seat.id

    async def moving(self, session: Session) -> Seat:
        """Return the seat of *session* once what it holds is being moved."""
        seat = self.host.seats.of(session)
        assert seat is not None
        for _ in range(100):
            if seat.moving is not None:
                break
            await anyio.lowlevel.checkpoint()
        return seat

    def blobs(self) -> list[str]:
        """Return the names of the files of contents, with the folders they are in."""
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*.bin"))
