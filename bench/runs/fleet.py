"""Clients that ask for runs, leave at random, and come back until they have their answers."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random  # noqa: TID251 - always with a seed
from typing import Final

import aiohttp
import anyio
import orjson

from bench.pacing.agents import retry_after, streamed, whole
from bench.runs.rig import Rig
from techniques.core.groups import task_group
from techniques.core.json import Json

TECHNIQUES: Final[Mapping[str, Mapping[str, Json]]] = {
    "none": {},
    "baseline": {},
    "re2": {},
    "self_consistency": {"num_samples": 5, "stop": "exact"},
    "best_of_n": {},
    "genselect": {},
    "chain_of_verification": {},
    "self_refine": {},
    "mixture_of_agents": {},
    "self_moa": {},
    "weighted_bon": {},
    "harq_ir": {},
    "turbo": {},
    "fec_0.50": {},
}
"""What runs are asked for, with its options."""

_MOST_S: Final = 2.0
_TRIES: Final = 400
_CONNECT_S: Final = 1.0
_AGAIN: Final = frozenset({408, 409, 429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Temper:
    """How clients behave: which share of all tries is broken off, after how long at the most.

    ``at_once`` clients ask at the same time.
    """

    leaves: float = 0.0
    within_s: float = 0.6
    at_once: int = 8
    seed: int = 3


@dataclass
class Client:
    """One run, and whoever wants its answer.

    Attributes:
        named: Its run has a name; otherwise it is known again by its body.
        text: The answer.
        run: What the gateway called it.
        took_s: From the first try to the answer.
        wrong: What came that should not have.
    """

    number: int
    technique: str
    named: bool
    streams: bool
    seed: int
    text: str | None = None
    run: str = ""
    took_s: float = 0.0
    tries: int = 0
    left: int = 0
    met: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.dice = Random(f"{self.seed}/{self.number}")

    @property
    def raw(self) -> bytes:
        """The request, the same at each try."""
        first, second = 12 + self.number % 80, 3 + self.number % 17
        question = f"This is case {self.number}. What is {first} * {second}?"
        body: dict[str, Json] = {
            "model": "chaos-small",
            "messages": [{"role": "user", "content": question}],
            "seed": self.number,
            "max_tokens": 400,
        }
        if self.streams:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return orjson.dumps(body)

    def headers(self) -> dict[str, str]:
        """What is said beside the body: of a run without a name, how often it was tried."""
        said = {"x-lockgate-technique": self.technique}
        options = TECHNIQUES.get(self.technique)
        if options:
            said["x-lockgate-params"] = orjson.dumps(options).decode()
        if self.technique in _MANY:
            said["x-lockgate-channels"] = "chaos-large"
        if self.named or self.technique == "none":
            said["idempotency-key"] = f"run-{self.number}"
        else:
            said["x-stainless-retry-count"] = str(min(self.tries, 2))
        return said


_MANY: Final = frozenset({"mixture_of_agents"})


def clients(
    runs: int, seed: int = 3, techniques: Sequence[str] = tuple(TECHNIQUES)
) -> list[Client]:
    """Return a client a run: techniques in turn, a third streams, a quarter names no run."""
    return [
        Client(number, techniques[number % len(techniques)], number % 4 != 3, number % 3 == 0, seed)
        for number in range(runs)
    ]


async def live(rig: Rig, fleet: Sequence[Client], temper: Temper) -> None:
    """Let all of *fleet* come to their answers."""
    waiting = iter(fleet)
    connector = aiohttp.TCPConnector(limit=0, force_close=True)
    patience = aiohttp.ClientTimeout(total=60, sock_connect=_CONNECT_S)
    async with aiohttp.ClientSession(connector=connector, timeout=patience) as session:

        async def work() -> None:
            for client in waiting:
                began = time.perf_counter()
                await _until_answered(rig, client, temper, session)
                client.took_s = time.perf_counter() - began

        async with task_group() as group:
            for _ in range(temper.at_once):
                group.start_soon(work)


async def _until_answered(
    rig: Rig, client: Client, temper: Temper, session: aiohttp.ClientSession
) -> None:
    dice = client.dice
    while client.text is None and client.tries < _TRIES and not client.wrong:
        leaves_s = None
        if dice.random() < temper.leaves:
            leaves_s = dice.uniform(0.02, temper.within_s)
        wait_s = 0.05
        with anyio.move_on_after(leaves_s) as staying:
            wait_s = await _try(rig, client, session)
        client.left += staying.cancelled_caught
        client.tries += 1
        if client.text is None:
            await anyio.sleep(min(wait_s, _MOST_S) + dice.uniform(0, 0.1))


async def _try(rig: Rig, client: Client, session: aiohttp.ClientSession) -> float:
    """Ask once; return how long to wait before the next try."""
    replica = rig.one(client.dice)
    url = f"http://127.0.0.1:{replica.port}/v1/chat/completions"
    headers = {**rig.headers, **client.headers()}
    try:
        async with session.post(url, data=client.raw, headers=headers) as answer:
            got = await answer.read()
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        client.met[type(error).__name__] += 1
        return 0.1
    if answer.status != 200:
        code = _code(got)
        client.met[f"{answer.status} {code}"] += 1
        if answer.status not in _AGAIN or answer.headers.get("x-should-retry") == "false":
            client.wrong.append(f"{answer.status} {got[:300]!r}")
        return retry_after(answer.headers)
    client.run = answer.headers.get("x-lockgate-run", "")
    if not client.streams:
        client.text = whole(got)
    elif b'"error"' in got or b"[DONE]" not in got:
        client.met[f"stream: {_code(got.rpartition(b'data: {')[2])}"] += 1
    else:
        client.text = streamed(got)
    return 0.1


def _code(got: bytes) -> str:
    try:
        return str(orjson.loads(got)["error"]["code"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return "no error in it"
