"""A provider that writes down every call: what it answered, and what it counted for it.

A call that has begun is answered and paid for, whether or not anybody still waits for it.

Its answers are those of the simulation and depend on nothing but the prompt, the model and the
seed. The input tokens that it counts for a call are the call's own number, so that a row of the
ledger and a step of the journal tell which call they are of.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Final

import anyio
from aiohttp import web

from gateway.upstream.simulated import wording
from gateway.upstream.simulated.answering import draft
from gateway.upstream.simulated.asked import Asked, Refused, read
from gateway.upstream.simulated.dice import Dice
from gateway.upstream.simulated.pieces import ended
from gateway.upstream.simulated.settings import MODELS

FIRST: Final = 1000
"""What is counted for the first call; the next has one more."""
CASE: Final = re.compile(r"case (\d+)")
"""By what a question, and most of what is asked about it, tells which run it is of."""
_TAG: Final = re.compile(rb"<<([0-9a-f]{16}) ")
_JSON: Final = "application/json"


@dataclass(frozen=True, slots=True)
class Weather:
    """How often calls are refused, in shares of one, and how long an answer takes, in seconds.

    A call is refused twice in a row at the most. ``long_s`` is what one refusal in ten says to
    wait, and ``short_s`` all others.
    """

    refused: float = 0.0
    fastest_s: float = 0.05
    slowest_s: float = 0.3
    short_s: float = 0.05
    long_s: float = 1.0
    seed: int = 0


@dataclass(slots=True)
class Call:
    """One call that was answered. ``body`` names what was asked, the same where it is the same.

    Attributes:
        began: The place of its coming among all comings and endings.
        done: ... and of its answer; None while there is none.
        at: When it came, by ``time.perf_counter``.
    """

    number: int
    case: str
    body: str
    output: int
    began: int
    done: int | None = None
    at: float = field(default_factory=time.perf_counter)


@dataclass
class Provider:
    """An application that answers, and the log of it."""

    weather: Weather
    calls: list[Call] = field(default_factory=list)
    refused: Counter[int] = field(default_factory=Counter)
    _asked: Counter[str] = field(default_factory=Counter)
    _moments: int = 0
    _more: anyio.Event = field(default_factory=anyio.Event)

    async def called(self, times: int) -> None:
        """Wait until it has been called so often."""
        while len(self.calls) < times:
            await self._more.wait()

    @property
    def paid(self) -> list[Call]:
        """The calls whose answers were written to their ends."""
        return [call for call in self.calls if call.done is not None]

    def application(self) -> web.Application:
        """Return what serves it."""
        served = web.Application(client_max_size=2**24)
        served.router.add_post("/v1/chat/completions", self._complete)
        return served

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        name = hashlib.sha256(raw).hexdigest()[:24]
        place = self._asked[name]
        self._asked[name] += 1
        dice = Dice(self.weather.seed, _untagged(raw), place)
        refusal = self._refusal(dice, place)
        if refusal is not None:
            return refusal
        asked = _read(raw)
        if isinstance(asked, web.Response):
            return asked
        answer = _answer(asked, _untagged(raw), FIRST + len(self.calls))
        found = CASE.search(asked.everything) or CASE.search(raw.decode())
        call = Call(
            answer.asked.prompt_tokens,
            found[1] if found else "",
            name,
            answer.tokens,
            self._moment(),
        )
        self.calls.append(call)
        self._more.set()
        self._more = anyio.Event()
        weather = self.weather
        span = weather.slowest_s - weather.fastest_s
        await anyio.sleep(weather.fastest_s + span * dice.fraction("time"))
        return await self._tell(request, answer, call)

    def _refusal(self, dice: Dice, place: int) -> web.Response | None:
        weather = self.weather
        if place % 3 == 2 or not dice.happens("refused", weather.refused):
            return None
        status = dice.pick("status", (429, 529))
        self.refused[status] += 1
        wait_s = weather.long_s if dice.happens("long", 0.1) else weather.short_s
        headers = {"retry-after-ms": str(int(1000 * wait_s)), "retry-after": f"{wait_s:g}"}
        refused = Refused(status, "Too much at once.", kind="rate_limit_error")
        return web.Response(
            status=status, body=wording.failure(refused), content_type=_JSON, headers=headers
        )

    async def _tell(
        self, request: web.Request, answer: wording.Answer, call: Call
    ) -> web.StreamResponse:
        if not answer.asked.streamed:
            call.done = self._moment()
            return web.Response(body=wording.whole(answer), content_type=_JSON)
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        call.done = self._moment()  # it is paid for, whether anybody reads it or not
        with suppress(ConnectionError):
            await response.prepare(request)
            for frame, _ in wording.stream(answer):
                await response.write(frame)
            await response.write_eof()
        return response

    def _moment(self) -> int:
        self._moments += 1
        return self._moments


def _untagged(raw: bytes) -> bytes:
    """Return a body without the tag that marks data off in it, which each run has its own."""
    found = _TAG.search(raw)
    return raw if found is None else raw.replace(found[1], b"tag")


def _read(raw: bytes) -> Asked | web.Response:
    try:
        return read(raw)
    except Refused as refused:
        body = wording.failure(refused)
        return web.Response(status=refused.status, body=body, content_type=_JSON)


def _answer(asked: Asked, told: bytes, number: int) -> wording.Answer:
    """Return the answer to what was *told*, for which *number* tokens of input are counted."""
    dice = Dice(asked.model, told if not asked.streamed else asked.digest, asked.seed)
    model = replace(MODELS["sim-small"], error_rate=0.3)
    drafts = tuple(
        ended(draft(asked, model, dice.fork(f"choice {place}")), asked.stops, asked.max_tokens)
        for place in range(asked.n)
    )
    return wording.Answer(replace(asked, prompt_tokens=number), drafts, dice, 0)


@asynccontextmanager
async def serving(provider: Provider) -> AsyncGenerator[int, None]:
    """Serve *provider* on a free port, and give that; it answers also who has left."""
    runner = web.AppRunner(provider.application(), access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()
