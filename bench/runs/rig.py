"""Replicas that share a store and a database, and what kills them and starts them again."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random  # noqa: TID251 - always with a seed
from tempfile import TemporaryDirectory
from typing import Final, Literal, TypeAlias

import anyio
from anyio import to_thread

from bench.runs.provider import Provider, Weather, serving
from techniques.core.groups import task_group
from techniques.core.json import Json
from tests.conformance.replicas import secret, with_budget
from tests.fakes.gateway import Gateway, settings
from tests.services import postgres
from tests.services.valkey import Valkey

KEY: Final = "chaos"
BUDGET_USD: Final = "1000"
PREFIX: Final = "chaos"
LEASE_S: Final = 2.0
_PRICE: Final[Mapping[str, Json]] = {"input": 3, "output": 15}

Kind: TypeAlias = Literal["sqlite", "postgresql"]


@dataclass
class Replica:
    """One gateway, which may be dead for the moment; ``life`` counts how often it was started."""

    gateway: Gateway
    living: bool = False
    life: int = 0

    @property
    def port(self) -> int:
        """Where it listens, or did."""
        return self.gateway.port

    def start(self) -> None:
        """Start it, and wait until it takes calls."""
        self.gateway.__enter__()
        self.living, self.life = True, self.life + 1

    def kill(self) -> None:
        """Kill it as the kernel would."""
        self.living = False
        self.gateway.process.kill()
        self.gateway.process.wait()

    def stop(self) -> None:
        """End it in order."""
        if self.living:
            self.living = False
            self.gateway.stop()


@dataclass
class Rig:
    """All that runs: a provider, what keeps, and *replicas* in front."""

    provider: Provider
    replicas: list[Replica]
    database: str
    store: Valkey
    kills: int = 0
    dice: Random = field(default_factory=lambda: Random(11))

    @property
    def headers(self) -> dict[str, str]:
        """What a client says to be let in."""
        return {"authorization": f"Bearer {secret(KEY)}", "content-type": "application/json"}

    def one(self, dice: Random) -> Replica:
        """Return a replica to ask: one that lives, mostly."""
        living = [replica for replica in self.replicas if replica.living]
        return dice.choice(living if living and dice.random() < 0.9 else self.replicas)

    async def kill_and_start(self, most: int, every_s: float) -> None:
        """Kill one after the other, each a while later, and start it again."""
        async with task_group() as group:
            while self.kills < most:
                await anyio.sleep(every_s * self.dice.uniform(0.5, 1.5))
                living = [replica for replica in self.replicas if replica.living]
                if living:
                    replica = self.dice.choice(living)
                    self.kills += 1
                    replica.kill()
                    group.start_soon(self._again, replica, self.dice.uniform(0.1, 1.0))

    async def start_dead(self) -> None:
        """Start what is dead."""
        for replica in self.replicas:
            if not replica.living:
                await to_thread.run_sync(replica.start)

    async def _again(self, replica: Replica, after_s: float) -> None:
        await anyio.sleep(after_s)
        await to_thread.run_sync(replica.start)


def configuration(port: int, database: str, store: Valkey) -> dict[str, Json]:
    """Return what every replica is told."""
    model = {"provider": "oa", "price": dict(_PRICE), "max_output": 4096}
    return settings(
        port,
        9,
        {
            "upstream": {"retries": 6, "backoff_s": 0.02},
            "pacing": {"mode": "on", "patience": {"stream_s": 0.5, "json_s": 0.5}},
            "store": {"redis": store.url, "prefix": PREFIX},
            "database": {"url": database},
            "journal": {"lease_s": LEASE_S, "linger_s": 3.0, "attach_s": 10.0},
            "reliability": {"judge": "chaos-judge"},
            "models": [{"name": f"chaos-{name}", **model} for name in ("small", "large", "judge")],
            "keys": [with_budget(KEY, BUDGET_USD)],
        },
    )


@asynccontextmanager
async def rig(weather: Weather, replicas: int, kind: Kind) -> AsyncGenerator[Rig, None]:
    """Start everything; leaving stops it."""
    provider = Provider(weather)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="lockgate-chaos-")))
        store = await to_thread.run_sync(stack.enter_context, Valkey())
        database = await to_thread.run_sync(_database, kind, folder, stack)
        async with serving(provider) as port:
            config = configuration(port, database, store)
            made = [Replica(Gateway(_made(folder / str(n)), config)) for n in range(replicas)]
            try:
                async with task_group() as group:
                    for replica in made:
                        group.start_soon(to_thread.run_sync, replica.start)
                yield Rig(provider, made, database, store)
            finally:
                with anyio.CancelScope(shield=True):
                    for replica in made:
                        await to_thread.run_sync(replica.stop)


def _database(kind: Kind, folder: Path, stack: ExitStack) -> str:
    if kind == "sqlite":
        return f"sqlite+aiosqlite:///{folder}/lockgate.db"
    return stack.enter_context(postgres.serving()).database()


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
