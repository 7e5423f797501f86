"""A fleet of agents: each takes its steps one after the other, its context growing with each.

All try again as official clients do: they wait as long as the answer says and ask once more.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random  # noqa: TID251 - always with a seed
from typing import Any, Final

import aiohttp
import anyio
import orjson

from bench.pacing import words
from bench.pacing.provider import FIRST_S, TOKENS_A_SECOND
from techniques.core.groups import task_group

AGENTS: Final = 16
STEPS: Final = 12
MAX_TOKENS: Final = 650

_TURN: Final = 40
_THINKS_S: Final = 0.05
_LONGER_S: Final = 1.0
"""What a client waits beyond what it was told to."""
_LONGEST_S: Final = 6000.0
_MINUTE_S: Final = 60.0
_MOST: Final = 2000
_RETRIED: Final = frozenset({408, 409, 500, 502, 503, 504, 529})


@dataclass(frozen=True, slots=True)
class Target:
    """Where one agent sends its calls. ``base`` is what stands before ``/v1``.

    ``wary``: it waits of its own accord until, by what it last was told, the next call fits.
    """

    base: str
    model: str
    key: str = "none"
    anthropic: bool = False
    wary: bool = False


@dataclass
class Lived:
    """What one agent met with, in the provider's seconds; ``done_s`` None: it got to no end."""

    done_s: float | None = None
    waits_s: list[float] = field(default_factory=list)
    refused: int = 0
    broken: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Sight:
    """What an agent was last told of the account's tokens, and when, by the provider's clock."""

    limit: float
    remaining: float
    at: float

    @classmethod
    def of(cls, told: Mapping[str, str], now: float) -> Sight | None:
        """Read it from an answer's headers, of any vendor."""
        for name in ("x-ratelimit-{}-tokens", "anthropic-ratelimit-input-tokens-{}"):
            try:
                limit, left = (float(told[name.format(what)]) for what in ("limit", "remaining"))
            except (KeyError, ValueError):
                continue
            return cls(limit, left, now)
        return None

    def wait_s(self, need: float, now: float) -> float:
        """Return how long until *need* is there, if nobody else takes any and it comes evenly."""
        rate = self.limit / _MINUTE_S
        return max(0.0, (need - self.remaining) / rate - (now - self.at)) if rate else 0.0


@dataclass
class Agent:
    """One agent, and the conversation it has had."""

    target: Target
    seed: int
    context: int
    streams: bool
    steps: int = STEPS
    turns: list[dict[str, str]] = field(default_factory=list)
    lived: Lived = field(default_factory=Lived)
    sight: Sight | None = None

    def __post_init__(self) -> None:
        self._dice = Random(self.seed)
        self._opening = words.text(self.context, self.seed)
        self._answers = [0]

    def body(self, length: int) -> dict[str, Any]:
        """Return the request of the next step, to be answered with *length* tokens."""
        turn = words.step(_TURN, self._dice.randrange(2**31), length)
        self.turns.append({"role": "user", "content": turn})
        body: dict[str, Any] = {"model": self.target.model, "max_tokens": MAX_TOKENS}
        if self.target.anthropic:
            body |= {"system": self._opening, "messages": self.turns}
        else:
            body["messages"] = [{"role": "system", "content": self._opening}, *self.turns]
        if self.streams:
            body["stream"] = True
            if not self.target.anthropic:
                body["stream_options"] = {"include_usage": True}
        return body

    def answered(self, said: str) -> None:
        """Go on from what was *said*."""
        self.turns.append({"role": "assistant", "content": said})
        self._answers.append(len(said.split()))

    @property
    def need(self) -> int:
        """The most that its next call has to be expected to take, by what it has seen so far."""
        asked = sum(turn["role"] == "user" for turn in self.turns)
        return self.context + _TURN * asked + sum(self._answers) + max(self._answers)

    def length(self) -> int:
        """Return how long the next answer is: most are short, some many times as long."""
        return min(MAX_TOKENS, max(10, int(self._dice.lognormvariate(4.6, 0.9))))


def fleet(targets: Sequence[Target], seed: int, steps: int = STEPS) -> list[Agent]:
    """Return an agent for each of *targets*; half of them stream."""
    dice = Random(seed)
    return [
        Agent(target, seed * 97 + place, dice.randint(700, 1800), place % 2 == 0, steps)
        for place, target in enumerate(targets)
    ]


class _Again(Exception):
    """To be asked again; ``broken`` is empty where it was a refusal as there are many."""

    def __init__(self, broken: str, wait_s: float = 0.0) -> None:
        super().__init__(broken)
        self.broken = broken
        self.wait_s = wait_s


class _Useless(Exception):
    """Not to be asked again."""


@dataclass(frozen=True, slots=True)
class World:
    """How agents reach the provider, of which *speed* seconds pass in one of ours."""

    session: aiohttp.ClientSession
    speed: float

    async def live(self, agents: Sequence[Agent], seed: int) -> float:
        """Let all *agents* run to their ends, and return how long that took."""
        dice = Random(seed)
        began = time.perf_counter()
        with anyio.move_on_after(_LONGEST_S / self.speed):
            async with task_group() as group:
                for agent in agents:
                    group.start_soon(self._one, agent, dice.random(), began)
        return self._since(began)

    async def _one(self, agent: Agent, delay_s: float, began: float) -> None:
        await self._sleep(delay_s)
        for _ in range(agent.steps):
            length = agent.length()
            raw, body = orjson.dumps(agent.body(length)), time.perf_counter()
            said = await self._step(agent, raw)
            if said is None:
                return
            took = self._since(body)
            agent.lived.waits_s.append(max(0.0, took - FIRST_S - length / TOKENS_A_SECOND))
            if len(said.split()) != length:
                agent.lived.broken.append(f"an answer has {len(said.split())} of {length} tokens")
            agent.answered(said)
            await self._sleep(_THINKS_S)
        agent.lived.done_s = self._since(began)

    async def _step(self, agent: Agent, raw: bytes) -> str | None:
        """Ask until there is an answer; None where there will be none."""
        for _ in range(_MOST):
            if agent.target.wary and agent.sight:
                await self._sleep(agent.sight.wait_s(agent.need, self._since(0)))
            try:
                return await self._ask(agent, raw)
            except _Again as again:
                if again.broken:
                    agent.lived.broken.append(again.broken)
                else:
                    agent.lived.refused += 1
                await anyio.sleep(again.wait_s + _LONGER_S / self.speed)
            except _Useless as useless:
                agent.lived.broken.append(str(useless))
                return None
        agent.lived.broken.append(f"refused {_MOST} times")
        return None

    async def _ask(self, agent: Agent, raw: bytes) -> str:
        """Ask once.

        Raises:
            _Again: There was no answer, and may be one later.
            _Useless: There will never be one.
        """
        target = agent.target
        url = f"{target.base}/v1/{'messages' if target.anthropic else 'chat/completions'}"
        sent = {"content-type": "application/json", **_credentials(target)}
        try:
            async with self.session.post(url, data=raw, headers=sent) as answer:
                got = await answer.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            raise _Again(repr(error)) from None
        agent.sight = Sight.of(answer.headers, self._since(0)) or agent.sight
        if answer.status == 429:
            raise _Again("", retry_after(answer.headers))
        if answer.status != 200:
            wrong = f"{answer.status}: {got[:200]!r}"
            if answer.status in _RETRIED:
                raise _Again(wrong, retry_after(answer.headers))
            raise _Useless(wrong)
        if not agent.streams:
            return whole(got)
        if b'"error"' in got:
            raise _Again(f"in a stream: {got[-200:]!r}")
        return streamed(got)

    async def _sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds / self.speed)

    def _since(self, began: float) -> float:
        return (time.perf_counter() - began) * self.speed


def retry_after(told: Mapping[str, str]) -> float:
    """Return the seconds to wait that an answer names, the finer first; 0 if it names none."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(told.get(name, "")) * unit
        except ValueError:
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    return 0.0


def _credentials(target: Target) -> dict[str, str]:
    if target.anthropic:
        return {"x-api-key": target.key, "anthropic-version": "2023-06-01"}
    return {"authorization": f"Bearer {target.key}"}


def whole(raw: bytes) -> str:
    """Return the text of an answer that came whole."""
    answer = orjson.loads(raw)
    if "choices" in answer:
        return answer["choices"][0]["message"]["content"] or ""
    return "".join(part["text"] for part in answer["content"] if part["type"] == "text")


def streamed(raw: bytes) -> str:
    """Return the text of an answer in events; of one that ended in an error what came before."""
    said = []
    for line in raw.split(b"\n"):
        if not line.startswith(b"data: ") or line == b"data: [DONE]":
            continue
        event = orjson.loads(line[6:])
        if choices := event.get("choices"):
            said.append(choices[0]["delta"].get("content") or "")
        elif event.get("type") == "content_block_delta":
            said.append(event["delta"].get("text") or "")
    return "".join(said)
