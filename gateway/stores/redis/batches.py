"""One connection, asked in batches: what is asked while one is under way goes in the next."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import anyio
import structlog
from redis.asyncio import Redis
from redis.asyncio.cluster import RedisCluster
from redis.exceptions import NoScriptError, RedisError, ResponseError

from gateway.stores.ledger import StoreLost
from gateway.stores.redis.script import digest, source

_BATCH: Final = 128
_TURNS: Final = 10
_SILENT_TURNS: Final = 2
"""Of them, once the server was silent: nobody is to wait for it again."""
_BATCH_S: Final = 5.0
"""After which a connection that carries a batch is given up. Who waits has gone long before."""
_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 1.0

_log = structlog.get_logger()


@dataclass(slots=True, eq=False)
class Call:
    """One operation.

    Attributes:
        done: Set when there is an answer; None if nobody waits for it.
        given_up: Nobody waits any more; it is not sent if it was not yet.
        sent: The server may have carried it out.
    """

    key: str
    arguments: tuple[str, str, bytes]
    done: anyio.Event | None = None
    answer: Any = None
    lost: BaseException | None = None
    given_up: bool = False
    sent: bool = False


class Batches:
    """Carries calls to the server, in order.

    Args:
        deadline_s: After which a server that does not answer is lost. It is counted in turns of
            this process's own loop, which may be late itself, from the last answer to anything.
        most: How many calls that nobody waits for are kept while the server is away.
    """

    def __init__(self, client: Redis | RedisCluster, *, deadline_s: float, most: int) -> None:
        self._client = client
        self._deadline_s = deadline_s
        self._answered = 0
        self._is_silent = False
        self._most = most
        self._calls: deque[Call] = deque()
        self._some = anyio.Event()
        self.dropped = 0

    def push(self, call: Call) -> None:
        """Have *call* carried out soon; dropped and counted if too many wait already."""
        if len(self._calls) >= self._most:
            self.dropped += 1
            return
        self._calls.append(call)
        self._some.set()

    async def ask(self, calls: Sequence[Call]) -> list[Any]:
        """Return the answers to *calls*, which go together.

        Raises:
            StoreLost: The server did not answer in time, or answered with a failure.
        """
        for call in calls:
            call.done = anyio.Event()
        self._calls.extend(calls)
        self._some.set()
        await self._wait(calls)
        for call in calls:
            if call.done is not None and not call.done.is_set():
                call.given_up = True
                self._is_silent = True
                raise StoreLost("the ledger's store did not answer in time")
            if call.lost is not None:
                raise StoreLost("the ledger's store failed") from call.lost
        return [call.answer for call in calls]

    async def _wait(self, calls: Sequence[Call]) -> None:
        """Wait until all of *calls* are done, or nothing at all was answered for too long."""
        turns, seen = 0, self._answered
        while turns < (_SILENT_TURNS if self._is_silent else _TURNS):
            with anyio.move_on_after(self._deadline_s / _TURNS):
                for call in calls:
                    if call.done is not None:
                        await call.done.wait()
                return
            turns = turns + 1 if seen == self._answered else 0
            seen = self._answered

    async def run(self) -> None:
        """Carry calls until cancelled."""
        pause_s = _PAUSE_S
        while True:
            await self._some.wait()
            batch = self._next()
            if not batch:
                self._some = anyio.Event()
                continue
            failure = await self._carry(batch)
            if failure is None:
                pause_s = _PAUSE_S
                continue
            self._put_back(batch, failure)
            await anyio.sleep(pause_s)
            pause_s = min(_LONGEST_PAUSE_S, 2 * pause_s)

    async def drain(self) -> None:
        """Carry what is left, as far as the server takes it at once."""
        while batch := self._next():
            if await self._carry(batch) is not None:
                return

    def _next(self) -> list[Call]:
        batch: list[Call] = []
        while self._calls and len(batch) < _BATCH:
            call = self._calls.popleft()
            if not call.given_up:
                batch.append(call)
        return batch

    def _put_back(self, batch: Sequence[Call], failure: Exception) -> None:
        """Tell those who wait; keep the rest for later, in order. Calls may be repeated."""
        for call in reversed(batch):
            if call.done is None:
                self._calls.appendleft(call)
            elif not call.done.is_set():
                call.lost = failure
                call.done.set()
        if self._calls:
            self._some.set()

    async def _carry(self, batch: Sequence[Call]) -> Exception | None:
        """Carry a batch, and return the failure of the connection, if it failed."""
        try:
            with anyio.fail_after(max(_BATCH_S, self._deadline_s)):
                answers = await self._send(batch)
                missing = [i for i, got in enumerate(answers) if isinstance(got, NoScriptError)]
                if missing:
                    await self._client.script_load(source())
                    again = await self._send([batch[i] for i in missing])
                    for i, got in zip(missing, again, strict=True):
                        answers[i] = got
        except (RedisError, OSError, TimeoutError) as failure:
            return failure
        self._answered += 1
        self._is_silent = False
        for call, got in zip(batch, answers, strict=True):
            _settle(call, got)
        return None

    async def _send(self, batch: Sequence[Call]) -> list[Any]:
        pipeline: Any = self._client.pipeline(transaction=False)
        for call in batch:
            call.sent = True
            pipeline.execute_command("EVALSHA", digest(), 1, call.key, *call.arguments)
        answers: list[Any] = await pipeline.execute(raise_on_error=False)
        for got in answers:
            if isinstance(got, Exception) and not isinstance(got, ResponseError):
                raise got
        return answers


def _settle(call: Call, got: Any) -> None:
    if isinstance(got, Exception):
        call.lost = got
        if call.done is None:
            _log.error("ledger.call_failed", operation=call.arguments[1], error=str(got))
    else:
        call.answer = got
    if call.done is not None:
        call.done.set()
