"""Several gateways that share a store and a database, in front of one upstream."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from decimal import Decimal

from redis import Redis

from techniques.core.json import Json
from tests.conformance.stage import CHAT, chat
from tests.fakes.client import Exchange, Reply, request
from tests.fakes.gateway import ADMIN_TOKEN, Gateway, hashed
from tests.fakes.script import dumps
from tests.patience import NOON, PATIENCE_S

PICO = 10**12


def secret(name: str) -> str:
    """Return the text of the key *name* of ``with_budget``."""
    return f"lk-budgeted-{name}"


def with_budget(name: str, usd: str, **more: Json) -> dict[str, Json]:
    """Return the configuration of a key that may spend *usd* a day, which ends in hours."""
    budget = {"usd": usd, "period": "day", "tz": NOON}
    return {"name": name, "hash": hashed(secret(name)), "budget": budget, **more}


@contextmanager
def started(gateways: Sequence[Gateway]) -> Iterator[list[Gateway]]:
    """Start *gateways* together; leaving stops them."""
    with ExitStack() as stack, ThreadPoolExecutor(len(gateways)) as pool:
        yield list(pool.map(stack.enter_context, gateways))


def ask(gateway: Gateway, key: str, **fields: Json) -> Reply:
    """Ask *gateway* for a completion with the key *key* of ``with_budget``."""
    headers = {"authorization": f"Bearer {secret(key)}"}
    return Exchange(gateway.port, request(CHAT, dumps(chat(**fields)), headers)).whole()


def at_once(number: int, asking: Callable[[int], Reply]) -> list[Reply]:
    """Return the answers to *number* requests that are made at the same time."""
    answers: list[Reply] = []
    threads = [
        threading.Thread(target=lambda n=n: answers.append(asking(n))) for n in range(number)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert len(answers) == number
    return answers


def rows(gateway: Gateway, key: str) -> list[Json]:
    """Return all rows of *key* that the ledger has."""
    found = gateway.get(f"/admin/ledger?key={key}&limit=1000", ADMIN_TOKEN)
    assert found.status == 200, found.body
    return list(found.json["rows"])


def booked(gateway: Gateway, key: str) -> int:
    """Return the picodollars that the rows of *key* come to."""
    return int(PICO * sum(Decimal(row["cost_usd"]) for row in rows(gateway, key)))


def charged(client: Redis, prefix: str, pool: str) -> int:
    """Return the picodollars that the store has charged to the only budget of *pool*."""
    (name,) = client.keys(f"{prefix}:{{{pool}}}:m:*")
    cap, free = (int(value or 0) for value in client.hmget(name, ["cap", "free"]))
    return cap - free


def held(client: Redis, prefix: str, pool: str) -> int:
    """Return the picodollars that calls under way hold of it."""
    (name,) = client.keys(f"{prefix}:{{{pool}}}:m:*")
    left, free = (int(value or 0) for value in client.hmget(name, ["left", "free"]))
    return free - left
